"""On the real CLI: when an id is on disk, what a copy leaves alone, what Ctrl-C leaves, and when a step is given up."""

import signal
import sqlite3
import sys
from pathlib import Path

from flower import Event, Resilience, Runtime, Step, Workflow, starter_flow
from flower.rehearsal import Fault, Rehearsal, Turn
from tests.support.processes import Spawned, alive, descendants, wait_until
from tests.support.runs import (
    bash,
    crew,
    environment,
    handy,
    lineage,
    play,
    rows,
    script_environment,
    settle,
    slow_once,
    stored,
    told,
)

SCRIPT = """
import asyncio, signal
from flower import AgentSpec, Runtime, Step, Workflow
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever starts us may have it ignored
spec = AgentSpec("handy", "Do what you are told.", allowed_tools=["Bash", "Read"], permission_mode="acceptEdits")
async def main():
    rt = Runtime(workspace=".", run_dir="runs")
    try:
        await Workflow([Step("干活", spec, "do the work", resume_prompt="go on")]).run(rt)
    finally:
        rt.close()
asyncio.run(main())
"""


def runtime(folder: Path, model: Rehearsal, **options: object) -> Runtime:
    quick = {"CLAUDE_CODE_MAX_RETRIES": "0"}
    return Runtime(
        workspace=folder / "work",
        run_dir=folder / "runs",
        environment=environment(model, **quick),
        **options,  # type: ignore[arg-type]
    )


async def test_the_id_is_on_disk_by_the_models_first_word(tmp_path: Path) -> None:
    seen: list[object] = []

    def look(event: Event) -> None:
        if event.kind == "text":
            seen.append(lineage(tmp_path / "runs")["steps"])

    with Rehearsal(play(Turn(text="looking", calls=[bash("pwd")]), Turn(text="done"))) as model:
        run = runtime(tmp_path, model)
        ctx = await Workflow([Step("干活", handy(), "work")]).run(run, on_event=look)
        run.close()

    assert seen == [ctx["_sessions"]] * 2
    assert lineage(tmp_path / "runs")["steps"] == ctx["_sessions"]


async def test_a_copy_leaves_the_original_as_it_was(tmp_path: Path) -> None:
    with Rehearsal(play(Turn(text="done"), again=True)) as model:
        run = runtime(tmp_path, model)
        original = await run.run(handy(), "the first words")
        assert original.session_id is not None
        before = stored(tmp_path / "runs", original.session_id)
        copy = await run.run(handy(), "the other words", resume=original.session_id, fork=True)
        run.close()
        shown = told(model.requests[-1])

    assert copy.session_id not in (None, original.session_id)
    assert "the first words" in shown and "the other words" in shown
    assert stored(tmp_path / "runs", original.session_id) == before


def test_ctrl_c_in_a_script_leaves_no_child_and_the_lineage_of_what_ran(
    tmp_path: Path, spawned: Spawned
) -> None:
    script = play(Turn(text="working", calls=[slow_once("started.txt")]), Turn(text="done"))
    (tmp_path / "script.py").write_text(SCRIPT)
    with Rehearsal(script) as model, (tmp_path / "stderr").open("w") as stderr:
        process = spawned.start(
            [sys.executable, "script.py"], cwd=tmp_path, env=script_environment(model), stderr=stderr
        )
        wait_until((tmp_path / "started.txt").exists, timeout=30, what="the tool call")
        below = descendants(process.pid)
        session = lineage(tmp_path / "runs")["steps"]["干活"]

        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=20)

    assert code == -signal.SIGINT
    assert (tmp_path / "stderr").read_text().rstrip().endswith("KeyboardInterrupt")
    assert lineage(tmp_path / "runs")["steps"] == {"干活": session}
    assert stored(tmp_path / "runs", session)
    assert [(row["ok"], row["error"]) for row in rows(tmp_path / "runs")] == [(False, "interrupted-by-human")]
    wait_until(lambda: not any(alive(pid) for pid in below), timeout=10, what="every child to be gone")


async def test_the_attempts_that_are_promised_include_the_first(tmp_path: Path) -> None:
    policy = Resilience(max_attempts=2, base_delay=0.1, max_delay=0.2, probe_interval=0.1)
    with Rehearsal(play(Turn(text="never", faults=[Fault(status=500, forever=True)]))) as model:
        run = runtime(tmp_path, model, resilience=policy)
        result = await run.run(handy(), "work", step_name="干活")
        run.close()
        answered = len(model.requests)

    assert (result.ok, result.attempts, answered) == (False, 2, 2)
    [row] = rows(tmp_path / "runs")
    assert (row["step"], row["attempts"], row["error"]) == ("干活", 2, result.error)


async def test_a_subagents_transcript_is_stored_apart_below_its_session(tmp_path: Path) -> None:
    with Rehearsal(crew(Turn(text="working", calls=[bash("echo one > one.txt")]))) as model:
        run = runtime(tmp_path, model)
        workspace = settle(tmp_path / "work")
        flow = starter_flow("写个脚本", workspace=workspace, run_dir=tmp_path / "runs", goal=False)
        ctx = await flow.run(run)
        session = ctx["_sessions"]["干活"]
        main = f"{run.project_key}/{session}"
        run.close()

    with sqlite3.connect(tmp_path / "runs" / "sessions.db") as database:
        keys = [key for (key,) in database.execute("SELECT DISTINCT store_key FROM entries ORDER BY 1")]
    database.close()
    assert keys[0] == main
    assert len(keys) == 3 and all(key.startswith(f"{main}/subagents/agent-") for key in keys[1:])
    assert not [entry for entry in stored(tmp_path / "runs", session) if entry.get("isSidechain")]
    assert (tmp_path / "work" / "one.txt").exists()
