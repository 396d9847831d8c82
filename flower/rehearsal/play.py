"""What the connections of one endpoint share: the script, what was asked so far, and what is held back."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from flower.rehearsal.conversation import Conversation
from flower.rehearsal.faults import FaultLedger
from flower.rehearsal.holds import Holds
from flower.rehearsal.record import Record, Request
from flower.rehearsal.script import Fault, Script
from flower.rehearsal.stage import Reply, answer


@dataclass(frozen=True)
class Play:
    """One script being played. Safe to use from several threads."""

    script: Script
    key: str = field(repr=False)
    go_offline_for: Callable[[float], None] = field(repr=False)
    record: Record = field(default_factory=Record, repr=False)
    holds: Holds = field(default_factory=Holds, repr=False)
    faults: FaultLedger = field(default_factory=FaultLedger, repr=False)

    def decide(self, conversation: Conversation, size: int) -> tuple[Reply, Fault | None]:
        """The reply to a request of `size` bytes, and the fault that is to be played in its place.

        The request is recorded before anything is sent, so a reply that is held back can be waited for.
        """
        reply = answer(self.script, conversation, new_token)
        fault = self.faults.due(reply)
        status = 200 if fault is None else fault.status or 0
        self.record.add(size, lambda number: _request(number, conversation, reply, status))
        return reply, fault


def new_token() -> str:
    """A short string of letters and digits that no other call gives."""
    return secrets.token_hex(6)


def _request(number: int, conversation: Conversation, reply: Reply, status: int) -> Request:
    return Request(
        number=number,
        at=time.time(),
        role=reply.role,
        scene=reply.scene,
        turn=reply.turn,
        status=status,
        model=conversation.model,
        stream=conversation.stream,
        agent=conversation.agent,
        prompt=conversation.prompt,
        tools=conversation.tools,
        system=conversation.system,
        messages=conversation.messages,
    )
