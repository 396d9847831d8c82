"""``flowerctl status --json`` with a hundred known folders, against the CLI's own list of its agents."""

from functools import partial
from pathlib import Path

from flower.core.tether import find_cli
from tests.bench.clock import in_turns, run_times
from tests.bench.known import check_known, make_known
from tests.bench.quarters import own_quarters
from tests.bench.report import Report, at_most_times, milliseconds
from tests.support.household import COMMANDS, Household

WORKSPACES = 100
ROUNDS = 15
GOAL = 0.5


def measure(report: Report) -> None:
    with own_quarters() as (open_household, _):
        household = open_household()
        make_known(household, WORKSPACES)
        household.flowerctl("daemon", "start").check_returncode()
        household.daemon()
        check_known(household.status(), WORKSPACES)
        _compare("status --json, warm daemon", household, report)
        household.flowerctl("daemon", "stop").check_returncode()
        status = household.status()
        if status["daemon"] is not None:
            raise RuntimeError("the daemon was stopped, and still answers")
        check_known(status, WORKSPACES)
        _compare("status --json, no daemon", household, report)


def _compare(name: str, household: Household, report: Report) -> None:
    environment, root = household.environment, household.root
    status: list[str | Path] = [COMMANDS / "flowerctl", "status", "--json"]
    agents: list[str | Path] = [find_cli(environment), "agents", "--json"]
    taken = in_turns(
        ROUNDS, partial(run_times, status, environment, root), partial(run_times, agents, environment, root)
    )
    ours, worked, theirs, peer_worked = map(milliseconds, taken)
    report.row(name, ours, "claude agents --json, no agents", theirs, at_most_times(GOAL, ours, theirs))
    report.row("", worked, "the same, processor time", peer_worked)
