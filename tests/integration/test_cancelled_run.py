"""A run is cancelled, timed out, or loses its event loop: whenever that is, nothing of it lives on."""

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from flower import Runtime, Step, Workflow
from flower.rehearsal import Rehearsal, Turn
from tests.support.processes import Spawned, alive, descendants, eventually, wait_until
from tests.support.runs import bash, environment, handy, play, rows, script_environment

WORK = play(
    *[
        Turn(text=f"part {number}", calls=[bash(f"python3 -c 'import time; time.sleep(0.3)'; echo {number}")])
        for number in range(4)
    ],
    Turn(text="all done"),
    again=True,
)
ENDLESS = play(
    Turn(text="working", calls=[bash("echo started > started.txt; python3 -c 'import time; time.sleep(60)'")])
)


def standing_in(folder: Path) -> list[int]:
    """Every process whose folder is this one: launchers, CLIs, and their commands."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()) == folder.resolve():
                found.append(process.pid)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


async def test_cancelled_at_ten_different_moments_no_child_is_left_and_each_row_is_written(
    tmp_path: Path,
) -> None:
    # From before the child is there to after its last word, and other moments each time this is run.
    moments = [(tenth + random.random()) * 0.25 for tenth in range(10)]
    few = asyncio.Semaphore(3)

    async def cancel_after(moment: float, folder: Path, model: Rehearsal) -> None:
        async with few:
            runtime = Runtime(workspace=folder / "w", run_dir=folder / "r", environment=environment(model))
            run = asyncio.create_task(Workflow([Step("干活", handy(), "do the work")]).run(runtime))
            await asyncio.sleep(moment)
            run.cancel()
            (ended,) = await asyncio.gather(run, return_exceptions=True)
            assert standing_in(folder / "w") == [], f"cancelled after {moment:.2f} s"
            await runtime.aclose()
        (row,) = rows(folder / "r")
        over = not isinstance(ended, asyncio.CancelledError)
        assert (row["ok"], row["error"]) == (over, None if over else "interrupted-by-human"), moment

    with Rehearsal(WORK) as model:
        await asyncio.gather(*(cancel_after(each, tmp_path / f"{each:.3f}", model) for each in moments))


async def test_a_run_that_takes_too_long_is_over_when_wait_for_returns(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    with Rehearsal(ENDLESS) as model:
        runtime = Runtime(workspace=folder, run_dir=tmp_path / "r", environment=environment(model))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(Workflow([Step("干活", handy(), "do the work")]).run(runtime), timeout=1.5)
        assert standing_in(folder) == []
        runtime.close()


async def test_cancelled_twice_it_still_waits_for_its_child_to_end(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    with Rehearsal(ENDLESS) as model:
        runtime = Runtime(workspace=folder, run_dir=tmp_path / "r", environment=environment(model))
        run = asyncio.create_task(Workflow([Step("干活", handy(), "do the work")]).run(runtime))
        await eventually((folder / "started.txt").exists, timeout=30)

        run.cancel()
        await asyncio.sleep(0)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)

        assert run.cancelled() and standing_in(folder) == []
        runtime.close()


SCRIPT = """
import asyncio, sys, time
from pathlib import Path
from flower import AgentSpec, Runtime, Step, Workflow
spec = AgentSpec("handy", "Do what you are told.", allowed_tools=["Bash"], permission_mode="acceptEdits")
async def main():
    rt = Runtime(workspace="w", run_dir="r")
    run = asyncio.create_task(Workflow([Step("干活", spec, "do the work")]).run(rt))
    while not Path("w/started.txt").exists():
        await asyncio.sleep(0.02)
    if sys.argv[1] == "stops":
        asyncio.get_running_loop().stop()
        await asyncio.sleep(60)
try:
    asyncio.run(main())
except RuntimeError:
    pass
Path("over").touch()
time.sleep(60)
"""


@pytest.mark.parametrize("how", ["returns", "stops"])
def test_a_loop_that_ends_under_a_run_takes_the_child_along(
    tmp_path: Path, spawned: Spawned, how: str
) -> None:
    with Rehearsal(ENDLESS) as model:
        script = spawned.start(
            [sys.executable, "-c", SCRIPT, how],
            cwd=tmp_path,
            env=script_environment(model),
            stderr=subprocess.DEVNULL,
        )
        wait_until((tmp_path / "over").exists, timeout=40, what="the loop to end")

        wait_until(lambda: not standing_in(tmp_path / "w"), timeout=10)
        assert alive(script.pid) and descendants(script.pid) == []
        assert [row["ok"] for row in rows(tmp_path / "r")] == [False]


def test_a_loop_that_ends_under_a_run_leaves_a_row_that_says_why(tmp_path: Path) -> None:
    runs = []

    async def begin(model: Rehearsal) -> None:
        runtime = Runtime(workspace=tmp_path / "w", run_dir=tmp_path / "r", environment=environment(model))
        flow = Workflow([Step("干活", handy(), "do the work")])
        runs.append(asyncio.create_task(flow.run(runtime)))  # the loop's own end cancels it
        await eventually((tmp_path / "w" / "started.txt").exists, timeout=30)

    with Rehearsal(ENDLESS) as model:
        asyncio.run(begin(model))
    (row,) = rows(tmp_path / "r")
    assert (row["ok"], row["error"]) == (False, "interrupted-by-human")
