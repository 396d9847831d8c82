"""The guard of the goal: a step that says how the work will be judged, and a gate that has it judged.

The judge is no step. Each round the gate sends a new one, which knows the goal and nothing of the work's history:
who has watched the trouble finds excuses for it. What it says at the very end counts, and nothing else.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from flower.core.agent import AgentSpec
from flower.core.documents import Goal
from flower.core.human import HumanChannel
from flower.core.result import StepResult
from flower.core.roles import judge
from flower.core.words import Words, language_of
from flower.workflow.base import Ctx, Step
from flower.workflow.judging import ROUND_KEY, VERDICT_KEY, Judging
from flower.workflow.setting import FORMER_KEY, GOAL_KEY, SETTER, is_outdated, pour, setting_prompt
from flower.workflow.steps import CLARIFY, SET_GOAL

__all__ = ["GOAL_KEY", "ROUND_KEY", "VERDICT_KEY", "goal_step", "with_goal"]

_INCOMPLETE = Words(
    """\
还缺:{missing}。接着补完,最后一条回复把「# 目标」和「# 判定清单」两段完整地再写一遍,不要放进代码块。""",
    """\
Still missing: {missing}. Complete it: your last reply holds both sections in full, "# 目标" and "# 判定清单", not in a
code block.""",
)


def goal_step(
    channel: HumanChannel,
    *,
    goal_path: Path | str,
    brief_key: str = CLARIFY,
    name: str = SET_GOAL,
    spec: AgentSpec | None = None,
    instructions: str = "",
    always_set: bool = False,
    on_fail: Literal["stop", "skip", "continue"] = "stop",
    retries: int = 0,
    language: str | None = None,
    **spec_kw: Any,
) -> Step:
    """A step that makes of the brief in ``ctx[brief_key]`` a goal and its checks in ``goal_path``.

    It is left out when a complete goal is there already, unless ``always_set``, or unless the brief was settled
    in this run, or the person has added to it (the channel's ``amend_path``) since: then that goal is shown to who
    sets it anew. Either way ``ctx["_goal"]`` is the `Goal` and ``ctx[name]``
    its text. Checks that can't be verified here are told to the person at once, and stop nothing. ``spec``
    replaces the role, else ``spec_kw`` (``can_run`` too) goes to `judge`. ``language`` as in `clarify_step`.
    """
    spoken = language or language_of(os.environ)
    setting = _Setting(channel, Path(goal_path), name, always_set, brief_key, spoken)
    rules = f"{SETTER.spoken(spoken)}\n{instructions}".strip()

    def prompt(ctx: Ctx) -> str:
        return setting_prompt(ctx.get(brief_key), setting.standing() or ctx.get(FORMER_KEY), spoken)

    return Step(
        name,
        spec or judge(name, channel, instructions=rules, language=spoken, **spec_kw),
        prompt,
        retries=retries,
        gate=setting.settled,
        on_fail=on_fail,
        when=setting.needed,
        on_reject=setting.incomplete,
        reduce=setting.block,
    )


def with_goal(
    step: Step,
    channel: HumanChannel,
    *,
    goal_path: Path | str,
    spec: AgentSpec | None = None,
    rounds: int = 3,
    instructions: str = "",
    can_run: bool = False,
    name: str | None = None,
    language: str | None = None,
    **spec_kw: Any,
) -> Step:
    """The step, done over in its session until a judge sees that the goal is achieved, ``rounds`` times at most.

    Only ``retries``, ``gate`` and ``on_reject`` are replaced. Each round is judged in a session of its own,
    called ``<name>#<round>`` (``name`` is ``<step>·判定`` by default). What the person added to the brief
    meanwhile joins the checks first. An unclear verdict never passes. When the goal is out of reach, the person is
    asked; with nobody there the step ends, whatever rounds are left. ``spec`` replaces the judge's role, else
    ``instructions``, ``can_run`` and ``spec_kw`` go to `judge`. ``language`` as in `clarify_step`.
    """
    spoken = language or language_of(os.environ)
    judging = Judging(
        channel,
        Path(goal_path),
        step.name,
        name or f"{step.name}·判定",
        spec,
        instructions,
        {**spec_kw, "can_run": can_run},
        spoken,
    )
    return replace(step, retries=max(0, rounds - 1), gate=judging.passes, on_reject=judging.sent_back)


class _Setting:
    def __init__(
        self, channel: HumanChannel, path: Path, name: str, always: bool, brief_key: str, language: str
    ) -> None:
        self._channel = channel
        self._language = language
        self._path = path
        self._name = name
        self._always = always
        self._brief_key = brief_key
        self._goal = Goal()

    def needed(self, ctx: Ctx) -> bool:
        """Whether there is anything to set; if not, what was set before goes into the context."""
        goal = None if self._always else self.standing()
        # A brief that was settled anew in this run is another request: the old checks are not its.
        settled_anew = self._brief_key in ctx.get("_results", {})
        if goal is None or settled_anew or is_outdated(self._path, self._channel.amend_path):
            return True
        self._goal = ctx[GOAL_KEY] = goal
        ctx[self._name] = goal.prompt_block()
        return False

    def standing(self) -> Goal | None:
        """The whole goal that is there already."""
        goal = Goal.load(self._path)
        return goal if goal is not None and goal.complete() else None

    def settled(self, result: StepResult, ctx: Ctx) -> bool:
        """Whether the answer is a whole goal; then it is frozen."""
        goal = Goal.last_in(result.text)
        if not goal.complete():
            self._goal = goal
            return False
        self._goal = goal
        pour(goal, self._path, ctx)
        return True

    def incomplete(self, result: StepResult, ctx: Ctx) -> str:
        return _INCOMPLETE.spoken(self._language).format(missing="、".join(self._goal.missing()))

    def block(self, result: StepResult) -> str:
        return self._goal.prompt_block()
