"""A script of one's own is killed in the middle of a tool call: what lives on, and what is lost (nothing)."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from flower import Runtime, Step, Workflow
from flower.rehearsal import Rehearsal, Turn
from tests.support.processes import Spawned, alive, descendants, eventually, wait_until
from tests.support.runs import (
    assert_each_once,
    bash,
    entries_of,
    handy,
    lineage,
    play,
    rows,
    script_environment,
    slow_once,
    stored,
    told,
)

SCRIPT = """
import asyncio
from flower import AgentSpec, Runtime, Step, Workflow
spec = AgentSpec("handy", "Do what you are told.", allowed_tools=["Bash", "Read"], permission_mode="acceptEdits")
async def main():
    rt = Runtime(workspace=".", run_dir="runs")
    await Workflow([Step("干活", spec, "do the work", resume_prompt="go on")]).run(rt)
    rt.close()
asyncio.run(main())
"""

OWN_HANDLER = SCRIPT.replace(
    "    await Workflow",
    """
    import os, signal
    def go_down(*_):
        rt.rescue("going down")
        os._exit(3)
    signal.signal(signal.SIGTERM, go_down)
    await Workflow""",
)

PLAY = play(
    Turn(text="looking", calls=[bash("echo one > one.txt")]),
    Turn(text="working", calls=[slow_once("started.txt")]),
    Turn(text="finishing", calls=[bash("echo three > three.txt")]),
    Turn(text="all done"),
)


class Killed:
    """A script in the middle of its second tool call."""

    def __init__(self, folder: Path, model: Rehearsal, spawned: Spawned, script: str = SCRIPT) -> None:
        (folder / "script.py").write_text(script)
        self.folder = folder
        self.run_dir = folder / "runs"
        self.process = spawned.start(
            [sys.executable, "script.py"],
            cwd=folder,
            env=script_environment(model),
            stderr=subprocess.DEVNULL,
        )
        wait_until((folder / "started.txt").exists, timeout=30, what="the second tool call")
        wait_until(lambda: self.session in self.transcript().name, timeout=5)
        self.below = descendants(self.process.pid)
        assert len(self.below) >= 3, "launcher, CLI and a shell command"

    @property
    def session(self) -> str:
        return str(lineage(self.run_dir)["steps"]["干活"])

    def transcript(self) -> Path:
        return next((self.run_dir / "claude" / "projects").glob("*/*.jsonl"))

    def all_gone(self) -> bool:
        return not any(alive(pid) for pid in self.below)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_nothing_lives_on_after_sigkill_and_nothing_calls_the_model(folder: Path, spawned: Spawned) -> None:
    with Rehearsal(PLAY) as model:
        killed = Killed(folder, model, spawned)
        before = len(model.requests)

        killed.process.kill()

        wait_until(killed.all_gone, timeout=10, what="every process below the script to be gone")
        time.sleep(2)  # a request that was still to come would come now
        assert len(model.requests) == before
        assert not (folder / "three.txt").exists()


def test_the_next_run_resumes_the_same_session_with_every_entry_once(folder: Path, spawned: Spawned) -> None:
    with Rehearsal(PLAY) as model:
        killed = Killed(folder, model, spawned)
        session = killed.session
        killed.process.kill()
        wait_until(killed.all_gone, timeout=10)
        written = entries_of(killed.transcript().read_text())

        again = subprocess.run(
            [sys.executable, "script.py"], cwd=folder, env=script_environment(model), timeout=90, check=False
        )

        assert again.returncode == 0
        assert lineage(killed.run_dir)["steps"] == {"干活": session}
        assert lineage(killed.run_dir)["woke"] == 2
        assert_each_once(written, stored(killed.run_dir, session))
        last = told(model.requests[-1])
        assert "do the work" in last and "go on" in last and "looking" in last
        assert (folder / "three.txt").exists()
        assert rows(killed.run_dir)[-1]["ok"]


def test_the_last_line_that_the_kill_cut_off_and_a_store_that_is_behind_change_nothing(
    folder: Path, spawned: Spawned
) -> None:
    with Rehearsal(PLAY) as model:
        killed = Killed(folder, model, spawned)
        session = killed.session
        killed.process.kill()
        wait_until(killed.all_gone, timeout=10)
        written = entries_of(killed.transcript().read_text())
        with closing(sqlite3.connect(killed.run_dir / "sessions.db")) as database, database:
            database.execute("DELETE FROM entries WHERE seq >= 4")  # as if the kill had been quicker
            database.execute("UPDATE meta SET next_seq = 4")
        with killed.transcript().open("ab") as file:
            file.write('{"type": "user", "message": {"role": "user", "content": "半'.encode()[:-1])

        again = subprocess.run(
            [sys.executable, "script.py"], cwd=folder, env=script_environment(model), timeout=90, check=False
        )

        assert again.returncode == 0
        assert rows(killed.run_dir)[-1]["ok"] and rows(killed.run_dir)[-1]["session_id"] == session
        assert_each_once(written, stored(killed.run_dir, session))
        assert not list((killed.run_dir / "claude" / "projects").rglob("*.unreadable-*"))
        assert "looking" in told(model.requests[-1]) and (folder / "three.txt").exists()


def test_a_handler_of_ones_own_can_have_the_rows_written(folder: Path, spawned: Spawned) -> None:
    with Rehearsal(PLAY) as model:
        killed = Killed(folder, model, spawned, OWN_HANDLER)

        killed.process.send_signal(signal.SIGTERM)

        assert killed.process.wait(timeout=5) == 3
        (row,) = rows(killed.run_dir)
        assert (row["step"], row["error"], row["session_id"]) == ("干活", "going down", killed.session)
        wait_until(killed.all_gone, timeout=10)


def test_no_copy_of_a_login_and_no_temporary_folder_is_left(folder: Path, spawned: Spawned) -> None:
    login = Path(os.environ["CLAUDE_CONFIG_DIR"]) / ".credentials.json"
    login.write_text(
        '{"claudeAiOauth": {"accessToken": "made-up-access", "refreshToken": "made-up-refresh"}}'
    )
    with Rehearsal(PLAY) as model:
        killed = Killed(folder, model, spawned)
        killed.process.kill()
        wait_until(killed.all_gone, timeout=10)
        subprocess.run(
            [sys.executable, "script.py"], cwd=folder, env=script_environment(model), timeout=90, check=True
        )

    copies = [
        file
        for root in (folder, Path(os.environ["TMPDIR"]), Path(os.environ["HOME"]))
        for file in root.rglob("*")
        if file.is_file() and file != login and b"made-up-" in file.read_bytes()
    ]
    assert copies == []
    assert not list(Path(os.environ["TMPDIR"]).glob("claude-resume-*"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_writes_the_row_in_flight_and_really_ends_the_script(
    folder: Path, spawned: Spawned, number: signal.Signals
) -> None:
    with Rehearsal(PLAY) as model:
        killed = Killed(folder, model, spawned)

        killed.process.send_signal(number)
        code = killed.process.wait(timeout=5)

        assert code == -number
        (row,) = rows(killed.run_dir)
        assert (row["step"], row["error"], row["ok"]) == ("干活", "killed-by-signal", False)
        assert row["session_id"] == killed.session
        wait_until(killed.all_gone, timeout=10)


async def test_a_cancelled_run_leaves_no_child(folder: Path) -> None:
    with Rehearsal(PLAY) as model:
        runtime = Runtime(workspace=folder, run_dir=folder / "runs", environment=script_environment(model))
        run = asyncio.create_task(Workflow([Step("干活", handy(), "do the work")]).run(runtime))
        await eventually((folder / "started.txt").exists, timeout=30)
        below = descendants(os.getpid())

        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        runtime.close()

        assert not any(alive(pid) for pid in below)
