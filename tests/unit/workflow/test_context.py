"""What a workflow tells: the dict that its steps share, the events, and each step as it is settled."""

from typing import Any

import pytest

from flower import Event, Step, StepResult, Workflow
from tests.unit.workflow.scripted import TERSE, Answer, Folder, ScriptedRuntime


def step(name: str, **options: Any) -> Step:
    return Step(name, TERSE, "work", **options)


class Channel:
    def __init__(self, on_event: object = None) -> None:
        self.on_event = on_event


async def test_what_comes_back_is_the_workflows_own_dict_every_time(folder: Folder) -> None:
    workflow = Workflow([step("一")], context={"mine": 1})
    for wake in (1, 2):
        runtime = ScriptedRuntime(folder.workspace, folder.run_dir)
        ctx = await workflow.run(runtime)
        runtime.close()

        assert ctx is workflow.context
        assert (ctx["mine"], ctx["_woke"], ctx["一"]) == (1, wake, "done")


async def test_two_workflows_share_nothing() -> None:
    assert Workflow([]).context is not Workflow([]).context


async def test_a_failure_of_the_last_run_is_forgotten_in_the_next(folder: Folder) -> None:
    workflow = Workflow([step("一")])
    for answer in (Answer(ok=False), Answer()):
        runtime = ScriptedRuntime(folder.workspace, folder.run_dir, answer)
        ctx = await workflow.run(runtime)
        runtime.close()

    assert ctx.get("_failed_at") is None and ctx["_results"]["一"].ok


async def test_the_result_of_a_step_stands_under_its_name_as_reduced(folder: Folder) -> None:
    ctx = await folder.run(step("一", reduce=lambda result: result.text.split()), step("二"))

    assert (ctx["一"], ctx["二"]) == (["done"], "done")
    assert [ctx["_results"][name].step for name in ("一", "二")] == ["一", "二"]


async def test_a_step_that_is_left_out_leaves_no_trace(folder: Folder) -> None:
    ctx = await folder.run(step("一", when=lambda ctx: False), step("二", when=lambda ctx: "一" not in ctx))

    assert [each.step for each in folder.asked] == ["二"]
    assert "一" not in ctx and "一" not in ctx["_results"] and "一" not in ctx["_sessions"]
    assert [event.text for event in folder.events if event.kind == "step"] == ["二"]


async def test_each_step_is_announced_with_its_place_and_whether_it_goes_on(folder: Folder) -> None:
    steps = step("一"), step("二", resume_from="一")
    for resumed in (False, True):
        await folder.run(*steps)

        woke = 2 if resumed else 1
        assert [(event.text, event.payload) for event in folder.events if event.kind == "step"] == [
            ("一", {"index": 1, "total": 2, "resumed": resumed, "woke": woke}),
            ("二", {"index": 2, "total": 2, "resumed": False, "woke": woke}),
        ]


async def test_each_step_is_handed_over_once_when_it_is_settled(folder: Folder) -> None:
    settled: list[tuple[str, str, bool]] = []
    verdicts = iter([False, True])
    steps = [
        step("一", retries=1, gate=lambda *_: next(verdicts)),
        step("二", when=lambda _: False),
        step("三"),
        step("四"),
    ]
    runtime = ScriptedRuntime(
        folder.workspace, folder.run_dir, Answer(), Answer(), Answer(ok=False), Answer()
    )

    def on_step(step: Step, result: StepResult) -> None:
        settled.append((step.name, result.step, result.ok))

    await Workflow(steps).run(runtime, on_step=on_step)
    runtime.close()

    assert settled == [("一", "一#retry1", True), ("三", "三", False)]


@pytest.mark.parametrize("taken", [True, False], ids=["taken", "free"])
async def test_a_channel_is_given_the_subscriber_if_it_has_none(folder: Folder, taken: bool) -> None:
    own: list[Event] = []
    channel = Channel(own.append if taken else None)
    subscriber: list[Event] = []
    runtime = ScriptedRuntime(folder.workspace, folder.run_dir)
    subscribe = subscriber.append

    ctx = await Workflow([step("一")], channel=channel).run(runtime, on_event=subscribe)
    runtime.close()

    assert channel.on_event == (own.append if taken else subscribe)
    assert ctx["_on_event"] is subscribe and ctx["_runtime"] is runtime


async def test_a_channel_is_left_alone_when_nobody_listens(folder: Folder) -> None:
    channel = Channel()
    runtime = ScriptedRuntime(folder.workspace, folder.run_dir)

    await Workflow([step("一")], channel=channel).run(runtime)
    runtime.close()

    assert channel.on_event is None
