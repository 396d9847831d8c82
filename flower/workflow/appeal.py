"""A goal that is out of reach goes to the person, who accepts it, changes it, or overrules the judge."""

from pathlib import Path

from flower.core.documents import Goal, Verdict
from flower.core.human import Ask, HumanChannel
from flower.core.words import Words
from flower.workflow.base import Ctx, StepAbort
from flower.workflow.frozen import language_in
from flower.workflow.ruling import put_before
from flower.workflow.setting import keep

_ACCEPT = Words("接受这个结果,就这样往下走", "accept this result and go on")
_CHANGE = Words("修改目标", "change the goal")
_MISTAKEN = Words("你判断错了,继续做", "the judgement is wrong, carry on")
_WHAT_NOW = Words(
    "目标被判为**无法达成**:{reason}\n怎么办?", "the goal was judged **out of reach**: {reason}\nWhat now?"
)
_NEW_GOAL = Words("目标改成什么? 说清楚怎样算做完。", "What is the goal now? Say when it counts as done.")
_NOBODY = Words(
    "目标被判为无法达成,无人应答:{reason}", "the goal was judged out of reach, nobody answered: {reason}"
)
_WRONG = Words(
    "上一轮判成了无法达成,人说判断有误:{words}\n\n当时的理由:{reason}",
    "The last round was judged out of reach, and the person says that was wrong: {words}\n\nThe reason then: {reason}",
)
_CHANGED = Words(
    "目标由人改了,按新的做:{words}\n\n改之前的理由:{reason}",
    "The person has changed the goal, work by the new one: {words}\n\nThe reason before that: {reason}",
)


class Appeal:
    """Asks the person about one goal. ``language`` is that of the words to whoever does the work."""

    def __init__(self, channel: HumanChannel, goal_path: Path, language: str) -> None:
        self._channel = channel
        self._goal_path = goal_path
        self._language = language

    async def accepted(self, goal: Goal, verdict: Verdict, ctx: Ctx) -> bool:
        """Whether the result is good enough for them; if not, the verdict's reason says why the work goes on.

        Raises `StepAbort` when nobody answers.
        """
        options = [each.spoken(language_in(ctx)) for each in (_ACCEPT, _CHANGE, _MISTAKEN)]
        question = _WHAT_NOW.spoken(language_in(ctx)).format(reason=verdict.reason)
        answer = await self._answer(question, options, verdict, ctx)
        if answer.choice == 0:
            return True
        if answer.choice == 1:
            await self._change(goal, verdict, ctx)
            return False
        words = options[2] if answer.choice == 2 else answer.answer
        put_before(verdict, _WRONG, words, self._language)
        return False

    async def _change(self, goal: Goal, verdict: Verdict, ctx: Ctx) -> None:
        words = (await self._answer(_NEW_GOAL.spoken(language_in(ctx)), None, verdict, ctx)).answer
        # Into the brief first: the goal is then the newer file, and a list made anew later knows of it.
        self._channel.amend(words)
        keep(goal.amend(words), self._goal_path, ctx)
        put_before(verdict, _CHANGED, words, self._language)

    async def _answer(self, question: str, options: list[str] | None, verdict: Verdict, ctx: Ctx) -> Ask:
        ask = await self._channel.ask(question, options, counted=False)
        if ask.state != "answered":
            raise StepAbort(_NOBODY.spoken(language_in(ctx)).format(reason=verdict.reason))
        return ask
