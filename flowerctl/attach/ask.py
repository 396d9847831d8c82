"""The lines of a question of the agent, and of what became of it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from flower_protocol.events import EventRecord
from flowerctl.attach.lines import Lines, hung, said
from flowerctl.attach.view import View
from flowerctl.output import Style

_OUTCOMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "timeout": "ask_timeout",
        "over_budget": "ask_over_budget",
        "declined": "ask_declined",
        "invalid": "ask_invalid",
    }
)


def ask(event: EventRecord, view: View) -> Lines:
    """A question with its options; or its outcome, behind the question itself if that isn't on the screen."""
    payload = event.payload
    state = str(payload.get("state") or "asked")
    if payload.get("kind") == "mail":
        # The words were shown when they were said; here they arrive.
        return said("+", view.texts("delivered", text=event.text), view) if state == "delivered" else ()
    if state == "asked":
        return question(event.text, _options(event), view, remaining=payload.get("remaining"))
    unseen = bool(event.text.strip()) and str(payload.get("id")) not in view.asked
    asked = question(event.text, _options(event), view) if unseen else ()
    if state == "answered":
        return asked + said("+", str(payload.get("answer") or ""), view, Style.GOOD)
    icon = "." if state == "declined" else "!"
    return asked + said(icon, view.texts(_OUTCOMES.get(state, "ask_declined")), view, Style.WARN)


def question(text: str, options: Sequence[object], view: View, *, remaining: object = None) -> Lines:
    """``remaining`` is how many more may be asked; it is only told where there is an end to them."""
    lines = said("?", text, view, Style.BOLD)
    for place, option in enumerate(options, start=1):
        lines += hung(f"     {place}) ", str(option), view)
    if isinstance(remaining, int) and not isinstance(remaining, bool) and remaining >= 0:
        lines += hung("     ", view.texts("asks_left", count=remaining), view, Style.DIM)
    return lines


def _options(event: EventRecord) -> Sequence[object]:
    options = event.payload.get("options")
    return options if isinstance(options, list | tuple) else ()
