"""The goal whose brief is replaced: it goes before a new brief is frozen, so that one that stands is always its own.

Killed between the two, the next run would take the old checks for those of the new request.
"""

from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path

from flower.core.documents import Brief, Goal
from flower.core.result import StepResult
from flower.core.words import Words
from flower.workflow.base import Ctx, Gate, Step
from flower.workflow.frozen import tell_words
from flower.workflow.setting import FORMER_KEY
from flower.workflow.waking import put_away

_STAYS = Words("{path} 挪不开:{why}。", "could not move {path}: {why}.")


def putting_goal_away(clarifying: Step, goal: Path) -> Step:
    """The step, whose gate freezes a brief, with a gate that puts the goal there was away first."""
    assert clarifying.gate is not None, "a clarification is always looked at"
    return replace(clarifying, gate=_PuttingAway(clarifying.gate, goal))


class _PuttingAway:
    def __init__(self, gate: Gate, goal: Path) -> None:
        self._gate = gate
        self._goal = goal

    def __call__(self, result: StepResult, ctx: Ctx) -> bool | Awaitable[bool]:
        if Brief.last_in(result.text).complete():
            former = Goal.load(self._goal)
            if former is not None and former.complete():
                # Whoever sets the next one is shown it all the same.
                ctx[FORMER_KEY] = former
            self._put_away(ctx)
        return self._gate(result, ctx)

    def _put_away(self, ctx: Ctx) -> None:
        try:
            put_away(self._goal)
        except OSError as error:
            words = Words(*(text.format(path=self._goal, why=error.strerror) for text in _STAYS))
            tell_words(ctx, words)
