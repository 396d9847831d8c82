"""The lines of an answer to a side question: beside the run, and so not among its lines."""

from flower_protocol.events import EventRecord
from flowerctl import figures
from flowerctl.attach.lines import Lines, hung, said
from flowerctl.attach.view import View, number
from flowerctl.output import Style
from flowerctl.sanitize import clean_line


def aside(event: EventRecord, view: View) -> Lines:
    """The answer and what it cost; who sits at another screen is told who asked what."""
    if event.payload.get("ok") is False:
        return hung("# ", view.texts("aside_failed", reason=clean_line(event.text)), view, Style.WARN)
    cost = figures.dollars(number(event.payload.get("cost_usd")), precise=True)
    return (
        hung("# ", view.texts("aside"), view, Style.BOLD)
        + _asked(event, view)
        + said("", event.text, view)
        + said("", view.texts("aside_cost", cost=cost), view, Style.DIM)
    )


def _asked(event: EventRecord, view: View) -> Lines:
    who, words = clean_line(str(event.payload.get("who") or "")), str(event.payload.get("question") or "")
    if not words or who == view.me:
        return ()
    who = who or view.texts("somebody")
    return said("", view.texts("aside_of", who=who, text=words), view, Style.DIM)
