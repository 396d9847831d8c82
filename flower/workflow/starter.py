"""The flow behind a bare ``flower``: ask until it is clear, say how it will be judged, have it done, have it judged.

What the person said, and when it counts as heard, is in `flower.workflow.remarks`; what the steps are told of it in
`flower.workflow.prompts`.
"""

import os
from dataclasses import replace
from pathlib import Path

from flower.core.events import Event
from flower.core.guards import isolation_obstacle
from flower.core.human import HumanChannel
from flower.core.lineage import Lineage
from flower.core.runtime import OnEvent, Runtime
from flower.core.words import Words, language_of
from flower.core.workbench import Workbench
from flower.workflow.base import Ctx, OnStep, Step, Workflow
from flower.workflow.clarify import clarify_step
from flower.workflow.crew import CODER_PROMPT, lead_of
from flower.workflow.former_goal import putting_goal_away
from flower.workflow.goal import goal_step, with_goal
from flower.workflow.prompts import Prompts
from flower.workflow.remarks import Listener, Remarks
from flower.workflow.steps import CLARIFY, SET_GOAL, WORK
from flower.workflow.waking import BRIEF_NAME, GOAL_NAME, archive, put_away, wake_state, workbench_of

__all__ = ["CLARIFY", "CODER_PROMPT", "WORK", "StarterFlow", "starter_flow", "wake_state", "workbench_of"]

_EDITED = Words(
    "你改过需求确认书,这次按改过的做。", "you have edited the brief: this run goes by what it says now."
)

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
        # What was done here with worktrees, or without them, has its pages elsewhere, and is over just the same.
        elsewhere = workbench_of(folder, isolate=not isolate) / "notes"
        put_away(elsewhere / brief_name, elsewhere / goal_name)

    channel = HumanChannel(
        log_path=workbench.notes / log_name,
        amend_path=brief_path,
        max_asks=max_asks,
        timeout_s=timeout_s,
        language=spoken,
    )
    remarks = Remarks(words, brief_path, lineage)
    prompts = Prompts(remarks, spoken)

    clarifying = clarify_step(
        channel, brief_path=brief_path, prompt=prompts.ask, name=CLARIFY, retries=1, language=spoken
    )
    clarifying = replace(clarifying, resume_prompt=prompts.go_on_asking)
    clarifying = putting_goal_away(clarifying, goal_path)
    if clarify_only:
        return StarterFlow([clarifying], remarks, channel, workbench)

    lead = lead_of(channel, instructions, worker_prompt, isolate=isolate, language=spoken)
    work = Step(WORK, lead, prompts.work, resume_prompt=prompts.go_on_working)
    if not goal:
        return StarterFlow([clarifying, work], remarks, channel, workbench)

    setting = goal_step(
        channel,
        goal_path=goal_path,
        brief_key=CLARIFY,
        name=SET_GOAL,
        always_set=remarks.edited or (bool(words) and brief_path.exists()),
        retries=1,
        can_run=judge_can_run,
        language=spoken,
    )
    work = with_goal(
        work, channel, goal_path=goal_path, rounds=rounds, can_run=judge_can_run, language=spoken
    )
    return StarterFlow([clarifying, setting, work], remarks, channel, workbench)


class StarterFlow(Workflow):
    """See `starter_flow`."""

    def __init__(
        self, steps: list[Step], remarks: Remarks, channel: HumanChannel, workbench: Workbench
    ) -> None:
        super().__init__(steps, name="starter", channel=channel, workbench=workbench)
        self._remarks = remarks

    async def run(
        self, runtime: Runtime, *, on_event: OnEvent | None = None, on_step: OnStep | None = None
    ) -> Ctx:
        """See `Workflow.run`."""
        lineage = Lineage.open(runtime.run_dir, runtime.workspace)
        self._remarks.take_in(lineage, self.channel)
        if lineage.notice is not None:
            # Written to, a damaged file is set aside, and whoever opens it next finds nothing to tell of.
            runtime.notices.append(lineage.notice)
        listener = Listener(self._remarks, self.context, on_event)
        if self._remarks.edited:
            listener(Event("notice", _EDITED.spoken(runtime.language), payload=_EDITED._asdict()))
        return await super().run(runtime, on_event=listener, on_step=on_step)
