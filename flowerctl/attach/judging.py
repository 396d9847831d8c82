"""The lines around a round's judgement: whose turn it is, the verdict, and what can't be verified at all."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from flower_protocol.events import EventRecord
from flowerctl.attach.lines import Lines, hung, said
from flowerctl.attach.rounds import Turn
from flowerctl.attach.verdict import Conclusion, verdict_in
from flowerctl.attach.view import View, number
from flowerctl.output import Style
from flowerctl.sanitize import clean_line

_LOOKS: Final[Mapping[Conclusion, tuple[str, Style]]] = MappingProxyType(
    {
        Conclusion.ACHIEVED: ("+", Style.GOOD),
        Conclusion.NOT_YET: ("!", Style.WARN),
        Conclusion.UNREACHABLE: ("x", Style.BAD),
    }
)


def turn(event: EventRecord, view: View) -> Lines:
    """That the judge looks at a round now, or that the work was sent back; nothing for most events."""
    match view.rounds.turn(event):
        case Turn.JUDGING:
            return said("#", view.texts("judging", round=view.rounds.number), view, Style.BOLD)
        case Turn.SENT_BACK:
            name = f"{clean_line(view.rounds.step)}#round{view.rounds.number + 1}"
            return said("<-", view.texts("sent_back", name=name), view, Style.BOLD)
        case _:
            return ()


def verdict(event: EventRecord, view: View) -> Lines:
    """The verdict that a judge's text is; nothing when it plainly is none."""
    found = verdict_in(event.text)
    if found is None:
        return ()
    icon, style = _LOOKS[found.conclusion]
    head = view.texts("verdict", round=view.rounds.number, conclusion=view.texts(found.conclusion))
    lines = said("", found.before, view) if found.before else ()
    lines += said(icon, head, view, style)
    lines += hung("    ", found.reason, view) if found.reason else ()
    for item in found.failed:
        lines += hung("    - ", item, view)
    return lines


def unverifiable(event: EventRecord, view: View) -> Lines:
    """Which checks of the goal can't be verified here, while the goal may still be changed."""
    items = event.payload.get("unverifiable")
    checks = items if isinstance(items, list | tuple) else ()
    count, total = len(checks), int(number(event.payload.get("total")))
    path = view.inside(clean_line(str(event.payload.get("path") or "")))
    lines = said("#", view.texts("unverifiable", count=count, total=total), view, Style.WARN)
    lines += hung("    ", view.texts("unverifiable_change", path=path), view)
    for check in checks:
        lines += hung("      · ", str(check), view)
    return lines
