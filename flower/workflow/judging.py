"""One round before the judge: the list is brought up to date, fresh eyes look, and what they say is weighed."""

from pathlib import Path
from typing import Any

from flower.core.agent import AgentSpec
from flower.core.documents import NOT_YET, UNCLEAR, Addition, Brief, Goal, Verdict
from flower.core.human import HumanChannel
from flower.core.result import StepResult
from flower.core.roles import judge
from flower.core.words import Words
from flower.workflow import rounds
from flower.workflow.appeal import Appeal
from flower.workflow.base import Ctx, StepAbort
from flower.workflow.frozen import language_in, tell_words
from flower.workflow.last_words import LastWords
from flower.workflow.ruling import RULER, as_list, put_before, ruling_prompt
from flower.workflow.setting import GOAL_KEY, SETTER, is_outdated, pour, setting_prompt

VERDICT_KEY = "_verdict"
ROUND_KEY = "_goal_rounds"

_SAID_SINCE = Words(
    "人刚才又说了,也要做到:\n{words}\n\n{reason}",
    "The person has said more since, to be done too:\n{words}\n\n{reason}",
)
_UNCLEAR = Words(UNCLEAR, "the judge gave no clear answer: it counts as not yet achieved")
_NO_RUNTIME = "拿不到 Runtime,无法判定目标"
_NO_JUDGE = Words("判定没有做成:{error}", "the judgement failed: {error}")
_AGAIN = Words(
    "你追加了话,判定清单先重推一遍。", "you have added something: the list of checks is made anew first."
)


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
        self._appeal = Appeal(channel, goal_path, language)
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
            put_before(verdict, _SAID_SINCE, as_list(late), self._language)
        rounds.ruled(ctx, ctx[ROUND_KEY], verdict)
        if verdict.unreachable:
            return await self._appeal.accepted(goal, verdict, ctx)
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
        prompt = ruling_prompt(goal, unlisted, self._language)
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

    def _additions(self) -> list[Addition]:
        path = self._channel.amend_path
        brief = None if path is None else Brief.load(path)
        return [] if brief is None else brief.additions
