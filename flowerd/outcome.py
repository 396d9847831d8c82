"""How a run of the library ended, as one record: what went wrong is one line that a person understands."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from flower.core.words import Words
from flowerd.run import Ending, Outcome

if TYPE_CHECKING:
    from flower.core.runtime import Runtime
    from flower.workflow.base import Ctx

LONGEST: Final = 500

_NOT_ACHIEVED: Final = Words(
    "{rounds} 轮做完,判定还是没有通过:{reason}",
    "the judge is not content, rounds of work: {rounds}. {reason}",
)
_BRIEF_LACKS: Final = Words("需求确认书还缺:{missing}", "the brief still lacks: {missing}")
_SPENT: Final = Words(
    "预算 ${budget:g} 用完了。给大一点的 --budget 再跑 flower,会接着做。",
    "the budget of ${budget:g} is spent. Run flower again with a larger --budget, and it goes on.",
)
_NO_GOAL: Final = Words("没有定出完整的判定清单", "no whole list of checks came about")


def outcome_of(ctx: "Ctx", runtime: "Runtime", words: Sequence[str], language: str) -> Outcome:
    """``words`` are those that the run was started with: if no transcript holds them, they are still to be told."""
    cost, unheard, step = runtime.total_cost(), tuple(runtime.take_mail()), ctx.get("_failed_at")
    if not any(runtime.has_session(each.session_id or "") for each in runtime.results):
        unheard = (*words, *unheard)
    if step is None:
        return Outcome(Ending.DONE, cost_usd=cost, unheard=unheard)
    result = ctx["_results"][step]
    if result.error == runtime.STOPPED:
        return Outcome(Ending.STOPPED, step, cost_usd=cost, unheard=unheard)
    reason = _reason(ctx, step, result.error or "", language)
    if runtime.max_budget_usd is not None and round(runtime.budget_left() or 0.0, 4) <= 0:
        reason = _SPENT.spoken(language).format(budget=runtime.max_budget_usd)
    return Outcome(Ending.FAILED, step, reason, cost, unheard)


def one_line(error: BaseException | str) -> str:
    """What an exception or a text says, without line ends, at most `LONGEST` characters."""
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:LONGEST]


def _reason(ctx: "Ctx", step: str, error: str, language: str) -> str:
    from flower.workflow.base import REJECTED
    from flower.workflow.clarify import MISSING_KEY
    from flower.workflow.goal import ROUND_KEY, VERDICT_KEY
    from flower.workflow.starter import CLARIFY, WORK

    if error != REJECTED:
        return one_line(error)
    said: dict[str, str] = {
        CLARIFY: _BRIEF_LACKS.spoken(language).format(missing="、".join(ctx.get(MISSING_KEY, []))),
        WORK: _NOT_ACHIEVED.spoken(language).format(
            rounds=ctx.get(ROUND_KEY, 0), reason=getattr(ctx.get(VERDICT_KEY), "reason", "")
        ),
    }
    return one_line(said.get(step, _NO_GOAL.spoken(language)))
