"""The workspaces as a table whose columns line up, whatever is written in them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from flower_protocol.workspaces import WorkspaceStatus
from flowerctl import figures
from flowerctl.language import Texts
from flowerctl.output import Line, Style
from flowerctl.places import shortened
from flowerctl.sanitize import clean_line
from flowerctl.states import state_of
from flowerctl.width import columns, cut, cut_left, pad

_GAP: Final = "  "
_NARROWEST_PATH: Final = 12
_WIDEST_STEP: Final = 24
_HEADS: Final = ("workspace", "state", "woke", "step", "context", "cost", "since")
_TO_THE_RIGHT: Final = frozenset({"woke", "context", "cost"})
_STYLES: Final = {
    "running": Style.GOOD,
    "asking": Style.WARN,
    "offline": Style.WARN,
    "limited": Style.WARN,
    "login": Style.WARN,
    "failed": Style.BAD,
}
# Most terminals draw characters of ambiguous width one column wide; a table can't allow for both.
_AMBIGUOUS: Final = 1


def table(known: Sequence[WorkspaceStatus], texts: Texts, own_home: Path, width: int) -> list[Line]:
    """The head and a line for each workspace, as wide as needed; long paths give way so that it fits."""
    rows = [tuple(texts(f"head_{head}") for head in _HEADS)]
    rows += [_cells(each, texts, own_home) for each in known]
    widths = [max(columns(row[place], ambiguous=_AMBIGUOUS) for row in rows) for place in range(len(_HEADS))]
    spare = width - sum(widths[1:]) - len(_GAP) * (len(_HEADS) - 1)
    widths[0] = max(_NARROWEST_PATH, min(widths[0], spare))
    styles = [Style.BOLD, *(_STYLES.get(each.state.value, Style.PLAIN) for each in known)]
    return [Line(_aligned(row, widths), style) for row, style in zip(rows, styles, strict=True)]


def questions(known: Sequence[WorkspaceStatus], texts: Texts, own_home: Path, width: int) -> list[Line]:
    """A line for each question that waits for the person, and one for each of its options."""
    lines = []
    for status in known:
        question = status.question
        if question is None:
            continue
        workspace = clean_line(shortened(status.workspace, own_home))
        since, text = figures.clock(question.asked_at), clean_line(question.text)
        asked = texts("waits_for_you", workspace=workspace, since=since, question=text)
        lines.append(Line(cut(asked, width, ambiguous=_AMBIGUOUS), Style.WARN))
        options = (
            f"   {number}) {clean_line(each)}" for number, each in enumerate(question.options, start=1)
        )
        lines += [Line(cut(each, width, ambiguous=_AMBIGUOUS)) for each in options]
    return lines


def _cells(status: WorkspaceStatus, texts: Texts, own_home: Path) -> tuple[str, ...]:
    at = status.started_at if status.state.active else status.updated_at
    return (
        clean_line(shortened(status.workspace, own_home)),
        state_of(status, texts),
        str(status.woke) if status.woke else "-",
        _step(status),
        _context(status),
        f"${figures.dollars(status.cost_usd)}",
        figures.clock(at) if at else "-",
    )


def _step(status: WorkspaceStatus) -> str:
    if not status.step:
        return "-"
    place = f" {status.index}/{status.total}" if status.total else ""
    return cut(clean_line(status.step), _WIDEST_STEP, ambiguous=_AMBIGUOUS) + place


def _context(status: WorkspaceStatus) -> str:
    if not status.context:
        return "-"
    window = f"/{figures.window(status.window)}" if status.window else ""
    return figures.tokens(status.context) + window


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = []
    for head, text, wanted in zip(_HEADS, row, widths, strict=True):
        fitting = cut_left(text, wanted, ambiguous=_AMBIGUOUS) if head == "workspace" else text
        cells.append(pad(fitting, wanted, ambiguous=_AMBIGUOUS, right=head in _TO_THE_RIGHT))
    return _GAP.join(cells).rstrip()
