"""The flow behind a bare ``flower``: ask until it is clear, say how it will be judged, have it done, have it judged.

Words said at a wake land in three places: in the brief, in a list of checks that is made anew, and with whoever does
the work. They are noted in the lineage first and crossed out there when the work has heard them, so that a kill
between any two of these leaves a next run that does the rest. Those that a clarification has heard stay there until
its brief is frozen: one that can't be continued has to begin anew.
"""

import os
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path

from flower.core.documents import ADDED_ON_WAKE, Brief, Goal
from flower.core.events import Event
from flower.core.guards import isolation_obstacle
from flower.core.human import HumanChannel
from flower.core.lineage import Lineage
from flower.core.result import StepResult
from flower.core.runtime import OnEvent, Runtime
from flower.core.words import Words, language_of
from flower.core.workbench import Workbench
from flower.workflow.base import Ctx, Gate, OnStep, Step, Workflow
from flower.workflow.clarify import BRIEF_KEY, GO_ON_ASKING, clarify_step
from flower.workflow.crew import CODER_PROMPT, lead_of
from flower.workflow.frozen import tell_words
from flower.workflow.goal import GOAL_KEY, goal_step, with_goal
from flower.workflow.setting import FORMER_KEY
from flower.workflow.waking import BRIEF_NAME, GOAL_NAME, archive, put_away, wake_state, workbench_of

__all__ = ["CODER_PROMPT", "WORK", "StarterFlow", "starter_flow", "wake_state", "workbench_of"]

CLARIFY = "确认需求"
SET_GOAL = "设定目标"
WORK = "干活"

_DO = Words("照这份需求做:\n\n{brief}", "Do what this brief says:\n\n{brief}")
_JUDGED_BY = Words(
    "做完后会有人拿这份清单逐条去看:\n\n{goal}",
    "When it is done, somebody will take this list and look, one check after another:\n\n{goal}",
)

_GO_ON = Words(
    """\
接着上次的活继续 —— 不是重新开始。需求、做到哪了、试过什么,你都已经知道。
先看一眼现场(文件、git 状态)是不是和你记得的一样,再从断的地方接着做;已经做完的不要重做。
如果全做完了,就说清楚结果在哪、怎么用。""",
    """\
Go on with the work from last time; this is no new start. You know the request, how far it got and what was tried.
First see whether things (files, git status) are as you remember them, then go on from where it broke off; don't do
again what is done. If all of it is done, say where the result is and how to use it.""",
)

_GOAL_ANEW = Words(
    "判定清单连同这些话重推过了,以这份为准:\n\n{goal}",
    "The list of checks was made anew with these words; this one holds:\n\n{goal}",
)
_BRIEF_ANEW = Words(
    "需求改过了,以这份为准:\n\n{brief}",
    "The request has changed; this brief holds:\n\n{brief}",
)

# A folder that was worked in before there was a brief, woken without a word.
_NO_REQUEST = Words(
    "这个目录里有一段做过的活,但没有需求确认书。先看现场(文件、git 记录),再问清楚接下来要做什么。",
    "Work was done in this folder before, but there is no brief. First see how things stand (files, git log), then ask"
    " what is to be done next.",
)

_EDITED = Words(
    "你改过需求确认书,这次按改过的做。", "you have edited the brief: this run goes by what it says now."
)

_GOAL_STAYS = Words("{path} 挪不开:{why}。", "could not move {path}: {why}.")

NO_REQUEST = Words(
    "要给一句诉求,例如 flower '帮我做一个 X'",
    "a request is needed, for example: flower 'make me an X'",
)


