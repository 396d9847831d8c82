"""Client and daemon are killed in the middle: what goes on, what ends, and what the next `flower` picks up."""

import os
import signal
import time
from pathlib import Path

import pytest

from flower.rehearsal import Turn
from tests.support.household import Household, HouseholdFactory
from tests.support.processes import alive, descendants, wait_until
from tests.support.runs import (
    assert_each_once,
    bash,
    crew,
    entries_of,
    lineage,
    rows,
    slow_once,
    stored,
    told,
)

SLOW = crew(Turn(text="working", calls=[slow_once("started.txt", seconds=45)]))
BRISK = crew(Turn(text="working", calls=[slow_once("started.txt", seconds=4)]))
QUICK = crew(Turn(text="working", calls=[bash("echo one > one.txt")]))


def in_tool(home: Household, folder: Path, *flags: str) -> None:
    """Start a run and wait until its slow command works."""
    done = home.flower("-d", *flags, "写个 md 转 html 的脚本", folder=folder)
    assert done.returncode == 0, done.stderr
    wait_until((folder / "started.txt").exists, timeout=40, what="the slow command")


def test_words_in_a_used_folder_continue_the_same_session(household: HouseholdFactory) -> None:
    home = household(QUICK)
    folder = home.settled_folder()
    first = home.flower("--no-goal", "写个 md 转 html 的脚本", folder=folder)
    session = lineage(folder / "runs")["steps"]["干活"]

    second = home.flower("--no-goal", "顺便支持代码块高亮", folder=folder)

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert lineage(folder / "runs")["steps"] == {"干活": session}
    assert lineage(folder / "runs")["woke"] == 2
    assert "接上上次" in second.stdout and "第 2 次唤醒" in second.stdout
    shown = told(home.model.requests[-1])  # type: ignore[union-attr]
    assert "写个 md 转 html 的脚本" in shown and "顺便支持代码块高亮" in shown
    assert [row["session_id"] for row in rows(folder / "runs")] == [session, session]


def test_a_killed_client_changes_nothing_and_the_next_one_shows_what_was_missed(
    household: HouseholdFactory,
) -> None:
    home = household(BRISK)
    folder = home.settled_folder()
    client = home.start("--no-goal", "写个 md 转 html 的脚本", folder=folder)
    wait_until((folder / "started.txt").exists, timeout=40)

    client.kill()

    assert home.wait_for_state(folder, "dormant", "failed")["state"] == "dormant"
    assert (folder / "three.txt").exists()
    with home.terminal(folder=folder) as screen:
        screen.read_until("接着上次?", timeout=20)
        assert "all of it is done" in screen.text()
        screen.send("\x03")


def test_nothing_of_a_killed_daemon_lives_on_and_nothing_is_lost(household: HouseholdFactory) -> None:
    home = household(SLOW)
    folder = home.folder()
    in_tool(home, folder)
    daemon = home.daemon()
    below = descendants(daemon)
    assert len(below) >= 3, "launcher, CLI and a shell command"
    requests = len(home.model.requests)  # type: ignore[union-attr]
    steps = lineage(folder / "runs")["steps"]
    assert list(steps) == ["确认需求", "设定目标", "干活"]
    session = steps["干活"]

    os.kill(daemon, signal.SIGKILL)

    wait_until(lambda: not any(alive(pid) for pid in below), timeout=10, what="all of it to be gone")
    time.sleep(1.5)  # a request that was still to come would come now
    assert len(home.model.requests) == requests  # type: ignore[union-attr]
    transcript = next((folder / "runs" / "claude" / "projects").glob(f"*/{session}.jsonl"))
    written = entries_of(transcript.read_text())

    again = home.flower(folder=folder, timeout=120)

    print(again.stdout)
    assert again.returncode == 0, again.stdout + again.stderr
    assert lineage(folder / "runs")["steps"] == steps
    assert_each_once(written, stored(folder / "runs", session))
    assert (folder / "three.txt").exists()
    assert [row["ok"] for row in rows(folder / "runs") if row["step"] == "干活"][-1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_daemon_writes_the_row_in_flight(
    household: HouseholdFactory, number: signal.Signals
) -> None:
    home = household(SLOW)
    folder = home.settled_folder()
    in_tool(home, folder, "--no-goal")
    daemon = home.daemon()
    below = descendants(daemon)

    os.kill(daemon, number)

    wait_until(lambda: not alive(daemon), timeout=5, what="the daemon to be gone")
    (row,) = rows(folder / "runs")
    assert (row["step"], row["ok"], row["error"]) == ("干活", False, "killed-by-signal")
    wait_until(lambda: not any(alive(pid) for pid in below), timeout=10)
    assert home.status()["daemon"] is None
    assert home.workspace(folder)["state"] == "interrupted"


def test_nothing_is_sent_for_an_interrupted_folder_until_a_person_comes(household: HouseholdFactory) -> None:
    home = household(SLOW)
    folder = home.settled_folder()
    in_tool(home, folder, "--no-goal")
    daemon = home.daemon()
    os.kill(daemon, signal.SIGKILL)
    wait_until(lambda: not alive(daemon), timeout=10)
    requests = len(home.model.requests)  # type: ignore[union-attr]

    other = home.folder("other")
    assert home.flower("-d", "--rehearse", "x", folder=other).returncode == 0  # brings a new daemon up

    assert home.daemon() != daemon
    assert home.workspace(folder)["state"] == "interrupted"
    time.sleep(1.5)
    assert len(home.model.requests) == requests  # type: ignore[union-attr]
