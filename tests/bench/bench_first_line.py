"""From typing ``flower`` in a folder where a run is going to its first line, against importing what it is made of."""

import sys
from pathlib import Path

from tests.bench.clock import in_turns
from tests.bench.quarters import own_quarters
from tests.bench.report import Report, at_most_times, milliseconds
from tests.bench.stamped import READY, StampedTerminal
from tests.bench.standing import FIRST_WORDS, let_go, standing_script, start_standing
from tests.support.household import COMMANDS, Household

ROUNDS = 10
GOAL = 2.0
_SECONDS = 20.0
_BANNER = "<- "
_IMPORTED = "imported in "
_UNIT = " seconds"
_IMPORT = f"""
from time import perf_counter
begin = perf_counter()
import aiohttp, prompt_toolkit
print("{_IMPORTED}%.6f{_UNIT}" % (perf_counter() - begin), flush=True)
"""


def measure(report: Report) -> None:
    with own_quarters() as (open_household, _):
        household = open_household(standing_script())
        folder = household.folder()
        start_standing(household, folder)
        household.daemon()
        _compare(household, folder, report)
        let_go(household, folder)


def _compare(household: Household, folder: Path, report: Report) -> None:
    def flower() -> tuple[float, ...]:
        with _terminal([COMMANDS / "flower"], household, folder) as terminal:
            event = _since_ready(terminal, FIRST_WORDS)
            return _since_ready(terminal, _BANNER), event

    def imports() -> tuple[float, ...]:
        with _terminal([sys.executable, "-c", _IMPORT], household, folder) as terminal:
            whole = _since_ready(terminal, _UNIT)
            return whole, float(terminal.raw.partition(_IMPORTED)[2].split()[0])

    line, event, whole, alone = map(milliseconds, in_turns(ROUNDS, flower, imports))
    report.row("its first line", line, "Python and both imports", whole, at_most_times(GOAL, line, whole))
    report.row("", line, "the imports, Python running", alone)
    report.row("the first event below it", event, "Python and both imports", whole)


def _terminal(command: list[str | Path], household: Household, folder: Path) -> StampedTerminal:
    return StampedTerminal(command, env=household.environment, cwd=folder)


def _since_ready(terminal: StampedTerminal, text: str) -> float:
    return terminal.wait_for_time(text, _SECONDS) - terminal.wait_for_time(READY, _SECONDS)
