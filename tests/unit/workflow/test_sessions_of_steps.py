"""Which session a step goes on in: within one run, from one process to the next, and what is on disk of it when."""

import pytest

from flower import Lineage, Step, StepResult, Workflow
from tests.unit.workflow.scripted import TERSE, Answer, Asked, Folder, ScriptedRuntime


def step(name: str, **options: object) -> Step:
    return Step(name, TERSE, f"{name}, please", **options)  # type: ignore[arg-type]


async def test_within_a_run_each_step_has_a_session_of_its_own(folder: Folder) -> None:
    ctx = await folder.run(step("一"), step("二"))

    assert folder.asked == [Asked("一", "一, please", None, False), Asked("二", "二, please", None, False)]
    assert ctx["_sessions"]["一"] != ctx["_sessions"]["二"]


async def test_in_the_next_process_a_step_has_the_session_it_had(folder: Folder) -> None:
    first = await folder.run(step("一"), step("二"))
    second = await folder.run(step("一"), step("二"))

    assert [each.resume for each in folder.asked] == [first["_sessions"]["一"], first["_sessions"]["二"]]
    assert second["_sessions"] == first["_sessions"]
    assert (first["_woke"], second["_woke"]) == (1, 2)


async def test_a_step_that_names_another_goes_on_in_that_ones_session_of_this_run(folder: Folder) -> None:
    ctx = await folder.run(step("一"), step("二", resume_from="一"))

    assert folder.asked[1] == Asked("二", "二, please", ctx["_sessions"]["一"], False)


async def test_a_step_that_names_another_follows_it_in_every_process_not_its_own_lineage(
    folder: Folder,
) -> None:
    steps = step("一"), step("二", resume_from="一", fork=True)
    first = await folder.run(*steps)
    assert first["_sessions"]["二"] != first["_sessions"]["一"]

    await folder.run(*steps)

    assert folder.asked[1] == Asked("二", "二, please", first["_sessions"]["一"], True)


async def test_a_step_that_names_one_left_out_this_time_goes_on_where_that_one_was(folder: Folder) -> None:
    first = await folder.run(step("一"))

    await folder.run(step("一", when=lambda _: False), step("二", resume_from="一"))

    assert folder.asked == [Asked("二", "二, please", first["_sessions"]["一"], False)]


async def test_without_continuity_every_process_starts_clean_and_leaves_no_lineage(folder: Folder) -> None:
    for _ in range(2):
        ctx = await folder.run(step("一"), continuous=False)
        assert folder.asked == [Asked("一", "一, please", None, False)]

    assert "_woke" not in ctx and "_lineage" not in ctx
    assert not (folder.run_dir / "lineage.json").exists()


async def test_a_run_without_continuity_leaves_the_lineage_of_others_as_it_was(folder: Folder) -> None:
    await folder.run(step("一"))
    before = (folder.run_dir / "lineage.json").read_bytes()

    await folder.run(step("一"), continuous=False)

    assert (folder.run_dir / "lineage.json").read_bytes() == before


def test_continuity_is_on_unless_it_is_turned_off() -> None:
    assert Workflow([]).continuous is True


async def test_a_renamed_step_begins_anew_without_a_word(folder: Folder) -> None:
    await folder.run(step("干活"))

    ctx = await folder.run(step("做事"))

    assert folder.asked == [Asked("做事", "做事, please", None, False)]
    assert folder.notices() == [] and ctx.get("_failed_at") is None


async def test_only_living_sessions_are_taken_up(folder: Folder) -> None:
    first = await folder.run(step("一"), step("二"))
    Lineage.open(folder.run_dir, folder.workspace).remember("二", "gone")

    await folder.run(step("一"), step("二"))

    assert [each.resume for each in folder.asked] == [first["_sessions"]["一"], None]


async def test_of_several_sessions_of_a_step_the_last_is_taken_up(folder: Folder) -> None:
    await folder.run(step("一"), answers=(Answer(sessions=["first", "second"]),))
    assert folder.lineage["steps"] == {"一": "second"}

    await folder.run(step("一"))

    assert folder.asked[0].resume == "second"


async def test_a_session_is_on_disk_while_its_step_runs(folder: Folder) -> None:
    seen: list[object] = []
    look = Answer(sessions=["known"], during=lambda: seen.append(folder.lineage["steps"]))

    await folder.run(step("一"), answers=(look,))

    assert seen == [{"一": "known"}]


async def test_a_step_that_breaks_off_is_taken_up_where_it_was(folder: Folder) -> None:
    breaks = Answer(sessions=["known"], raises=KeyError("a bug"))
    runtime = ScriptedRuntime(folder.workspace, folder.run_dir, breaks)
    runtime.speak("known")
    with pytest.raises(KeyError):
        await Workflow([step("一")]).run(runtime)
    runtime.close()
    assert runtime.on_session is None, "taken off however the step ended"

    await folder.run(step("一"))

    assert folder.asked[0].resume == "known"


async def test_only_the_steps_own_name_is_in_the_lineage_whatever_it_took(folder: Folder) -> None:
    verdicts = iter([False, False, True] * 2)
    sent_back = step("一", retries=2, gate=lambda *_: next(verdicts), on_reject=lambda *_: "more")
    tried_again = step("二", retries=2, gate=lambda *_: next(verdicts))

    await folder.run(sent_back, tried_again)

    assert [each.step for each in folder.asked] == [
        *["一", "一#round2", "一#round3"],
        *["二", "二#retry1", "二#retry2"],
    ]
    assert set(folder.lineage["steps"]) == {"一", "二"}


async def test_what_a_gate_runs_is_nobodys_session(folder: Folder) -> None:
    hooks: list[object] = []

    async def judged(result: StepResult, ctx: dict[str, object]) -> bool:
        runtime = ctx["_runtime"]
        assert isinstance(runtime, ScriptedRuntime)
        hooks.append(runtime.on_session)
        return (await runtime.run(TERSE, "is it so?", step_name="一·判定#1")).ok

    ctx = await folder.run(step("一", gate=judged))
    await folder.run(step("一", gate=judged))

    work, judge = folder.rows[0]["session_id"], folder.rows[1]["session_id"]
    assert folder.rows[1]["step"] == "一·判定#1" and work != judge
    assert folder.lineage["steps"] == ctx["_sessions"] == {"一": work}
    assert [each.resume for each in folder.asked] == [work, None]
    assert hooks == [None, None]
    assert isinstance(ctx["_runtime"], ScriptedRuntime) and ctx["_runtime"].on_session is None


async def test_a_new_session_displaces_a_living_one_only_once_it_has_a_transcript(folder: Folder) -> None:
    await folder.run(step("一"), answers=(Answer(sessions=["old"]),))
    never_spoke = Answer(sessions=["new"], ok=False, transcript=False)

    await folder.run(step("一"), answers=(never_spoke,))
    assert folder.lineage["steps"] == {"一": "old"}
    await folder.run(step("一"))

    assert folder.asked[0].resume == "old"
