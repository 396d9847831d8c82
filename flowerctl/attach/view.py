"""What the screen knows of a run while it shows it: the few things a line says beyond its own event."""

from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from flower_protocol.events import EventRecord
from flowerctl.attach.held import held_after, of_judge
from flowerctl.language import Texts
from flowerctl.places import shortened


@dataclass(frozen=True, slots=True)
class View:
    """``started_at`` is epoch seconds, ``spent`` (dollars) what the daemon counts in all, ``level`` (tokens) the
    context as last shown.

    ``broken_off`` says that the turn was ended on purpose, by a person or for a handoff, ``waiting`` that the run
    waits for something, ``error`` what the last error of this turn said. ``home`` and ``workspace`` make paths short,
    ``me`` is who looks at this screen, ``precise``: money has four decimals. ``asked`` are the open questions that
    stand on the screen, ``held`` is what a judge said last, as long as it isn't shown.
    """

    texts: Texts
    width: int
    verbose: bool = False
    started_at: float | None = None
    spent: float = 0.0
    level: int = 0
    rehearsing: bool = False
    manifest: str = ""
    broken_off: bool = False
    waiting: bool = False
    error: str = ""
    home: Path | None = None
    workspace: str = ""
    me: str = ""
    precise: bool = False
    asked: frozenset[str] = frozenset()
    held: str = ""

    def elapsed(self, event: EventRecord) -> float:
        """Seconds from the start of the run to ``event``; 0 when the start wasn't seen."""
        return max(0.0, event.at - self.started_at) if self.started_at is not None else 0.0

    def short(self, path: str) -> str:
        """``path`` with the person's home as ``~``."""
        return shortened(path, self.home) if self.home is not None else path

    def inside(self, path: str) -> str:
        """``path`` as seen from the workspace, if it lies there; else `short`."""
        if self.workspace and PurePath(path).is_relative_to(self.workspace):
            return str(PurePath(path).relative_to(self.workspace))
        return self.short(path)


def advance(view: View, event: EventRecord) -> View:
    """The view after ``event`` was shown."""
    view = replace(view, held="" if view.verbose else held_after(event, view.held))
    if event.kind == "run_started":
        rehearsing = event.payload.get("rehearse", view.rehearsing) is True
        return replace(
            view,
            started_at=event.at,
            level=0,
            rehearsing=rehearsing,
            broken_off=False,
            waiting=False,
            asked=frozenset(),
        )
    if event.kind == "result":
        return replace(view, broken_off=view.broken_off and event.payload.get("is_error") is True, error="")
    if event.kind == "error":
        return replace(view, error=event.text.strip())
    if event.kind in ("interrupted", "interrupt"):
        return replace(view, broken_off=True)
    if event.kind == "handoff":
        return replace(view, broken_off=event.payload.get("phase") == "writing")
    if event.kind == "retry" and "waiting" in event.payload:
        return replace(view, waiting=event.payload["waiting"] is not None)
    if event.kind == "ask":
        name = frozenset({str(event.payload.get("id"))})
        open_now = event.payload.get("state") == "asked"
        return replace(view, asked=view.asked | name if open_now else view.asked - name)
    level = level_of(event)
    return replace(view, level=level) if level else view


def level_of(event: EventRecord) -> int:
    """The main thread's context after a text of its own, in tokens; 0 when the event doesn't tell.

    A judge's is none: the work goes on with its own.
    """
    if event.kind != "text" or event.payload.get("subagent") or of_judge(event):
        return 0
    return int(number(event.payload.get("context")))


def number(value: object) -> float:
    """A number out of a payload; 0 for anything else."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
