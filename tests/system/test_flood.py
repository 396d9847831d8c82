"""Two terminals on one run, one of them stopped, while two hundred megabytes of events go by."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flower.rehearsal import Call, Scene, Script, Turn
from tests.support.household import COMMANDS, Household, HouseholdFactory
from tests.support.processes import wait_until
from tests.support.runs import bash

WORKERS, TURNS, TURN_BYTES = 40, 10, 512 * 1024
LINE = "0123456789abcdef" * 6 + "\n"
DISPATCH = Call(
    tool="Agent", input={"subagent_type": "coder", "description": "flood", "prompt": "Do the flood."}
)
FLOOD = Script(
    scenes=[
        Scene(
            name="lead",
            role="main",
            turns=[Turn(text="go", calls=[DISPATCH], times=WORKERS), Turn(text="all done")],
        ),
        Scene(
            name="flood",
            role="worker",
            turns=[
                Turn(text=LINE * (TURN_BYTES // len(LINE)), calls=[bash("true")], times=TURNS),
                Turn(text="end"),
            ],
        ),
    ]
)


@pytest.mark.long
def test_a_stopped_terminal_costs_nothing_and_catches_up(household: HouseholdFactory) -> None:
    home = household(FLOOD)
    folder = home.settled_folder()
    assert home.flower("-d", "--no-goal", "flood", folder=folder).returncode == 0
    home.wait_for_state(folder, "running")

    with watcher(home, folder) as seeing, watcher(home, folder) as stopped:
        wait_until(lambda: seeing.bytes() > 5 * TURN_BYTES, timeout=30, what="the flood to be under way")
        before = home.status()["daemon"]["rss_bytes"]
        os.kill(stopped.process.pid, signal.SIGSTOP)
        peak, began = before, time.monotonic()
        while home.workspace(folder)["state"] != "dormant" or time.monotonic() - began < 30:
            peak = max(peak, home.status()["daemon"]["rss_bytes"])
            assert time.monotonic() - began < 240
            time.sleep(0.5)
        os.kill(stopped.process.pid, signal.SIGCONT)

        saw, caught_up = seeing.events(), stopped.events()

    assert peak - before < 20 * 1024 * 1024, f"the daemon grew by {(peak - before) >> 20} MiB"
    texts = sum(len(event["text"]) for event in saw if event["kind"] == "text")
    assert texts > WORKERS * TURNS * TURN_BYTES * 0.95, "the one that was watching saw everything"
    sequence = [event["seq"] for event in saw]
    assert sequence == list(range(sequence[0], sequence[-1] + 1))
    later = [event["seq"] for event in caught_up]
    assert later == sorted(set(later)) and later[-1] == sequence[-1], "no event twice, and the last one too"


class Watcher:
    """A client that writes each event as a line into a file."""

    def __init__(self, process: "subprocess.Popen[Any]", file: Path) -> None:
        self.process = process
        self._file = file

    def bytes(self) -> int:
        return self._file.stat().st_size

    def events(self) -> list[dict[str, Any]]:
        """Every event it was given, once the run and the client have ended."""
        assert self.process.wait(timeout=120) == 0
        return [json.loads(line) for line in self._file.read_text().splitlines()]


@contextmanager
def watcher(home: Household, folder: Path) -> Iterator[Watcher]:
    file = home.root / f"seen-{time.monotonic_ns()}.jsonl"
    with file.open("wb") as output:
        process = home.spawned.start(
            [COMMANDS / "flower", "--json"],
            env=home.environment,
            cwd=folder,
            stdout=output,
            stderr=subprocess.DEVNULL,
        )
        yield Watcher(process, file)