def starter_flow(
    ask: str | None,
    *,
    workspace: Path | str = ".",
    run_dir: Path | str = "runs",
    new: bool = False,
    isolate: bool = False,
    clarify_only: bool = False,
    goal: bool = True,
    rounds: int = 3,
    judge_can_run: bool = False,
    max_asks: int | None = None,
    timeout_s: float | None = 1800.0,
    instructions: str = "",
    worker_prompt: str | None = None,
    brief_name: str = BRIEF_NAME,
    goal_name: str = GOAL_NAME,
    log_name: str = "问答记录.md",
    language: str | None = None,
) -> "StarterFlow":
    """The flow of a bare ``flower``: three steps, 确认需求, 设定目标 and 干活, continued from wake to wake.

    ``ask`` is the request in a new folder, a remark in a used one, and None or blank to go on as it was. ``new``
    archives what was here and starts over. ``isolate``: each worker gets a git worktree, somebody else merges,
    and the workbench lies beside the workspace. ``clarify_only``: the first step alone; ``goal`` of False: nobody
    judges. ``rounds`` is how often the work is done at most. ``judge_can_run``: who judges may run commands.
    ``max_asks``: how many questions may be asked, None for any number; ``timeout_s``: how long each waits.
    ``instructions`` go to the coordinator, ``worker_prompt`` to who does the work (None: verify after every change).
    ``language`` (zh or en; None: by ``FLOWER_LANG``) is that of the words to the agents, and of errors.

    Hand its ``workbench`` to the `Runtime`. Raises `ValueError` when there is neither a request nor anything to go
    on with, and when ``isolate`` can't work here.
    """
    folder = Path(workspace).resolve()
    words = (ask or "").strip()
    spoken = language or language_of(os.environ)
    workbench = Workbench(folder, home=workbench_of(folder, isolate=isolate))
    brief_path, goal_path = workbench.notes / brief_name, workbench.notes / goal_name
    lineage = Lineage.open(run_dir, folder)
    known = wake_state(folder, run_dir=run_dir, isolate=isolate, brief_name=brief_name)["waking"]
    if not words and (new or not (known or lineage.steps or lineage.words or lineage.request)):
        raise ValueError(NO_REQUEST.spoken(spoken))
    obstacle = isolation_obstacle(workbench) if isolate else None
    if obstacle is not None:
        raise ValueError(obstacle.spoken(spoken))
    if new:
        archive(workbench.notes, lineage, [brief_path, goal_path])

    channel = HumanChannel(
        log_path=workbench.notes / log_name,
        amend_path=brief_path,
        max_asks=max_asks,
        timeout_s=timeout_s,
        language=spoken,
    )
    edited = _is_edited(brief_path, lineage)
    unheard = [*lineage.words, *([words] if words and words not in lineage.words else [])]
    said = _Said(words, unheard, lineage.request, edited, spoken)
    clarifying = clarify_step(
        channel, brief_path=brief_path, prompt=said.request, name=CLARIFY, retries=1, language=spoken
    )
    clarifying = replace(clarifying, gate=_Replacing(clarifying.gate, goal_path))
    if said.all:
        clarifying = replace(clarifying, resume_prompt=said.go_on_asking)
    lead = lead_of(channel, instructions, worker_prompt, isolate=isolate, language=spoken)
    work = Step(WORK, lead, said.begin, resume_prompt=said.go_on)
    steps = [clarifying]
    if goal and not clarify_only:
        setting = goal_step(
            channel,
            goal_path=goal_path,
            brief_key=CLARIFY,
            name=SET_GOAL,
            always_set=edited or (bool(words) and brief_path.exists()),
            retries=1,
            can_run=judge_can_run,
            language=spoken,
        )
        work = with_goal(
            work, channel, goal_path=goal_path, rounds=rounds, can_run=judge_can_run, language=spoken
        )
        steps.append(setting)
    if not clarify_only:
        steps.append(work)
    return StarterFlow(steps, said, channel, workbench)


class StarterFlow(Workflow):
    """See `starter_flow`."""

    def __init__(self, steps: list[Step], said: "_Said", channel: HumanChannel, workbench: Workbench) -> None:
        super().__init__(steps, name="starter", channel=channel, workbench=workbench)
        self._said = said

    async def run(
        self, runtime: Runtime, *, on_event: OnEvent | None = None, on_step: OnStep | None = None
    ) -> Ctx:
        """See `Workflow.run`."""
        self._take_in(runtime)
        listener = _Listener(self._said, self.context, on_event)
        if self._said.edited:
            listener(Event("notice", _EDITED.spoken(runtime.language), payload=_EDITED._asdict()))
        return await super().run(runtime, on_event=listener, on_step=on_step)

    def _take_in(self, runtime: Runtime) -> None:
        """Note the words before anything is done with them, and add them to a brief that is frozen."""
        lineage = Lineage.open(runtime.run_dir, runtime.workspace)
        lineage.note(self._said.now)
        path = self.channel.amend_path
        if path is not None and path.exists():
            for words in self._said.all:
                self.channel.amend(words, label=ADDED_ON_WAKE)


