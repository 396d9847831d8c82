"""How often a step is tried, what is said to whom then, and what follows when it is given up."""

import copy
from typing import Any

import pytest

from flower import Step, StepAbort, StepResult, Workflow
from tests.unit.workflow.scripted import TERSE, Answer, Asked, Folder, ScriptedRuntime

BAD = Answer(ok=False)


def step(name: str = "干活", **options: Any) -> Step:
    return Step(name, TERSE, **{"prompt": "work", "resume_prompt": "go on"} | options)


class Gate:
    """Lets pass as it is told, and counts how often it was asked."""

    def __init__(self, *verdicts: bool) -> None:
        self.verdicts = list(verdicts)
        self.asked: list[str] = []

    def __call__(self, result: StepResult, ctx: dict[str, Any]) -> bool:
        self.asked.append(result.step)
        return self.verdicts.pop(0)


# ---------------------------------------------------------------- the gate


async def test_a_gate_is_asked_once_an_attempt(folder: Folder) -> None:
    gate = Gate(False, False, True)

    ctx = await folder.run(step(retries=4, gate=gate))

    assert gate.asked == ["干活", "干活#retry1", "干活#retry2"]
    assert ctx.get("_failed_at") is None


async def test_a_gate_is_not_asked_about_what_failed_by_itself(folder: Folder) -> None:
    gate = Gate(True)

    await folder.run(step(retries=1, gate=gate), answers=(BAD, Answer()))

    assert gate.asked == ["干活#retry1"]


async def test_gate_and_rejection_and_condition_may_be_coroutines(folder: Folder) -> None:
    verdicts = [False, True]

    async def gate(result: StepResult, ctx: dict[str, Any]) -> bool:
        return verdicts.pop(0)

    async def on_reject(result: StepResult, ctx: dict[str, Any]) -> str:
        return "more"

    async def never(ctx: dict[str, Any]) -> bool:
        return False

    await folder.run(step(gate=gate, on_reject=on_reject, retries=1), step("二", when=never))

    assert [(each.step, each.prompt) for each in folder.asked] == [("干活", "work"), ("干活#round2", "more")]


async def test_what_a_gate_rejects_did_not_end_well_and_the_row_says_so(folder: Folder) -> None:
    ctx = await folder.run(step(retries=1, gate=Gate(False, False)))

    assert [(row["step"], row["ok"], row["error"]) for row in folder.rows] == [
        ("干活", False, "rejected"),
        ("干活#retry1", False, "rejected"),
    ]
    assert ctx["_failed_at"] == "干活" and "干活" not in ctx


# ---------------------------------------------------------------- another attempt


async def test_a_rejected_session_is_told_what_is_missing_and_the_rounds_are_counted_from_two(
    folder: Folder,
) -> None:
    ctx = await folder.run(
        step(
            retries=2,
            gate=Gate(False, False, True),
            on_reject=lambda result, ctx: f"{result.step}: more",
        )
    )

    session = ctx["_sessions"]["干活"]
    assert folder.asked == [
        Asked("干活", "work", None, False),
        Asked("干活#round2", "干活: more", session, False),
        Asked("干活#round3", "干活#round2: more", session, False),
    ]


async def test_without_words_for_it_the_next_attempt_is_the_first_once_more(folder: Folder) -> None:
    await folder.run(step(retries=1), answers=(BAD, Answer()))

    assert folder.asked == [Asked("干活", "work", None, False), Asked("干活#retry1", "work", None, False)]


@pytest.mark.parametrize("words", ["", None])
async def test_a_rejection_without_words_starts_over(folder: Folder, words: object) -> None:
    await folder.run(step(retries=1, gate=Gate(False, True), on_reject=lambda *_: words))

    assert folder.asked[1] == Asked("干活#retry1", "work", None, False)


async def test_a_failure_by_itself_is_no_rejection_and_starts_over(folder: Folder) -> None:
    await folder.run(step(retries=1, on_reject=lambda *_: "more"), answers=(BAD, Answer()))

    assert folder.asked[1] == Asked("干活#retry1", "work", None, False)


async def test_another_attempt_in_a_named_session_is_made_there_too(folder: Folder) -> None:
    ctx = await folder.run(
        step("一"), step("二", resume_from="一", fork=True, retries=1), answers=(Answer(), BAD, Answer())
    )

    first = ctx["_sessions"]["一"]
    assert folder.asked[1:] == [Asked("二", "work", first, True), Asked("二#retry1", "work", first, True)]


