"""The daemon is killed outright, or told to end, in the middle of a tool call of a real run."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from flower.rehearsal import Rehearsal, Turn
from flower_protocol.control import Done, SayTo
from flower_protocol.handshake import Hello
from flower_protocol.paths import socket_path
from flower_protocol.runs import RunOptions, RunStarted, StartRun
from flower_protocol.workspaces import Place, State
from tests.integration.flowerd.talk import Talk
from tests.support.processes import Spawned, alive, descendants, eventually, wait_until
from tests.support.runs import bash, crew, environment, lineage, rows, settle, slow_once, told

ROOT = Path(__file__).parents[3]
WORK_ALONE = RunOptions(goal=False)
PLAY = crew(
    Turn(text="looking", calls=[bash("echo one > one.txt")]),
    Turn(text="working", calls=[slow_once("started.txt")]),
)


@dataclass(frozen=True)
class Stubborn:
    """The daemon, and the process that it can't get rid of by asking."""

    daemon: "subprocess.Popen[bytes]"
    pid: int


@pytest.fixture
def place(place: Place) -> Place:
    """One with a brief, so that a run there begins with the work."""
    settle(Path(place.workspace))
    return place


@pytest.fixture
def model() -> Iterator[Rehearsal]:
    with Rehearsal(PLAY) as playing:
        yield playing


@pytest.fixture
async def talk() -> AsyncIterator[Talk]:
    async with Talk(socket_path(os.environ)) as opened:
        yield opened


def _flowerd(spawned: Spawned) -> "subprocess.Popen[bytes]":
    env = dict(os.environ) | {"PYTHONPATH": f"{ROOT}:{ROOT / 'protocol'}"}
    process = spawned.start([sys.executable, "-m", "flowerd"], env=env, stderr=subprocess.DEVNULL)
    log = Path(os.environ["XDG_STATE_HOME"]) / "flower" / "flowerd.log"
    served = log.read_text().count("serves") if log.exists() else 0
    wait_until(lambda: log.exists() and log.read_text().count("serves") > served, what="flowerd serves")
    return process


async def _in_the_middle(talk: Talk, place: Place, model: Rehearsal) -> RunStarted:
    start = StartRun(place=place, ask="do it", options=WORK_ALONE, environment=environment(model))
    started = await talk.post("/v1/runs", start, RunStarted)
    await eventually((Path(place.workspace) / "started.txt").exists, timeout=30)
    return started


async def test_killed_it_leaves_no_child_and_the_next_one_resumes_the_same_session(
    talk: Talk, place: Place, model: Rehearsal, spawned: Spawned
) -> None:
    first = _flowerd(spawned)
    started = await _in_the_middle(talk, place, model)
    await talk.post("/v1/say", SayTo(place=place, text="und in blau", id="r1"), Done)
    below = descendants(first.pid)
    session = lineage(Path(place.run_dir))["steps"]["干活"]

    first.kill()
    await eventually(lambda: not any(alive(pid) for pid in below), timeout=10)
    asked = len(model.requests)
    _flowerd(spawned)
    [status] = (await talk.status()).workspaces
    quiet = len(model.requests)

    going_on = StartRun(place=place, options=WORK_ALONE, environment=environment(model))
    again = await talk.post("/v1/runs", going_on, RunStarted)
    hello = Hello(place=place, generation=started.generation, cursor=started.seq)
    async with await talk.attach(hello) as client:
        await client.until_event("run_ended", timeout=60)

    assert len(below) >= 3 and asked == quiet
    assert (status.state, again.woke) == (State.INTERRUPTED, 2)
    assert lineage(Path(place.run_dir))["steps"]["干活"] == session
    assert "und in blau" in told(model.requests[quiet])
    kinds = [event.kind for event in client.events]
    assert kinds.count("run_started") == 2 and kinds.count("remark") == 1
    assert client.events[-1].payload["outcome"] == "done"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_told_to_end_it_writes_the_row_and_is_gone_with_all_below_in_five_seconds(
    talk: Talk, place: Place, model: Rehearsal, spawned: Spawned, number: signal.Signals
) -> None:
    process = _flowerd(spawned)
    await _in_the_middle(talk, place, model)
    below = descendants(process.pid)

    begun = time.monotonic()
    process.send_signal(number)
    await eventually(lambda: process.poll() is not None)
    took = time.monotonic() - begun

    assert process.returncode == -number
    assert took < 5
    assert [row["error"] for row in rows(Path(place.run_dir))] == ["killed-by-signal"]
    await eventually(lambda: not any(alive(pid) for pid in below))


async def test_a_second_signal_ends_it_at_once_and_the_row_is_there(
    talk: Talk, place: Place, model: Rehearsal, spawned: Spawned
) -> None:
    process = _flowerd(spawned)
    await _in_the_middle(talk, place, model)

    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    await eventually(lambda: process.poll() is not None)

    assert process.returncode in (-signal.SIGINT, -signal.SIGTERM)
    assert [row["error"] for row in rows(Path(place.run_dir))] == ["killed-by-signal"]


@pytest.fixture
async def stubborn(talk: Talk, place: Place, model: Rehearsal, spawned: Spawned, tmp_path: Path) -> Stubborn:
    """A run whose CLI ignores every hint."""
    script, pidfile = tmp_path / "stubborn", tmp_path / "pid"
    script.write_text("#!/bin/sh\ntrap '' TERM HUP INT\necho $$ > \"$PIDFILE\"\nwhile :; do sleep 1; done\n")
    script.chmod(0o700)
    env = environment(model, FLOWER_CLI=str(script), PIDFILE=str(pidfile))
    process = _flowerd(spawned)
    await talk.post("/v1/runs", StartRun(place=place, ask="x", environment=env), RunStarted)
    await eventually(lambda: pidfile.exists() and pidfile.read_text().strip(), timeout=20)
    return Stubborn(process, int(pidfile.read_text()))


async def test_a_child_that_ignores_every_hint_keeps_nobody_waiting(stubborn: Stubborn) -> None:
    begun = time.monotonic()
    stubborn.daemon.terminate()
    await eventually(lambda: stubborn.daemon.poll() is not None)

    assert time.monotonic() - begun < 5
    await eventually(lambda: not alive(stubborn.pid), timeout=10)
