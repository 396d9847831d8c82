"""What the daemon holds in memory, idle and while runs go, against interpreters that hold the same libraries."""

import subprocess
import sys
from typing import Any

import psutil

from flower.core import child
from flower_protocol.paths import socket_path
from flowerctl.client import Client
from tests.bench.known import check_known, make_known
from tests.bench.quarters import own_quarters
from tests.bench.report import Figure, Goal, Report, at_most, megabytes
from tests.bench.standing import let_go, standing_script, start_standing
from tests.support.household import Household
from tests.support.processes import Spawned, descendants, wait_until

WORKSPACES = 100
GOAL = Figure(60, "MB")
_SECONDS = 20.0
_SDK = "claude_agent_sdk"
_SERVER = "aiohttp.web, msgspec"


def measure(report: Report) -> None:
    with own_quarters() as (open_household, spawned):
        household = open_household(standing_script())
        make_known(household, WORKSPACES)
        daemon = _Daemon(household, spawned)
        server = _holding(f"import {_SERVER}", spawned)
        with_sdk = _holding(f"import {_SERVER}, {_SDK}", spawned)
        _idle(daemon, server, report)
        _at_work(daemon, with_sdk, report)
        _launchers(daemon, _holding("", spawned, "-I", "-S"), report)
        _afterwards(daemon, with_sdk, report)


class _Daemon:
    """A daemon that says, in a file, what it imports."""

    def __init__(self, household: Household, spawned: Spawned) -> None:
        self.household = household
        self._imports = household.root / "imports"
        with self._imports.open("wb") as file:
            process = spawned.start(
                [sys.executable, "-m", "flowerd", "--idle-exit", "600"],
                env={**household.environment, "PYTHONPROFILEIMPORTTIME": "1"},
                stdout=subprocess.DEVNULL,
                stderr=file,
            )
        self.pid = process.pid
        client = Client(socket_path(household.environment))
        wait_until(client.listens, _SECONDS, what="the daemon to listen")
        if household.daemon() != self.pid:
            raise RuntimeError("another daemon answers")

    @property
    def memory(self) -> Figure:
        return _memory(self.pid)

    def has_imported(self, package: str) -> bool:
        lines = self._imports.read_text(errors="replace").splitlines()
        names = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
        if "flowerd.daemon" not in names:
            raise RuntimeError("the daemon doesn't say what it imports")
        return package in names

    def launchers(self) -> list[int]:
        """The pids of those that stand between the daemon and its CLIs."""
        return [pid for pid in descendants(self.pid) if child.__file__ in psutil.Process(pid).cmdline()]


def _idle(daemon: _Daemon, floor: int, report: Report) -> None:
    check_known(daemon.household.status(), WORKSPACES)
    ours = daemon.memory
    report.row(f"idle, {WORKSPACES} folders", ours, _SERVER, _memory(floor), at_most(GOAL, ours))
    imported = "yes" if daemon.has_imported(_SDK) else "no"
    report.fact("idle, the SDK is imported", imported, Goal("no", imported == "no"))


def _at_work(daemon: _Daemon, floor: int, report: Report) -> None:
    peer, household = f"{_SERVER}, the SDK", daemon.household
    start_standing(household, household.folder("one"))
    with_one = daemon.memory
    report.row("1 run", with_one, peer, _memory(floor))
    start_standing(household, household.folder("two"), household.folder("three"))
    with_three = daemon.memory
    report.row("3 runs", with_three, peer, _memory(floor))
    if not daemon.has_imported(_SDK):
        raise RuntimeError("runs go, and the SDK is nowhere among the imports")
    per_run = Figure((with_three.value - with_one.value) / 2, "MB")
    report.row("each further run", per_run, peer, _memory(floor))


def _launchers(daemon: _Daemon, floor: int, report: Report) -> None:
    pids = daemon.launchers()
    if len(pids) != 3:
        raise RuntimeError(f"3 runs have {len(pids)} launchers")
    each = megabytes(sum(_resident(pid) for pid in pids) / len(pids))
    report.row("each launcher, on top", each, "python -I -S", _memory(floor))


def _afterwards(daemon: _Daemon, floor: int, report: Report) -> None:
    household = daemon.household
    let_go(household, *(household.folder(name) for name in ("one", "two", "three")))
    wait_until(lambda: not descendants(daemon.pid), _SECONDS, what="the children to be gone")
    report.row("after the runs", daemon.memory, f"{_SERVER}, the SDK", _memory(floor))


def _holding(imports: str, spawned: Spawned, *options: str) -> int:
    """The pid of an interpreter that has done ``imports`` and waits."""
    code = f"{imports}\nprint('ready', flush=True)\nimport time\ntime.sleep(600)"
    process: subprocess.Popen[Any] = spawned.start(
        [sys.executable, *options, "-c", code], stdout=subprocess.PIPE
    )
    assert process.stdout is not None, "a pipe was asked for"
    if process.stdout.readline() != b"ready\n":
        raise RuntimeError(f"could not {imports}")
    return process.pid


def _memory(pid: int) -> Figure:
    return megabytes(_resident(pid))


def _resident(pid: int) -> int:
    return int(psutil.Process(pid).memory_info().rss)
