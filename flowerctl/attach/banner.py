"""The line that says what a folder remembers, before anything runs in it."""

from pathlib import Path

from flower_protocol.workspaces import Wake
from flowerctl.figures import tokens
from flowerctl.language import Texts
from flowerctl.output import Line, Style
from flowerctl.places import shortened
from flowerctl.sanitize import clean_line
from flowerctl.width import columns, wrap


def banner(wake: Wake, texts: Texts, home: Path, width: int) -> list[Line]:
    """The banner of a folder that is used or running; empty for a new one.

    The wake it names is the one this run is: the present one while it runs, the next one before it starts. It is one
    line, or two when the window is too narrow for it as most terminals draw it.
    """
    running = wake.status.state.active
    if not (wake.used or running):
        return []
    place = clean_line(shortened(wake.status.workspace, home))
    first = running and not wake.used
    number = max(1, wake.status.woke if running else wake.status.woke + 1)
    facts = " · ".join([texts("wake_number", woke=number)] if first else _facts(wake, number, texts))
    said = texts("banner_first" if first else "banner_place", place=place)
    if columns(f"{said}  {facts}", ambiguous=1) <= width:
        return [Line(f"{said}  {facts}", Style.BOLD)]
    broken = [*wrap(said, width), *(f"   {part}" for part in wrap(facts, width - 3))]
    return [Line(part, Style.BOLD) for part in broken]


def _facts(wake: Wake, number: int, texts: Texts) -> list[str]:
    facts = [texts("banner_brief" if wake.confirmed else "banner_no_brief")]
    if wake.checks > 0:
        facts.append(texts("banner_checks", count=wake.checks))
    if wake.context > 0:
        facts.append(texts("banner_context", size=tokens(wake.context)))
    return [*facts, texts("wake_number", woke=number)]
