"""One round before the judge: a fresh pair of eyes, its last words, and what the person says if it sees no way."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from flower.core.agent import AgentSpec
from flower.core.documents import NOT_YET, UNCLEAR, Addition, Brief, Goal, Verdict
from flower.core.events import Event
from flower.core.human import HumanChannel
from flower.core.result import StepResult
from flower.core.roles import judge
from flower.core.words import Words
from flower.workflow import rounds
from flower.workflow.base import Ctx, StepAbort
from flower.workflow.frozen import language_in, tell, tell_words
from flower.workflow.setting import GOAL_KEY, SETTER, is_outdated, keep, pour, setting_prompt

VERDICT_KEY = "_verdict"
ROUND_KEY = "_goal_rounds"

RULER = Words(
    "你这一次的任务:判定。说出结论、理由和未通过的条目。",
    "Your task this time: judge. Give the conclusion, the reason, and the checks that didn't hold (未通过).",
)

_PROMPT = Words(
    """\
活交上来了,你去看。这是它的目标和清单:

{goal}
{added}
- 一条一条来。没亲眼看到证据的条目,就是没过。
- 目标里「(已修改)」后面是人后来说的,和清单冲突时以它为准。
- 结论只有三种:
  达成 —— 每一条都看到了。
  未达成 —— 有没过的,再做一轮能补上。
  无法达成 —— 剩下没过的,再做一轮也不会变。在这个环境里验不了的,或者你手上的工具看不到的,
    属于这一种,绝不算达成。
- 只说缺什么、看到了什么,不说怎么修。

最后一条回复只有这三段,标题照抄,不要放进代码块:

# 结论
(达成、未达成、无法达成,三个里的一个,不写别的)

# 理由
(看了什么,看到了什么)

# 未通过
- (没过的条目,一条一行;没有就写「无」)""",
    """\
The work is handed in: go and look. This is its goal, and the list:

{goal}
{added}
- One check after another. A check that you haven't seen evidence for has not passed.
- What follows "(已修改)" in the goal is what the person said later; where it contradicts the list, it holds.
- There are three conclusions only, and they are written in these words:
  达成 (achieved): you saw each check hold.
  未达成 (not yet): some didn't, and another round of work can make up for it.
  无法达成 (out of reach): some didn't, and another round would change nothing. What can't be verified in this
    environment, or can't be seen with the tools you hold, is of this kind, and never achieved.
- Say only what is missing and what you saw, not how to mend it.

