"""What a person orders while a step runs: words, an interrupt, a pause, the end."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from flower import Event, Resilience, Runtime, Step, Workflow
from flower.rehearsal import Fault, Rehearsal, Script, Turn
from tests.support.processes import eventually
from tests.support.runs import bash, environment, handy, lineage, play, rows, slow_once, stored, told

PLAY = play(
    Turn(text="working", calls=[slow_once("started.txt")]),
    Turn(text="finishing", calls=[bash("echo three > three.txt")]),
    Turn(text="all done"),
)
QUICK = play(
    Turn(text="working", calls=[slow_once("started.txt", seconds=3)]),
    Turn(text="finishing", calls=[bash("echo three > three.txt")]),
    Turn(text="all done"),
)


class Work:
    """A run of one step that is in the middle of its first tool call."""

    def __init__(self, folder: Path, model: Rehearsal) -> None:
        self.folder = folder
        self.model = model
        self.events: list[Event] = []
        self.runtime = Runtime(workspace=folder, run_dir=folder / "runs", environment=environment(model))
        workflow = Workflow([Step("干活", handy(), "do the work")])
        self.run = asyncio.create_task(workflow.run(self.runtime, on_event=self.events.append))

    async def in_tool(self) -> None:
        await eventually((self.folder / "started.txt").exists, timeout=30)

    async def close(self) -> None:
        self.run.cancel()
        await asyncio.gather(self.run, return_exceptions=True)
        self.runtime.close()
        self.model.close()


@pytest.fixture
async def begin(tmp_path: Path) -> AsyncIterator[object]:
    started: list[Work] = []

    async def begin(script: Script = PLAY) -> Work:
        work = Work(tmp_path / "work", Rehearsal(script).start())
        started.append(work)
        await work.in_tool()
        return work

    yield begin
    for work in started:
        await work.close()


async def test_an_interrupt_goes_on_in_the_same_session_and_is_no_attempt(begin) -> None:  # type: ignore[no-untyped-def]
    work = await begin()

    work.runtime.interrupt("先把第三步做了")
    ctx = await work.run

    (row,) = rows(work.folder / "runs")
    assert ctx.get("_failed_at") is None and row["ok"] and row["attempts"] == 1 and row["errors"] == []
    assert (work.folder / "three.txt").exists()
    last = told(work.model.requests[-1])
    assert "先把第三步做了" in last and "副作用" in last and "do the work" in last
    assert row["session_id"] == lineage(work.folder / "runs")["steps"]["干活"]


async def test_a_pause_holds_until_the_person_speaks(begin) -> None:  # type: ignore[no-untyped-def]
    work = await begin()

    work.runtime.pause()
    await eventually(lambda: any(event.kind == "result" for event in work.events))
    asked = len(work.model.requests)
    await asyncio.sleep(1)
    assert len(work.model.requests) == asked and not work.run.done()
    work.runtime.resume("接着来")
    await work.run

    assert rows(work.folder / "runs")[0]["ok"]
    assert "接着来" in told(work.model.requests[-1])


async def test_three_interrupts_in_a_row_still_end_well(begin) -> None:  # type: ignore[no-untyped-def]
    work = await begin()

    for words in ("one", "two", "three"):
        work.runtime.interrupt(words)
    await work.run

    (row,) = rows(work.folder / "runs")
    assert row["ok"] and row["attempts"] == 1
    assert all(words in told(work.model.requests[-1]) for words in ("one", "two", "three"))


async def test_a_stop_ends_the_step_and_its_row_says_who_did_it(begin) -> None:  # type: ignore[no-untyped-def]
    work = await begin()

    work.runtime.stop()
    ctx = await work.run

    (row,) = rows(work.folder / "runs")
    assert ctx["_failed_at"] == "干活"
    assert (row["ok"], row["error"]) == (False, "stopped-by-human")
    assert lineage(work.folder / "runs")["steps"] == {"干活": row["session_id"]}


async def test_a_remark_reaches_the_running_turn_at_its_next_tool_boundary(begin) -> None:  # type: ignore[no-untyped-def]
    work = await begin(QUICK)

    assert work.runtime.say("颜色用蓝的")
    await work.run

    shown = [told(request) for request in work.model.requests]
    assert rows(work.folder / "runs")[0]["num_turns"] >= 3
    first = next(number for number, text in enumerate(shown) if "颜色用蓝的" in text)
    assert first == 1, "with the result of the call that was running"


@pytest.mark.parametrize("order", ["pause", "stop"])
async def test_a_remark_that_waits_is_no_work_for_who_is_broken_off(tmp_path: Path, order: str) -> None:
    with Rehearsal(play(Turn(text="thought it over", hold="a long thought"), again=True)) as model:
        events: list[Event] = []
        runtime = Runtime(workspace=tmp_path / "w", run_dir=tmp_path / "r", environment=environment(model))
        run = asyncio.create_task(runtime.run(handy(), "do the work", on_event=events.append))
        await eventually(lambda: model.requests, timeout=30)
        runtime.say("颜色用蓝的")
        getattr(runtime, order)()
        await eventually(lambda: [each.kind for each in events].count("result") == 2, timeout=8)
        assert "text" not in [each.kind for each in events]
        if order == "pause":
            model.release("a long thought")
            runtime.resume("接着来")
        result = await run
        runtime.close()

    assert result.session_id is not None and result.ok is (order == "pause")
    assert "颜色用蓝的" in json.dumps(stored(tmp_path / "r", result.session_id), ensure_ascii=False)


async def test_a_remark_between_runs_goes_with_the_next_prompt(tmp_path: Path) -> None:
    with Rehearsal(play(Turn(text="fine"), again=True)) as model:
        runtime = Runtime(workspace=tmp_path / "w", run_dir=tmp_path / "r", environment=environment(model))
        assert not runtime.say("还有一句")
        await runtime.run(handy(), "go")
        runtime.close()

        assert "还有一句" in told(model.requests[-1])


async def test_a_remark_at_the_very_moment_of_a_stop_is_kept_for_the_next_step(begin) -> None:  # type: ignore[no-untyped-def]
    work = await begin()

    work.runtime.stop()
    assert work.runtime.say("too late for this one")
    await work.run

    assert work.runtime.take_mail() == ["too late for this one"]


@pytest.mark.parametrize("words", ["/clear", "/compact now", " /exit"])
async def test_words_that_look_like_a_command_of_the_cli_are_words(tmp_path: Path, words: str) -> None:
    with Rehearsal(play(Turn(text="fine"), again=True)) as model:
        runtime = Runtime(workspace=tmp_path / "w", run_dir=tmp_path / "r", environment=environment(model))
        first = await runtime.run(handy(), "remember this")
        second = await runtime.run(handy(), words, resume=first.session_id)
        runtime.close()

        assert second.session_id == first.session_id and second.text == "fine"
        last = told(model.requests[-1])
        assert words.strip() in last and "remember this" in last


async def test_two_interrupts_and_a_stop_at_the_same_moment_end_the_run_at_once(begin) -> None:  # type: ignore[no-untyped-def]
    work = await begin()

    began = asyncio.get_running_loop().time()
    work.runtime.pause()
    work.runtime.pause()
    work.runtime.stop()
    await work.run

    assert asyncio.get_running_loop().time() - began < 20, (
        "an unanswered interrupt would be waited for a minute"
    )
    assert rows(work.folder / "runs")[0]["error"] == "stopped-by-human"


async def test_an_interrupt_from_another_thread_keeps_the_session_and_is_no_attempt(begin) -> None:  # type: ignore[no-untyped-def]
    work = await begin()
    session = lineage(work.folder / "runs")["steps"]["干活"]

    await asyncio.to_thread(work.runtime.interrupt, "from elsewhere")
    await work.run

    (row,) = rows(work.folder / "runs")
    assert (row["ok"], row["attempts"], row["errors"], row["session_id"]) == (True, 1, [], session)
    assert "from elsewhere" in told(work.model.requests[-1])


async def test_nobody_listens_for_a_session_any_more_when_a_run_is_over(tmp_path: Path) -> None:
    with Rehearsal(play(Turn(text="fine"), again=True)) as model:
        runtime = Runtime(workspace=tmp_path / "w", run_dir=tmp_path / "r", environment=environment(model))
        await Workflow([Step("干活", handy(), "work")]).run(runtime)
        assert runtime.on_session is None
        before = lineage(tmp_path / "r")

        await runtime.run(handy(), "a session of nobody's")
        runtime.close()

    assert lineage(tmp_path / "r") == before


@pytest.mark.parametrize("problem", [RuntimeError, asyncio.CancelledError, GeneratorExit])
async def test_what_a_subscriber_raises_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, problem: type[BaseException]
) -> None:
    def fail(event: Event) -> None:
        raise problem("a broken screen")

    script = play(
        Turn(text="first", calls=[bash("echo one > one.txt")]),
        Turn(text="second", faults=[Fault(status=500)], calls=[bash("echo two > two.txt")]),
        Turn(text="fine"),
    )
    with Rehearsal(script) as model:
        runtime = Runtime(
            workspace=tmp_path / "w",
            run_dir=tmp_path / "r",
            environment=environment(model, CLAUDE_CODE_MAX_RETRIES="0"),
            resilience=Resilience(base_delay=0.1, max_delay=0.1),
        )
        result = await runtime.run(handy(), "go", on_event=fail)
        runtime.close()

    assert result.ok and result.attempts == 2 and result.text.endswith("fine")
    for kind in ("system", "text", "tool_call", "tool_result", "error", "retry", "result"):
        assert f"a subscriber failed on an event of kind {kind}" in caplog.text
    assert "a broken screen" in caplog.text
