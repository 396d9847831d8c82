"""What the steps of the ready-made flow are told: all of it when they begin, only what is new when they go on."""

from flower.core.documents import Goal
from flower.core.words import Words
from flower.workflow.base import Ctx
from flower.workflow.clarify import GO_ON_ASKING
from flower.workflow.remarks import Remarks
from flower.workflow.setting import GOAL_KEY
from flower.workflow.steps import CLARIFY, SET_GOAL

DO = Words("照这份需求做:\n\n{brief}", "Do what this brief says:\n\n{brief}")
_JUDGED_BY = Words(
    "做完后会有人拿这份清单逐条去看:\n\n{goal}",
    "When it is done, somebody will take this list and look, one check after another:\n\n{goal}",
)

GO_ON = Words(
    """\
接着上次的活继续 —— 不是重新开始。需求、做到哪了、试过什么,你都已经知道。
先看一眼现场(文件、git 状态)是不是和你记得的一样,再从断的地方接着做;已经做完的不要重做。
如果全做完了,就说清楚结果在哪、怎么用。""",
    """\
Go on with the work from last time; this is no new start. You know the request, how far it got and what was tried.
First see whether things (files, git status) are as you remember them, then go on from where it broke off; don't do
again what is done. If all of it is done, say where the result is and how to use it.""",
)

GOAL_ANEW = Words(
    "判定清单连同这些话重推过了,以这份为准:\n\n{goal}",
    "The list of checks was made anew with these words; this one holds:\n\n{goal}",
)
BRIEF_ANEW = Words(
    "需求改过了,以这份为准:\n\n{brief}",
    "The request has changed; this brief holds:\n\n{brief}",
)

# A folder that was worked in before there was a brief, woken without a word.
_NO_REQUEST = Words(
    "这个目录里有一段做过的活,但没有需求确认书。先看现场(文件、git 记录),再问清楚接下来要做什么。",
    "Work was done in this folder before, but there is no brief. First see how things stand (files, git log), then ask"
    " what is to be done next.",
)


class Prompts:
    """The prompts and resume prompts of the steps, as `Step` takes them."""

    def __init__(self, remarks: Remarks, language: str) -> None:
        self._remarks = remarks
        self._language = language

    def ask(self, ctx: Ctx) -> str:
        """What is asked about first, by who has heard nothing of it."""
        said = dict.fromkeys([*self._remarks.asked_about, *self._remarks.unheard])
        return "\n\n".join(said) or _NO_REQUEST.spoken(self._language)

    def go_on_asking(self, ctx: Ctx) -> str:
        """What a clarification that was cut off is told, with what came on top."""
        return "\n\n".join([GO_ON_ASKING.spoken(self._language), *self._remarks.unheard])

    def work(self, ctx: Ctx) -> str:
        """What the work begins with: all of what was settled."""
        return "\n\n".join([self._brief(ctx, DO), *self._goal(ctx, _JUDGED_BY)])

    def go_on_working(self, ctx: Ctx) -> str:
        """What the work goes on with: it has the whole story, and is told only what is new."""
        anew = []
        if self._remarks.edited or CLARIFY in ctx["_results"]:
            anew.append(self._brief(ctx, BRIEF_ANEW))
        if SET_GOAL in ctx["_results"]:
            anew += self._goal(ctx, GOAL_ANEW)
        return "\n\n".join([*self._remarks.unheard, *anew, GO_ON.spoken(self._language)])

    def _brief(self, ctx: Ctx, words: Words) -> str:
        return words.spoken(self._language).format(brief=ctx.get(CLARIFY, ""))

    def _goal(self, ctx: Ctx, words: Words) -> list[str]:
        goal = ctx.get(GOAL_KEY)
        if not isinstance(goal, Goal) or not goal.complete():
            return []
        return [words.spoken(self._language).format(goal=goal.prompt_block())]
