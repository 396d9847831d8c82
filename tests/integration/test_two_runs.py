"""Two runs that want one session: never at once, whoever they are; and whose it is when one of them is gone."""

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread

import pytest

from flower import Event, Runtime, Step, Workflow
from flower.core.lease import Lease
from flower.core.lineage import Lineage
from flower.rehearsal import Rehearsal, Script, Turn
from tests.support.processes import Spawned, wait_until
from tests.support.runs import (
    assert_each_once,
    bash,
    environment,
    handy,
    lineage,
    play,
    rows,
    script_environment,
    slow_once,
    stored,
    told,
)

TALK = play(Turn(text="done", takes=1.0), again=True)
SESSION = "11111111-1111-4111-8111-111111111111"
SCRIPT = """
import asyncio
from flower import AgentSpec, Runtime, Step, Workflow
spec = AgentSpec("handy", "Do what you are told.", allowed_tools=["Bash"], permission_mode="acceptEdits")
async def main():
    rt = Runtime(workspace=".", run_dir="runs")
    await Workflow([Step("干活", spec, "do the work", resume_prompt="go on")]).run(rt)
    rt.close()
asyncio.run(main())
"""
HOLDER = """
import sys, time
from pathlib import Path
from flower.core.lease import Lease
from flower.core.lineage import Lineage
lease = Lease.take(Path(sys.argv[1]), sys.argv[2])
print("mine" if lease else "not mine", flush=True)
time.sleep(600)
"""


class Run:
    """One run of a step in a folder that others may want too."""

    def __init__(
        self, folder: Path, model: Rehearsal, words: str, *, at_the_look: Callable[[], None] = lambda: None
    ) -> None:
        self.events: list[Event] = []
        self._runtime = Runtime(workspace=folder, run_dir=folder / "runs", environment=environment(model))
        is_alive = self._runtime.is_alive

        def look(session: str) -> bool:
            alive = is_alive(session)
            at_the_look()
            return alive

        self._runtime.is_alive = look
        self._workflow = Workflow([Step("干活", handy(), words)])

    async def take(self) -> str:
        """The session of the step when it has ended well."""
        try:
            ctx = await self._workflow.run(self._runtime, on_event=self.events.append)
        finally:
            self._runtime.close()
        assert ctx.get("_failed_at") is None
        return str(ctx["_sessions"]["干活"])

    @property
    def says_that_it_begins_anew(self) -> bool:
        return any("另开一段新的" in event.text for event in self.events if event.kind == "notice")


def assert_apart(folder: Path, runs: list[Run], sessions: list[str], before: str) -> None:
    """One of two runs has gone on, the other says that it began anew, and no words of one are in the other's."""
    assert before in sessions and sessions[0] != sessions[1]
    assert [run.says_that_it_begins_anew for run in runs] == [session != before for session in sessions]
    for words, mine, others in (("words of one", *sessions), ("words of two", *reversed(sessions))):
        assert words in str(stored(folder / "runs", mine))
        assert words not in str(stored(folder / "runs", others))


async def test_of_two_tasks_of_one_process_one_goes_on_and_the_other_begins_anew(tmp_path: Path) -> None:
    with Rehearsal(TALK) as model:
        before = await Run(tmp_path / "w", model, "begin").take()
        runs = [Run(tmp_path / "w", model, words) for words in ("words of one", "words of two")]

        sessions = await asyncio.gather(*(run.take() for run in runs))

    assert_apart(tmp_path / "w", runs, sessions, before)


async def test_of_two_threads_of_one_process_one_goes_on_and_the_other_begins_anew(tmp_path: Path) -> None:
    with Rehearsal(TALK) as model:
        before = await Run(tmp_path / "w", model, "begin").take()
        runs = [Run(tmp_path / "w", model, words) for words in ("words of one", "words of two")]
        sessions = ["", ""]
        together = Barrier(2)

        def take(number: int) -> None:
            together.wait()
            sessions[number] = asyncio.run(runs[number].take())

        threads = [Thread(target=take, args=(number,), name=f"run {number}") for number in range(2)]
        for thread in threads:
            thread.start()
        await asyncio.gather(*(asyncio.to_thread(thread.join) for thread in threads))

    assert_apart(tmp_path / "w", runs, sessions, before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "script.py").write_text(SCRIPT)
    return tmp_path / "w"


def in_tool(folder: Path, model: Rehearsal, spawned: Spawned) -> "subprocess.Popen[bytes]":
    """A script of its own in the middle of a tool call."""
    process = spawned.start([sys.executable, "script.py"], cwd=folder, env=script_environment(model))
    wait_until((folder / "started.txt").exists, timeout=30, what="the tool call")
    return process


def working(seconds: float) -> Script:
    return play(
        Turn(text="working", calls=[slow_once("started.txt", seconds)]),
        Turn(text="finishing", calls=[bash("echo three > three.txt")]),
        Turn(text="done"),
        again=True,
    )


