"""Steps in order on the real CLI: gates, retries, two runs that want one session, and what the manifest says of it."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from flower import Event, Runtime, Step, StepAbort, StepResult, Workflow
from flower.core.lineage import Lineage
from flower.rehearsal import Rehearsal, Scene, Script, Turn
from flower.workflow.base import Ctx
from tests.support.runs import bash, environment, handy, lineage, play, rows, told

TALK = play(Turn(text="done"), again=True)


@pytest.fixture
def model():  # type: ignore[no-untyped-def]
    with Rehearsal(TALK) as endpoint:
        yield endpoint


class Place:
    def __init__(self, folder: Path, model: Rehearsal) -> None:
        self.folder = folder
        self.run_dir = folder / "runs"
        self.model = model
        self.events: list[Event] = []

    def runtime(self) -> Runtime:
        return Runtime(workspace=self.folder / "w", run_dir=self.run_dir, environment=environment(self.model))

    async def run(self, *steps: Step, **options: object) -> dict[str, object]:
        runtime = self.runtime()
        try:
            return await Workflow(list(steps), **options).run(runtime, on_event=self.events.append)  # type: ignore[arg-type]
        finally:
            runtime.close()


@pytest.fixture
def place(tmp_path: Path, model: Rehearsal) -> Place:
    return Place(tmp_path, model)


async def test_a_rejected_result_goes_back_to_the_same_session_with_what_is_missing(place: Place) -> None:
    verdicts = iter([False, False, True])
    step = Step(
        "干活",
        handy(),
        "work",
        retries=2,
        gate=lambda *_: next(verdicts),
        on_reject=lambda *_: "still missing: tests",
    )

    ctx = await place.run(step)

    written = [(row["step"], row["ok"], row["error"]) for row in rows(place.run_dir)]
    assert written == [
        ("干活", False, "rejected"),
        ("干活#round2", False, "rejected"),
        ("干活#round3", True, None),
    ]
    assert len({row["session_id"] for row in rows(place.run_dir)}) == 1
    assert told(place.model.requests[-1]).count("still missing: tests") == 2
    assert ctx.get("_failed_at") is None and ctx["干活"] == "done"
    assert set(lineage(place.run_dir)["steps"]) == {"干活"}


async def test_without_words_a_retry_starts_from_scratch(place: Place) -> None:
    verdicts = iter([False, True])

    await place.run(
        Step("干活", handy(), "work", retries=1, gate=lambda *_: next(verdicts)), continuous=False
    )

    written = rows(place.run_dir)
    assert [row["step"] for row in written] == ["干活", "干活#retry1"]
    assert written[0]["session_id"] != written[1]["session_id"]


async def test_a_rejected_retry_carries_nothing_of_the_session_that_was_continued_either(
    place: Place,
) -> None:
    verdicts = iter([False, True])
    await place.run(Step("干活", handy(), "the whole request", resume_prompt="go on"))
    continued = lineage(place.run_dir)["steps"]["干活"]

    again = Step(
        "干活",
        handy(),
        "the whole request",
        resume_prompt="go on",
        retries=1,
        gate=lambda *_: next(verdicts),
    )
    await place.run(again)

    rejected, retry = rows(place.run_dir)[1:]
    assert (rejected["session_id"], rejected["error"]) == (continued, "rejected")
    assert (retry["step"], retry["ok"]) == ("干活#retry1", True) and retry["session_id"] != continued
    last = told(place.model.requests[-1])
    assert "the whole request" in last and "go on" not in last
    assert lineage(place.run_dir)["steps"]["干活"] == retry["session_id"]


async def test_a_retry_of_what_only_failed_goes_on_in_the_session_that_was_continued(tmp_path: Path) -> None:
    script = play(Turn(text="done"), Turn(calls=[bash("echo one")], times=2), Turn(text="done too"))
    with Rehearsal(script) as model:
        place = Place(tmp_path, model)
        await place.run(Step("干活", handy(), "the whole request", resume_prompt="go on"))
        hurried = replace(handy(), max_turns=1)
        await place.run(Step("干活", hurried, "the whole request", resume_prompt="go on", retries=1))

    first, failed, retry = rows(place.run_dir)
    assert (failed["ok"], retry["step"]) == (False, "干活#retry1") and failed["error"] != "rejected"
    assert first["session_id"] == failed["session_id"] == retry["session_id"]


async def test_an_abort_in_a_gate_takes_no_further_try(place: Place) -> None:
    def gate(result: StepResult, ctx: dict[str, object]) -> bool:
        assert ctx["_runtime"].on_session is None, "a judge's session must not be taken for the step's"  # type: ignore[attr-defined]
        raise StepAbort("nobody there")

    ctx = await place.run(Step("干活", handy(), "work", retries=5, gate=gate))

    assert (ctx["_aborted"], ctx["_failed_at"]) == ("nobody there", "干活")
    assert [(row["step"], row["error"]) for row in rows(place.run_dir)] == [("干活", "nobody there")]


async def test_a_step_may_go_on_in_anothers_session_or_in_a_copy_of_it(place: Place) -> None:
    ctx = await place.run(
        Step("一", handy(), "first"),
        Step("二", handy(), "second", resume_from="一"),
        Step("三", handy(), "third", resume_from="一", fork=True),
    )

    sessions = ctx["_sessions"]
    assert isinstance(sessions, dict)
    assert sessions["一"] == sessions["二"] != sessions["三"]
    assert all(words in told(place.model.requests[-1]) for words in ("first", "second", "third"))
    assert rows(place.run_dir)[2]["cost_usd"] == pytest.approx(rows(place.run_dir)[1]["cost_usd"], rel=0.5)


async def test_a_session_to_go_on_in_that_does_not_exist_is_an_error_that_says_so(place: Place) -> None:
    with pytest.raises(ValueError, match="没有产生 session"):
        await place.run(Step("二", handy(), "second", resume_from="一"))


@pytest.mark.parametrize(
    ("on_fail", "reached", "kept"), [("stop", False, False), ("skip", True, False), ("continue", True, True)]
)
async def test_what_follows_a_failure_is_as_the_step_says(
    place: Place, on_fail: str, reached: bool, kept: bool
) -> None:
    ctx = await place.run(
        Step("一", handy(), "first", gate=lambda *_: False, on_fail=on_fail),  # type: ignore[arg-type]
        Step("二", handy(), "second", when=lambda _: True),
        Step("三", handy(), "third", when=lambda _: False),
    )

    assert ("二" in ctx, "一" in ctx, "三" in ctx) == (reached, kept, False)
    assert (ctx.get("_failed_at") == "一") is not reached


async def test_of_two_runs_that_want_one_session_the_second_begins_a_new_one_and_says_so(
    place: Place,
) -> None:
    await place.run(Step("干活", handy(), "work"))
    session = lineage(place.run_dir)["steps"]["干活"]
    first = place.runtime()
    assert first.claim(session)

    ctx = await place.run(Step("干活", handy(), "again"))
    first.close()

    assert ctx["_sessions"] != {"干活": session}
    assert any("另开一段新的" in event.text for event in place.events if event.kind == "notice")


@pytest.mark.parametrize("what", ["moved", "no store", "damaged"])
async def test_what_cannot_be_picked_up_is_one_quiet_line_and_a_fresh_start(place: Place, what: str) -> None:
    await place.run(Step("干活", handy(), "work"))
    before = lineage(place.run_dir)["steps"]
    if what == "moved":
        Lineage(place.run_dir / "lineage.json", place.folder / "elsewhere").remember("干活", "x")
    elif what == "no store":
        for file in place.run_dir.glob("sessions.db*"):
            file.unlink()
    else:
        (place.run_dir / "lineage.json").write_text("{")
    place.events.clear()

    ctx = await place.run(Step("干活", handy(), "again"))

    assert ctx.get("_failed_at") is None and ctx["_sessions"] != before
    lines = [event.text for event in place.events if event.kind == "notice"]
    assert len(lines) == 1 and "从头开始" in lines[0]


async def test_a_stop_while_the_child_comes_up_sends_nothing(tmp_path: Path) -> None:
    script = Script(scenes=[Scene(name="never", role="main", turns=[Turn(text="never")])])
    with Rehearsal(script) as model:
        place = Place(tmp_path, model)
        runtime = place.runtime()
        workflow = Workflow([Step("干活", handy(), "work")])

        def stop_at_once(event: Event) -> None:
            if event.kind == "step":
                asyncio.get_running_loop().call_later(0.1, runtime.stop)

        ctx = await workflow.run(runtime, on_event=stop_at_once)
        runtime.close()

        assert ctx["_failed_at"] == "干活"
        assert rows(place.run_dir)[0]["error"] == "stopped-by-human"
        assert model.requests == []


async def test_a_session_that_was_cut_before_its_first_words_is_begun_anew(tmp_path: Path) -> None:
    """The CLI notes that it takes a prompt before it writes the prompt; killed in between it can't resume."""
    with Rehearsal(TALK) as model:
        place = Place(tmp_path, model)

        async def wake() -> Ctx:
            runtime = place.runtime()
            try:
                return await Workflow([Step("work", handy(), "work")]).run(runtime)
            finally:
                runtime.close()

        await wake()
        before = lineage(place.run_dir)["steps"]["work"]
        with closing(sqlite3.connect(place.run_dir / "sessions.db")) as database, database:
            database.execute("DELETE FROM entries WHERE seq >= 2")
            database.execute("UPDATE meta SET next_seq = 2")

        ctx = await asyncio.wait_for(wake(), timeout=20)

    assert ctx.get("_failed_at") is None
    assert lineage(place.run_dir)["steps"]["work"] != before