class _Said:
    """What the person said: ``now``, and ``all`` that no session has heard for certain yet.

    ``asked_about``: what a clarification has heard and no brief holds yet. ``edited``: they have changed the brief
    by hand since the work was told of it.
    """

    def __init__(
        self, now: str, all_of_it: list[str], asked_about: list[str], edited: bool, language: str
    ) -> None:
        self.now = now
        self.all = all_of_it
        self.asked_about = asked_about
        self.edited = edited
        self._language = language

    def request(self, ctx: Ctx) -> str:
        """What is asked about first, by who has heard nothing of it."""
        return "\n\n".join(dict.fromkeys([*self.asked_about, *self.all])) or _NO_REQUEST.spoken(
            self._language
        )

    def go_on_asking(self, ctx: Ctx) -> str:
        """What a clarification that was cut off is told, with what came on top."""
        return "\n\n".join([GO_ON_ASKING.spoken(self._language), *self.all])

    def begin(self, ctx: Ctx) -> str:
        """What the work begins with: all of what was settled."""
        brief = _DO.spoken(self._language).format(brief=ctx.get(CLARIFY, ""))
        return "\n\n".join([brief, *self._goal(ctx, _JUDGED_BY)])

    def go_on(self, ctx: Ctx) -> str:
        """What the work goes on with: it has the whole story, and is told only what is new."""
        anew = []
        if self.edited or CLARIFY in ctx["_results"]:
            anew.append(_BRIEF_ANEW.spoken(self._language).format(brief=ctx.get(CLARIFY, "")))
        if SET_GOAL in ctx["_results"]:
            anew += self._goal(ctx, _GOAL_ANEW)
        return "\n\n".join([*self.all, *anew, _GO_ON.spoken(self._language)])

    def _goal(self, ctx: Ctx, words: Words) -> list[str]:
        goal = ctx.get(GOAL_KEY)
        if not isinstance(goal, Goal) or not goal.complete():
            return []
        return [words.spoken(self._language).format(goal=goal.prompt_block())]


class _Replacing:
    """The clarification's gate: the goal goes before a new brief is frozen, so that one that stands is always its own.

    Killed between the two, the next run would take the old checks for those of the new request.
    """

    def __init__(self, gate: Gate | None, goal: Path) -> None:
        self._gate = gate
        self._goal = goal

    def __call__(self, result: StepResult, ctx: Ctx) -> bool | Awaitable[bool]:
        if Brief.last_in(result.text).complete():
            former = Goal.load(self._goal)
            if former is not None and former.complete():
                # Whoever sets the next one is shown it all the same.
                ctx[FORMER_KEY] = former
            self._put_away(ctx)
        assert self._gate is not None, "a clarification is always looked at"
        return self._gate(result, ctx)

    def _put_away(self, ctx: Ctx) -> None:
        try:
            put_away(self._goal)
        except OSError as error:
            words = Words(*(text.format(path=self._goal, why=error.strerror) for text in _GOAL_STAYS))
            tell_words(ctx, words)


class _Listener:
    """Passes events on, and crosses the words out once a step that they are for has heard them.

    That is the work; or the clarification, while there is no brief: what it is told it asks about, and freezes. Until
    it has, that stays known as the request.
    """

    def __init__(self, said: _Said, ctx: Ctx, on_event: OnEvent | None) -> None:
        self._said = said
        self._ctx = ctx
        self._on_event = on_event
        self._step = ""

    def __call__(self, event: Event) -> None:
        if event.kind == "step":
            self._step = event.text
        elif event.kind in ("text", "thinking", "tool_call") and self._step in (CLARIFY, WORK):
            # An answer proves that what came before it is in the transcript.
            lineage = self._ctx.get("_lineage")
            if lineage is not None and not event.payload.get("subagent", True):
                self._cross_out(lineage)
        if self._on_event is not None:
            self._on_event(event)

    def _cross_out(self, lineage: Lineage) -> None:
        said = self._said
        if self._step == CLARIFY:
            lineage.ask_about(*said.all)
            said.asked_about = [*said.asked_about, *said.all]
        else:
            lineage.heard(*said.all)
        said.all = []
        brief = self._ctx.get(BRIEF_KEY)
        if self._step == WORK and isinstance(brief, Brief):
            lineage.go_by(brief.digest())


def _is_edited(path: Path, lineage: Lineage) -> bool:
    """Whether the person has changed the brief by hand since the work was told of it."""
    brief = Brief.load(path)
    return brief is not None and brief.complete() and lineage.brief not in ("", brief.digest())