async def test_the_session_of_a_killed_process_is_the_next_ones_at_once(
    folder: Path, spawned: Spawned
) -> None:
    # A process gives its memory back before its locks: with so much of it that takes a moment.
    (folder / "script.py").write_text(f"ballast = bytearray(256 << 20)\n{SCRIPT}")
    with Rehearsal(working(60)) as model:
        killed = in_tool(folder, model, spawned)
        session = lineage(folder / "runs")["steps"]["干活"]
        asked = len(model.requests)
        killed.kill()
        # Not waiting until it is dead, nor until its child is: that is the next run's affair.
        run = Run(folder, model, "someone else")

        taken = await run.take()

        assert taken == session, [event.text for event in run.events if event.kind == "notice"]
        assert not run.says_that_it_begins_anew
        assert "someone else" in told(model.requests[asked]), "nobody else asked the model in between"
    kept = stored(folder / "runs", session)
    assert_each_once(kept, kept)


async def test_what_a_run_leaves_that_dies_while_this_one_begins_is_taken_up(tmp_path: Path) -> None:
    with Rehearsal(TALK) as model:
        before = await Run(tmp_path / "w", model, "begin").take()
        # As a kill leaves it: the CLI has written it all, and the store has nothing.
        left = Runtime(
            workspace=tmp_path / "w", run_dir=tmp_path / "w" / "runs", environment=environment(model)
        )
        left.folder.restore(left.store, before)
        await left.store.delete({"project_key": left.project_key, "session_id": before})
        left.close()
        lease = Lease.take(left.folder.leases, before)
        assert lease is not None
        run = Run(tmp_path / "w", model, "someone else", at_the_look=lease.release)

        assert await run.take() == before and not run.says_that_it_begins_anew

    assert "begin" in str(stored(tmp_path / "w" / "runs", before))


def stop_between_writes(process: "subprocess.Popen[bytes]", database: Path) -> None:
    """SIGSTOP, at a moment when the process does not have the database locked: nobody could write to it then."""
    for _ in range(50):
        process.send_signal(signal.SIGSTOP)
        opened = contextlib.closing(sqlite3.connect(database, timeout=0.1, isolation_level=None))
        with opened as connection, contextlib.suppress(sqlite3.OperationalError):
            connection.execute("BEGIN IMMEDIATE")
            return
        process.send_signal(signal.SIGCONT)
        time.sleep(0.05)
    raise AssertionError("it writes all the time")


async def test_a_session_that_another_has_begun_and_not_written_yet_is_his(
    tmp_path: Path, spawned: Spawned
) -> None:
    runs = tmp_path / "w" / "runs"
    holder = spawned.start(
        [sys.executable, "-c", HOLDER, runs / "claude" / "leases", SESSION],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None and holder.stdout.readline() == b"mine\n"
    Lineage.open(runs, tmp_path / "w").propose("干活", SESSION)
    with Rehearsal(TALK) as model:
        run = Run(tmp_path / "w", model, "someone else")

        other = await run.take()

    assert other != SESSION and run.says_that_it_begins_anew


async def test_a_process_that_is_stopped_has_its_session_still(folder: Path, spawned: Spawned) -> None:
    with Rehearsal(working(3)) as model:
        stopped = in_tool(folder, model, spawned)
        session = lineage(folder / "runs")["steps"]["干活"]
        stop_between_writes(stopped, folder / "runs" / "sessions.db")
        try:
            run = Run(folder, model, "someone else")
            other = await run.take()
        finally:
            stopped.send_signal(signal.SIGCONT)

        assert other != session and run.says_that_it_begins_anew
        assert stopped.wait(timeout=60) == 0
    first, second = rows(folder / "runs")
    assert {(row["session_id"], row["ok"]) for row in (first, second)} == {(session, True), (other, True)}
    assert "someone else" not in str(stored(folder / "runs", session))


def test_a_lease_is_one_holders_and_free_the_moment_he_is_killed(tmp_path: Path, spawned: Spawned) -> None:
    holder = spawned.start(
        [sys.executable, "-c", HOLDER, tmp_path, SESSION],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None and holder.stdout.readline() == b"mine\n"
    assert Lease.take(tmp_path, SESSION) is None
    holder.send_signal(signal.SIGSTOP)
    assert Lease.take(tmp_path, SESSION) is None

    holder.kill()
    holder.wait()

    lease = Lease.take(tmp_path, SESSION)
    assert lease is not None and Lease.take(tmp_path, SESSION) is None
    lease.release()
    assert Lease.take(tmp_path, SESSION) is not None


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="this kernel shows nobody dying")
def test_an_owner_that_is_seen_to_die_is_waited_for_and_a_living_one_is_not(tmp_path: Path) -> None:
    lease = Lease.take(tmp_path, SESSION)
    assert lease is not None
    assert Lease.take(tmp_path, SESSION, patience=0.05) is None

    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (tmp_path / f"{SESSION}.owner").write_text(str(gone.pid))
    freed = threading.Timer(0.5, lease.release)
    freed.start()
    mine = Lease.take(tmp_path, SESSION, patience=0.05)

    assert mine is not None
    freed.join()
    assert (tmp_path / f"{SESSION}.owner").read_text() == str(os.getpid())
