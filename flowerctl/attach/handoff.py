"""The lines of a handoff: how full the session is, what it left to its successor, and where that can be read."""

from collections.abc import Mapping
from typing import Final

from flower_protocol.events import EventRecord
from flowerctl import figures
from flowerctl.attach.lines import Lines, hung, said
from flowerctl.attach.view import View, number
from flowerctl.output import Line, Style
from flowerctl.sanitize import clean_line
from flowerctl.width import columns, cut, pad

_SECTIONS: Final = ("doing", "decided", "deadends", "next")


def handoff(event: EventRecord, view: View) -> Lines:
    """One event's; a phase that isn't known is shown by its text."""
    match event.payload.get("phase"):
        case "near":
            left = max(0.0, number(event.payload.get("at")) - number(event.payload.get("context")))
            return _level("handoff_near", event, view, left=figures.window(int(left)))
        case "writing":
            return _level("handoff_writing", event, view)
        case "done":
            return _left_behind(event, view) + _taken_over(event, view)
        case _:
            return hung("# ", event.text, view)


def _level(name: str, event: EventRecord, view: View, **values: str) -> Lines:
    words = view.texts(
        name,
        context=_context(event),
        window=figures.window(int(number(event.payload.get("window")))),
        **values,
    )
    return hung("# ", words, view, Style.BOLD)


def _left_behind(event: EventRecord, view: View) -> Lines:
    """The first line of each section: what stands there, before anything relies on it."""
    if event.payload.get("degraded"):
        return said("x", view.texts("handoff_degraded"), view, Style.BAD)
    sections = event.payload.get("sections")
    known = sections if isinstance(sections, Mapping) else {}
    names = {name: view.texts(f"handoff_{name}") for name in _SECTIONS}
    widest = max(map(columns, names.values()))
    lines: Lines = ()
    for name, shown in names.items():
        if begins := _beginning(known.get(name)):
            first = f"  - {pad(shown, widest)}  "
            lines += (Line(first + cut(begins, view.width - columns(first))),)
    return lines


def _beginning(section: object) -> str:
    lines = (clean_line(line).lstrip("-*·# ") for line in str(section or "").splitlines())
    return next(filter(None, lines), "")


def _taken_over(event: EventRecord, view: View) -> Lines:
    path = view.short(clean_line(str(event.payload.get("path") or "")))
    # Never broken: a path in two halves is no path any more.
    written = (Line(f"<- {view.texts('handoff_written', path=path)}"),) if path else ()
    return written + hung("<- ", view.texts("handoff_taken", context=_context(event)), view)


def _context(event: EventRecord) -> str:
    return figures.tokens(int(number(event.payload.get("context"))))
