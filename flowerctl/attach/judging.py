"""The lines around a round's judgement: that it begins, the checks, the verdict, and what can't be verified at all."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from flower_protocol.events import EventRecord
from flowerctl.attach.lines import Lines, hung, said
from flowerctl.attach.view import View, number
from flowerctl.output import Style
from flowerctl.sanitize import clean_line

_LOOKS: Final[Mapping[str, tuple[str, Style]]] = MappingProxyType(
    {"achieved": ("+", Style.GOOD), "not_yet": ("!", Style.WARN), "unreachable": ("x", Style.BAD)}
)
_UNCLEAR: Final = ("!", Style.WARN)


def judge(event: EventRecord, view: View) -> Lines:
    """Where a round stands before the judge."""
    round = int(number(event.payload.get("round")))
    match event.payload.get("phase"):
        case "begins":
            return said("#", view.texts("judging", round=round), view, Style.BOLD)
        case "anew":
            checks = _items(event, "checks")
            head = said("#", view.texts("checks_anew", count=len(checks)), view, Style.BOLD)
            return head + _listed("    - ", checks, view)
        case "ruled":
            return _verdict(event, round, view)
        case "sent_back":
            return said("<-", view.texts("sent_back", round=round), view, Style.BOLD)
        case _:
            return said("-", event.text, view) if event.text else ()


def _verdict(event: EventRecord, round: int, view: View) -> Lines:
    state, reason = str(event.payload.get("state") or ""), str(event.payload.get("reason") or "")
    known = state if state in _LOOKS else "unclear"
    icon, style = _LOOKS.get(state, _UNCLEAR)
    head = view.texts("verdict", round=round, conclusion=view.texts(f"verdict_{known}"))
    lines = said(icon, head, view, style)
    lines += hung("    ", reason, view) if reason else ()
    return lines + _listed("    - ", _items(event, "failed"), view)


def unverifiable(event: EventRecord, view: View) -> Lines:
    """Which checks of the goal can't be verified here, while the goal may still be changed."""
    checks, total = _items(event, "unverifiable"), int(number(event.payload.get("total")))
    path = view.inside(clean_line(str(event.payload.get("path") or "")))
    lines = said("#", view.texts("unverifiable", count=len(checks), total=total), view, Style.WARN)
    lines += hung("    ", view.texts("unverifiable_change", path=path), view)
    return lines + _listed("      · ", checks, view)


def _items(event: EventRecord, name: str) -> tuple[str, ...]:
    found = event.payload.get(name)
    return tuple(str(each) for each in found) if isinstance(found, list | tuple) else ()


def _listed(first: str, items: tuple[str, ...], view: View) -> Lines:
    return tuple(line for item in items for line in hung(first, item, view))
