"""How a run ended, as one line that a person understands."""

from types import SimpleNamespace
from typing import Any

import pytest

from flower.core.documents import Verdict
from flower.core.result import StepResult
from flower.core.runtime import Runtime
from flowerd.outcome import LONGEST, one_line, outcome_of
from flowerd.run import Ending, Outcome


def outcome(
    step: str | None, error: str | None = None, language: str = "zh", budget: float | None = None, **ctx: Any
) -> Outcome:
    """Of a run that failed at ``step``, with an agent whose session is in the store."""
    result = StepResult(step or "干活", session_id="s", error=error, cost_usd=0.5)
    runtime: Any = SimpleNamespace(
        results=[result],
        STOPPED=Runtime.STOPPED,
        total_cost=lambda: 0.5,
        max_budget_usd=budget,
        budget_left=lambda: None if budget is None else budget - 0.5,
        take_mail=lambda: ["too late"],
        has_session=lambda session: session == "s",
    )
    if step is not None:
        ctx |= {"_failed_at": step, "_results": {step: result}}
    return outcome_of(ctx, runtime, ["do it"], language)


def test_one_that_failed_at_no_step_ended_well() -> None:
    assert outcome(None) == Outcome(Ending.DONE, cost_usd=0.5, unheard=("too late",))


def test_a_person_who_stops_it_makes_no_error() -> None:
    assert outcome("干活", Runtime.STOPPED) == Outcome(Ending.STOPPED, "干活", None, 0.5, ("too late",))


def test_an_abort_is_one_line() -> None:
    told = outcome("干活", "目标被判为无法达成,无人应答:there is\nno screen")

    assert (told.ending, told.error) == (Ending.FAILED, "目标被判为无法达成,无人应答:there is no screen")


def test_a_budget_that_is_spent_is_said_with_the_way_on() -> None:
    said = "Reached maximum budget ($0.00183)"
    assert (
        outcome("干活", said, budget=0.4).error
        == "预算 $0.4 用完了。给大一点的 --budget 再跑 flower,会接着做。"
    )
    assert outcome("干活", "no such model", budget=0.6).error == "no such model"


@pytest.mark.parametrize(
    ("step", "language", "ctx", "said"),
    [
        (
            "干活",
            "zh",
            {"_goal_rounds": 3, "_verdict": Verdict(reason="no colour\nanywhere")},
            "3 轮做完,判定还是没有通过:no colour anywhere",
        ),
        ("确认需求", "en", {"_brief_missing": ["目标", "边界"]}, "the brief still lacks: 目标、边界"),
        ("设定目标", "zh", {}, "没有定出完整的判定清单"),
    ],
)
def test_what_was_rejected_says_why(step: str, language: str, ctx: dict[str, Any], said: str) -> None:
    assert outcome(step, "rejected", language, **ctx).error == said


def test_no_error_is_endless() -> None:
    assert len(one_line(ValueError("x\n" * 1000))) == LONGEST
