"""A session that gives way to the next: what is said of it when it need not after all."""

from flower import Event, HandoffPolicy, StepResult
from flower.core.succession import Succession
from flower.core.windows import Windows


def test_a_handoff_that_is_called_off_is_said_to_be_and_can_begin_again() -> None:
    told: list[Event] = []
    succession = Succession(
        HandoffPolicy(window=200_000),
        Windows({}),
        StepResult(step="干活"),
        None,
        "zh",
        told.append,
        lambda session, document: None,
    )
    succession.see_level(160_000)
    assert succession.due
    succession.begin()

    succession.call_off()

    assert [event.kind for event in told] == ["handoff", "notice"]
    assert told[-1].text == "这一轮已经收尾了,这次不用换代。"
    assert succession.due