Your last reply holds these three sections only. Copy the headings as they are (结论: the conclusion; 理由: the
reason; 未通过: what didn't hold), and use no code block:

# 结论
(达成, 未达成 or 无法达成: one of the three, nothing else)

# 理由
(what you looked at, what you saw)

# 未通过
- (the checks that didn't hold, one a line; 无 if there are none)""",
)

_ADDED = Words(
    """
人后来还说了这些,清单里还没有,一样要看:
{words}
""",
    """
The person said this later, and the list doesn't have it yet; look at it just the same:
{words}
""",
)

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
_SAID_SINCE = Words(
    "人刚才又说了,也要做到:\n{words}\n\n{reason}",
    "The person has said more since, to be done too:\n{words}\n\n{reason}",
)
_WRONG = Words(
    "上一轮判成了无法达成,人说判断有误:{words}\n\n当时的理由:{reason}",
    "The last round was judged out of reach, and the person says that was wrong: {words}\n\nThe reason then: {reason}",
)
_CHANGED = Words(
    "目标由人改了,按新的做:{words}\n\n改之前的理由:{reason}",
    "The person has changed the goal, work by the new one: {words}\n\nThe reason before that: {reason}",
)
_UNCLEAR = Words(UNCLEAR, "the judge gave no clear answer: it counts as not yet achieved")
_NO_RUNTIME = "拿不到 Runtime,无法判定目标"
_NO_JUDGE = Words("判定没有做成:{error}", "the judgement failed: {error}")
_AGAIN = Words(
    "你追加了话,判定清单先重推一遍。", "you have added something: the list of checks is made anew first."
)


class LastWords:
    """Listens to a judge's run, and keeps what its main thread said after its last tool call.

    What it hears it passes on with ``judge`` in the payload: to whoever looks on, it is not the step's own.
    """

    def __init__(self, ctx: Ctx) -> None:
        self._ctx = ctx
        self._said: list[str] = []
        self._heard = False

    def __call__(self, event: Event) -> None:
        tell(self._ctx, replace(event, payload={**event.payload, "judge": True}))
        if event.payload.get("subagent", True):
            return
        self._heard = True
        if event.kind == "text":
            self._said.append(event.text)
        elif event.kind in ("tool_call", "prompt"):
            self._said.clear()

    def of(self, result: StepResult) -> str:
        """The last words of the run whose result this is; all of its words if none were heard."""
        return "\n".join(self._said) if self._heard else result.text


class Judging:
    """Judges each result of one step. ``options`` go to the roles of those it sends."""

    def __init__(
        self,
        channel: HumanChannel,
        goal_path: Path,
        step: str,
        label: str,
        spec: AgentSpec | None,
        instructions: str,
        options: dict[str, Any],
        language: str,
    ) -> None:
        self._channel = channel
        self._language = language
        self._goal_path = goal_path
        self._label = label
        self._setting_label = f"{step}·定目标"
        options = {**options, "language": language}
        ruler, setter = RULER.spoken(language), SETTER.spoken(language)
        self._spec = spec or judge(label, channel, instructions=f"{ruler}\n{instructions}".strip(), **options)
        self._setter = judge(self._setting_label, channel, instructions=setter, **options)

    async def passes(self, result: StepResult, ctx: Ctx) -> bool:
        """The gate. Raises `StepAbort` when the goal is out of reach and nobody says what then."""
        if ctx.get("_runtime") is None:
            raise StepAbort(_NO_RUNTIME)
        ctx[ROUND_KEY] = ctx.get(ROUND_KEY, 0) + 1
        rounds.begins(ctx, ctx[ROUND_KEY])
        before = self._additions()
        goal, unlisted = await self._goal(ctx)
        verdict = ctx[VERDICT_KEY] = await self._ruling(ctx, goal, unlisted)
        late = self._additions()[len(before) :]
        if late:
            # Said while it was being judged: neither the list nor whoever does the work has heard of it.
            verdict.state = NOT_YET
            verdict.reason = self._reason(_SAID_SINCE, _words(late), verdict.reason)
        rounds.ruled(ctx, ctx[ROUND_KEY], verdict)
        if verdict.unreachable:
            return await self._decided(ctx, goal, verdict)
        return verdict.achieved

    def sent_back(self, result: StepResult, ctx: Ctx) -> str:
        """The ``on_reject`` that belongs to the gate: what whoever did the work is told, for another round begins."""
        verdict = ctx.get(VERDICT_KEY)
        if not isinstance(verdict, Verdict):
            return ""
        rounds.sent_back(ctx, ctx.get(ROUND_KEY, 0) + 1)
        return verdict.feedback(self._language)

    async def _goal(self, ctx: Ctx) -> tuple[Goal, list[Addition]]:
        """What to judge by, and what the person added that is not among its checks."""
        goal = self._standing(ctx)
        if not is_outdated(self._goal_path, self._channel.amend_path):
            return goal, []
        tell_words(ctx, _AGAIN)
        brief = Brief.load(self._channel.amend_path or "") or Brief()
        words = setting_prompt(brief.prompt_block(), goal, self._language)
        anew = Goal.last_in(await self._sent(ctx, self._setter, words, self._setting_label))
        if not anew.complete():
            return goal, brief.additions
        rounds.anew(ctx, ctx[ROUND_KEY], anew)
        pour(anew, self._goal_path, ctx)
        return anew, []

    def _standing(self, ctx: Ctx) -> Goal:
        known = ctx.get(GOAL_KEY)
        if isinstance(known, Goal) and known.complete() and known.path is None:
            return known
        # The file first: the person was told that they may still change it.
        written = Goal.load(self._goal_path)
        if written is not None and written.complete():
            ctx[GOAL_KEY] = written
            return written
        return known if isinstance(known, Goal) else Goal()

    async def _ruling(self, ctx: Ctx, goal: Goal, unlisted: list[Addition]) -> Verdict:
        added = _ADDED.spoken(self._language).format(words=_words(unlisted)) if unlisted else ""
        prompt = _PROMPT.spoken(self._language).format(goal=goal.prompt_block(), added=added)
        verdict = Verdict.last_in(await self._sent(ctx, self._spec, prompt, self._label))
        if verdict.reason == UNCLEAR:
            verdict.reason = _UNCLEAR.spoken(self._language)
        return verdict

    async def _sent(self, ctx: Ctx, spec: AgentSpec, prompt: str, label: str) -> str:
        """What somebody says at the end whom this round sends out, in a session of their own."""
        heard = LastWords(ctx)
        result: StepResult = await ctx["_runtime"].run(
            spec, prompt, step_name=f"{label}#{ctx[ROUND_KEY]}", on_event=heard
        )
        if result.error is not None:
            # Nobody has judged: another round of work would be for nothing, and paid for.
            raise StepAbort(self._why(ctx, result.error))
        return heard.of(result)

    def _why(self, ctx: Ctx, error: str) -> str:
        runtime = ctx["_runtime"]
        ordered = [getattr(runtime, name, None) for name in ("STOPPED", "KILLED", "INTERRUPTED")]
        return error if error in ordered else _NO_JUDGE.spoken(language_in(ctx)).format(error=error)

    # Out of reach

    async def _decided(self, ctx: Ctx, goal: Goal, verdict: Verdict) -> bool:
        """What the person makes of it."""
        language = language_in(ctx)
        options = [each.spoken(language) for each in (_ACCEPT, _CHANGE, _MISTAKEN)]
        question = _WHAT_NOW.spoken(language).format(reason=verdict.reason)
        answer = await self._channel.ask(question, options, counted=False)
        if answer.state != "answered":
            raise StepAbort(_NOBODY.spoken(language).format(reason=verdict.reason))
        if answer.choice == 0:
            return True
        if answer.choice == 1:
            await self._change(ctx, goal, verdict)
            return False
        words = options[2] if answer.choice == 2 else answer.answer
        verdict.reason = self._reason(_WRONG, words, verdict.reason)
        return False

    async def _change(self, ctx: Ctx, goal: Goal, verdict: Verdict) -> None:
        language = language_in(ctx)
        answer = await self._channel.ask(_NEW_GOAL.spoken(language), counted=False)
        if answer.state != "answered":
            raise StepAbort(_NOBODY.spoken(language).format(reason=verdict.reason))
        # Into the brief first: the goal is then the newer file, and a list made anew later knows of it.
        self._channel.amend(answer.answer)
        keep(goal.amend(answer.answer), self._goal_path, ctx)
        verdict.reason = self._reason(_CHANGED, answer.answer, verdict.reason)

    def _reason(self, says: Words, words: str, before: str) -> str:
        """What a person's words make of a verdict's reason."""
        return says.spoken(self._language).format(words=words, reason=before).strip()

    def _additions(self) -> list[Addition]:
        path = self._channel.amend_path
        brief = None if path is None else Brief.load(path)
        return [] if brief is None else brief.additions


def _words(additions: list[Addition]) -> str:
    return "\n".join(f"- {addition.text}" for addition in additions)