async def test_a_copy_that_is_sent_back_is_not_copied_again(folder: Folder) -> None:
    ctx = await folder.run(
        step("一"),
        step(
            "二", resume_from="一", fork=True, retries=1, gate=Gate(False, True), on_reject=lambda *_: "more"
        ),
    )

    assert folder.asked[2] == Asked("二#round2", "more", ctx["_sessions"]["二"], False)
    assert ctx["_sessions"]["二"] != ctx["_sessions"]["一"]


async def test_retries_are_beyond_the_first_attempt_and_none_by_default(folder: Folder) -> None:
    await folder.run(step(), answers=(BAD,))
    assert [each.step for each in folder.asked] == ["干活"]

    await folder.run(step(retries=2), answers=(BAD, BAD, BAD), continuous=False)
    assert [each.step for each in folder.asked] == ["干活", "干活#retry1", "干活#retry2"]


# ---------------------------------------------------------------- what is sent


async def test_what_goes_on_is_sent_its_own_words_not_the_first_ones_again(folder: Folder) -> None:
    await folder.run(step())
    await folder.run(step())

    assert [each.prompt for each in folder.asked] == ["go on"]


async def test_without_words_to_go_on_with_the_first_ones_are_sent(folder: Folder) -> None:
    await folder.run(step(resume_prompt=None))
    await folder.run(step(resume_prompt=None))

    assert [each.prompt for each in folder.asked] == ["work"]


async def test_within_a_run_the_first_words_are_sent_even_in_anothers_session(folder: Folder) -> None:
    for _ in range(2):
        await folder.run(step("一"), step("二", resume_from="一"))

    assert [each.prompt for each in folder.asked] == ["go on", "work"]


async def test_words_may_be_made_of_what_is_known_by_then(folder: Folder) -> None:
    asks = step("二", prompt=lambda ctx: f"after {ctx['一']}", resume_prompt=lambda ctx: f"on, {ctx['一']}")

    await folder.run(step("一"), asks, answers=(Answer("one"), Answer()))
    assert folder.asked[1].prompt == "after one"

    await folder.run(step("一"), asks, answers=(Answer("two"), Answer()))
    assert folder.asked[1].prompt == "on, two"


def test_a_step_renders_what_it_would_send() -> None:
    assert (step().render({}), step().render({}, resuming=True)) == ("work", "go on")
    assert step(resume_prompt=None).render({}, resuming=True) == "work"
    assert step(resume_prompt="").render({}, resuming=True) == ""


# ---------------------------------------------------------------- the end of it


@pytest.mark.parametrize(
    ("on_fail", "goes_on", "kept"), [("stop", False, None), ("skip", True, None), ("continue", True, "half")]
)
async def test_a_step_given_up_ends_skips_or_counts_as_passed(
    folder: Folder, on_fail: str, goes_on: bool, kept: str | None
) -> None:
    given_up = step("一", on_fail=on_fail, reduce=lambda result: result.text.upper())

    ctx = await folder.run(given_up, step("二"), answers=(Answer("half", ok=False), Answer()))

    assert ctx.get("一") == kept
    assert ("二" in ctx) is goes_on
    assert ctx.get("_failed_at") == (None if goes_on else "一")
    assert ctx["_results"]["一"].error == "it went wrong"


async def test_an_abort_takes_no_further_attempt_and_then_what_the_step_says_follows(folder: Folder) -> None:
    def gate(*_: object) -> bool:
        raise StepAbort("nobody there")

    ctx = await folder.run(step("一", retries=5, gate=gate, on_fail="skip"), step("二"))

    assert [each.step for each in folder.asked] == ["一", "二"]
    assert (ctx["_aborted"], ctx.get("_failed_at")) == ("nobody there", None)
    assert folder.rows[0]["error"] == "nobody there"


@pytest.mark.parametrize("reason", ["stopped-by-human", "killed-by-signal", "interrupted-by-human"])
async def test_what_a_person_or_a_signal_ended_is_not_tried_again(folder: Folder, reason: str) -> None:
    class Ended(ScriptedRuntime):
        async def run(self, *args: Any, **options: Any) -> StepResult:
            result = await super().run(*args, **options)
            result.ok, result.error = False, reason
            return result

    runtime = Ended(folder.workspace, folder.run_dir)
    ctx = await Workflow([step(retries=3)]).run(runtime)
    runtime.close()

    assert [each.step for each in runtime.asked] == ["干活"]
    assert ctx["_failed_at"] == "干活"


async def test_a_step_is_the_same_afterwards_and_can_be_taken_again(folder: Folder) -> None:
    declared = step(retries=1, gate=lambda result, ctx: "#" in result.step, on_reject=lambda *_: "more")
    before = copy.copy(declared)

    for _ in range(2):
        await folder.run(declared, continuous=False)
        assert [each.step for each in folder.asked] == ["干活", "干活#round2"]

    assert declared == before
