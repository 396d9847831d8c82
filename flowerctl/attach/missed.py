"""What happened in a folder while nobody looked."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from flower_protocol.codec import BadFrame
from flower_protocol.control import Happened, Seen
from flower_protocol.events import EventRecord
from flower_protocol.handshake import Hello, Snapshot
from flower_protocol.workspaces import Place, Wake
from flowerctl.attachment import Attachment, Lost, attach
from flowerctl.client import NoDaemon, NotOurs, Refused, Unanswered

MOST: Final = 200  # a few screens; the journal has the rest
SECONDS: Final = 5.0  # it is only for information: nobody waits longer for it


@dataclass(slots=True)
class Missed:
    """``events`` are the latest, ``omitted`` says how many lie before them."""

    events: list[EventRecord] = field(default_factory=list)
    omitted: int = 0


def missed(place: Place, wake: Wake, socket: Path) -> Missed:
    """The events after the last one that a client has shown, the latest `MOST`; none if they can't be had in time.

    They count as seen from then on.
    """
    found = Missed()
    with suppress(NoDaemon, NotOurs, Unanswered, Refused, Lost, BadFrame, TimeoutError):
        asyncio.run(_collect(place, wake, socket, found))
    found.omitted += max(0, len(found.events) - MOST)
    found.events = found.events[-MOST:]
    return found


async def _collect(place: Place, wake: Wake, socket: Path, found: Missed) -> None:
    many = wake.last_seq - wake.seen > MOST
    position = (None, None) if many else (wake.generation, wake.seen)
    hello = Hello(place=place, generation=position[0], cursor=position[1], tail=MOST)
    async with asyncio.timeout(SECONDS), attach(socket, hello) as (attachment, _):
        reached = await _read(attachment, wake, found)
        await attachment.send(Seen(seq=reached))


async def _read(attachment: Attachment, wake: Wake, found: Missed) -> int:
    """Returns the number of the last event, in the daemon's present generation."""
    while True:
        message = await attachment.receive()
        if isinstance(message, Snapshot):
            found.events, found.omitted = list(message.events), message.omitted
            return message.last_seq
        if isinstance(message, Happened):
            found.events.extend(message.events)
            if message.events[-1].seq >= wake.last_seq:
                return message.events[-1].seq
