"""What the screen knows of a run while it shows it: the few things a line says beyond its own event."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from flower_protocol.events import EventRecord
from flowerctl.language import Texts


@dataclass(frozen=True, slots=True)
class View:
    """``started_at`` is epoch seconds, ``spent`` (dollars) what the daemon counts in all, ``level`` (tokens) the
    context as last shown.

    ``sessions`` is the cost that each session of this run has reported so far; ``resumed`` says that the step goes
    on with a session of an earlier run, ``interrupted`` that a person broke the turn off.
    """

    texts: Texts
    width: int
    verbose: bool = False
    started_at: float | None = None
    spent: float = 0.0
    level: int = 0
    rehearsing: bool = False
    manifest: str = ""
    sessions: Mapping[str, float] = field(default_factory=dict)
    resumed: bool = False
    interrupted: bool = False

    def elapsed(self, event: EventRecord) -> float:
        """Seconds from the start of the run to ``event``; 0 when the start wasn't seen."""
        return max(0.0, event.at - self.started_at) if self.started_at is not None else 0.0


def advance(view: View, event: EventRecord) -> View:
    """The view after ``event`` was shown."""
    if event.kind == "run_started":
        rehearsing = event.payload.get("rehearse", view.rehearsing) is True
        return replace(
            view, started_at=event.at, level=0, rehearsing=rehearsing, sessions={}, interrupted=False
        )
    if event.kind == "result":
        session, total = str(event.payload.get("session_id") or ""), number(event.payload.get("cost_usd"))
        still = view.interrupted and event.payload.get("is_error") is True
        return replace(view, sessions={**view.sessions, session: total}, interrupted=still)
    if event.kind in ("interrupted", "interrupt"):
        return replace(view, interrupted=True)
    if event.kind == "step":
        return replace(view, resumed=bool(event.payload.get("resumed")))
    level = level_of(event)
    return replace(view, level=level) if level else view


def cost_of_turn(view: View, event: EventRecord) -> float | None:
    """What the turn of this ``result`` cost; None when it can't be told.

    A session reports its total: what it had reported before is taken off. A session that goes on from an earlier
    run brings that run's cost along, and only its later turns can be told.
    """
    session, total = str(event.payload.get("session_id") or ""), number(event.payload.get("cost_usd"))
    if session not in view.sessions and view.resumed:
        return None
    return max(0.0, total - view.sessions.get(session, 0.0))


def level_of(event: EventRecord) -> int:
    """The main thread's context after a text of its own, in tokens; 0 when the event doesn't tell."""
    if event.kind != "text" or event.payload.get("subagent"):
        return 0
    return int(number(event.payload.get("context")))


def number(value: object) -> float:
    """A number out of a payload; 0 for anything else."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
