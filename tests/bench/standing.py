"""Runs that stand still in mid-turn: the model's next answer waits until it is let go."""

from pathlib import Path

from flower.rehearsal import Script, Turn
from tests.support.household import Household
from tests.support.processes import wait_until
from tests.support.runs import bash, crew, told

HOLD = "in mid-turn"
FIRST_WORDS = "sending someone"  # what such a run shows first, see `crew`
_REACHED = "everything so far is done"
_SECONDS = 40.0


def standing_script(*work: Turn) -> Script:
    """A crew that works a little, stands still before ``work``, and then ends."""
    before = [Turn(text="having a look", calls=[bash(f"echo {number}")]) for number in range(5)]
    last = Turn(text="that was all for now", calls=[bash(f"echo {_REACHED}")])
    return crew(*before, last, Turn(text="going on", calls=[bash("echo on")], hold=HOLD), *work)


def start_standing(household: Household, *folders: Path) -> None:
    """Start a run in each of ``folders``; returns when they all stand still."""
    before = _standing(household)
    for folder in folders:
        household.flower("--detach", "do the work", folder=folder).check_returncode()
    wait_until(
        lambda: _standing(household) >= before + len(folders),
        _SECONDS,
        what=f"{len(folders)} runs to stand still",
    )


def let_go(household: Household, *folders: Path) -> None:
    """Let the runs go on; returns when those in ``folders`` have ended."""
    assert household.model is not None, "such a run needs the script"
    household.model.release(HOLD)
    for folder in folders:
        household.wait_for_state(folder, "dormant", timeout=_SECONDS)


def _standing(household: Household) -> int:
    assert household.model is not None, "such a run needs the script"
    # A request is recorded before it is answered: one that tells of the last command has its answer held.
    return sum(_REACHED in told(request) for request in household.model.requests)
