"""Whose turn it is within a step: the work's, or that of whoever judges it.

It is read from the sessions, for no event says so. The gate of a step sends others out to judge, each in a session of
its own, once the step's own has ended a turn well. When the step's own session is back, the work was sent back to it.
"""

from dataclasses import dataclass, replace
from enum import Enum, auto

from flower_protocol.events import EventRecord


class Turn(Enum):
    """What an event changes."""

    JUDGING = auto()
    SENT_BACK = auto()


@dataclass(frozen=True, slots=True)
class Rounds:
    """``number`` counts from 1 and is 0 while the step's beginning wasn't seen; ``judged``: somebody else is at it."""

    step: str = ""
    number: int = 0
    judged: bool = False
    session: str = ""
    finished: bool = False

    def turn(self, event: EventRecord) -> Turn | None:
        """What ``event`` begins, if it begins anything."""
        after = self.after(event)
        if after.judged and not self.judged:
            return Turn.JUDGING
        return Turn.SENT_BACK if after.number > self.number > 0 and after.step == self.step else None

    def after(self, event: EventRecord) -> "Rounds":
        """Where it stands after ``event``."""
        match event.kind:
            case "step":
                return Rounds(step=event.text, number=1)
            case "run_started" | "run_ended":
                return Rounds()
            case "handoff" if event.payload.get("phase") == "done" and not self.judged:
                return replace(self, session="", finished=False)
            case "result" if not self.judged:
                return replace(self, finished=event.payload.get("is_error") is False)
            case "system" if self.step and event.payload.get("subtype") == "init":
                return self._in_session(str(event.payload.get("session_id") or ""))
            case _:
                return self

    def _in_session(self, session: str) -> "Rounds":
        if not session or (session != self.session and self.judged):
            return self
        if session == self.session:
            return replace(self, number=self.number + self.judged, judged=False, finished=False)
        if self.session and self.finished:
            return replace(self, judged=True)
        return replace(self, session=session, finished=False)
