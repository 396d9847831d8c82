"""What a run tells of its rounds before the judge: events of kind ``judge``, each with its ``phase`` and ``round``.

``begins``: the work is handed in. ``anew``: the list of checks was made anew first. ``ruled``: the verdict, as it
counts; one that is out of reach is left to the person, and what comes of that follows. ``sent_back``: the work goes
on, in the round that is named.
"""

from typing import Any

from flower.core.documents import Goal, Verdict
from flower.core.documents.verdict import State
from flower.core.events import Event
from flower.core.words import Words
from flower.workflow.base import Ctx
from flower.workflow.frozen import language_in, tell

_BEGINS = Words("第 {round} 轮做完了,交给判定者看", "round {round} is done, the judge looks at it")
_ANEW = Words("判定清单重推好了,共 {count} 条", "the list of checks was made anew: {count} of them")
_RULED = Words("第 {round} 轮判定:{conclusion}", "round {round} was judged: {conclusion}")
_SENT_BACK = Words("打回去接着做 · 第 {round} 轮", "sent back · round {round}")
_CONCLUSIONS: dict[State, Words] = {
    "achieved": Words("达成", "achieved"),
    "not_yet": Words("未达成", "not yet achieved"),
    "unreachable": Words("无法达成", "out of reach"),
    "": Words("不明确", "unclear"),
}


def begins(ctx: Ctx, round: int) -> None:
    _tell(ctx, "begins", round, _BEGINS)


def anew(ctx: Ctx, round: int, goal: Goal) -> None:
    _tell(ctx, "anew", round, _ANEW, {"count": len(goal.checks)}, checks=list(goal.checks))


def ruled(ctx: Ctx, round: int, verdict: Verdict) -> None:
    conclusion = _CONCLUSIONS[verdict.state].spoken(language_in(ctx))
    about = {"state": verdict.state, "reason": verdict.reason, "failed": list(verdict.failed)}
    _tell(ctx, "ruled", round, _RULED, {"conclusion": conclusion}, **about)


def sent_back(ctx: Ctx, round: int) -> None:
    _tell(ctx, "sent_back", round, _SENT_BACK)


def _tell(
    ctx: Ctx, phase: str, round: int, words: Words, facts: dict[str, Any] | None = None, **about: Any
) -> None:
    text = words.spoken(language_in(ctx)).format(round=round, **(facts or {}))
    tell(ctx, Event("judge", text, payload={"phase": phase, "round": round, **about}))
