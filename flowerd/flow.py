"""What one run consists of: the library's runtime, and the flow that a bare ``flower`` takes. Made, or refused, here.

All of it blocks.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flower.core.events import Event
from flower_protocol.runs import RunOptions, StartRun
from flower_protocol.workspaces import Place
from flowerd.prerequisites import played, refusal_of, rehearsed, require_credentials
from flowerd.probe import Ask
from flowerd.refusal import Refused
from flowerd.run import Prepared

if TYPE_CHECKING:
    from flower.core.runtime import Runtime
    from flower.workflow.starter import StarterFlow


@dataclass(frozen=True, slots=True)
class Flow:
    """A runtime, and what runs in it. ``environment`` leads to its model. `close` it, whatever became of it."""

    runtime: "Runtime"
    workflow: "StarterFlow"
    environment: dict[str, str]
    prepared: Prepared
    closing: contextlib.ExitStack

    def close(self) -> None:
        self.closing.close()

    def round_after(self, event: Event, before: int) -> int:
        """Which round of the work the run is in after ``event``, ``before`` it ``before``; 0 outside of the work."""
        from flower.workflow.starter import WORK

        match event.kind:
            case "step":
                return int(event.text == WORK)
            case "judge":
                return int(event.payload["round"])
            case _:
                return before

    def checks(self) -> int:
        """How many checks the goal has by now."""
        from flower.core.documents import Goal
        from flower.workflow.goal import GOAL_KEY

        goal = self.workflow.context.get(GOAL_KEY)
        return len(goal.checks) if isinstance(goal, Goal) else self.prepared.checks


def examined(place: Place, request: StartRun) -> None:
    """Raises `Refused` for what `opened` would refuse, as far as that shows without opening anything."""
    if request.options.rehearse:
        played(request.options.script, request.language)
    else:
        require_credentials(request.environment, request.language)
    try:
        _require_sense(place, request.options)
    except OSError as error:
        raise refusal_of(error, place.run_dir) from error


def opened(place: Place, request: StartRun, unheard: Sequence[str], *, probe: Ask | None) -> Flow:
    """Ready to run. Raises `Refused`; then nothing is left open, and no file says that anything was begun."""
    from flower.workflow.starter import wake_state

    options, environment = request.options, dict(request.environment)
    with contextlib.ExitStack() as closing:
        if options.rehearse:
            rehearsal, environment = rehearsed(environment, options.script, request.language)
            closing.callback(rehearsal.close)
        require_credentials(environment, request.language)
        try:
            _require_sense(place, options)  # before the runtime makes its folders
            runtime = _runtime(place, options, environment, probe)
            closing.callback(runtime.close)
            runtime.language = request.language
            workflow = _workflow(place, request, unheard)
            runtime.workbench = workflow.workbench
            workflow.workbench.refresh()
        except OSError as error:
            raise refusal_of(error, place.run_dir) from error
        found = wake_state(place.workspace, run_dir=place.run_dir, isolate=options.isolate)
        prepared = Prepared(woke=found["woke"] + 1, checks=found["checks"])
        return Flow(runtime, workflow, environment, prepared, closing.pop_all())


def _runtime(place: Place, options: RunOptions, environment: dict[str, str], probe: Ask | None) -> "Runtime":
    from flower.core.handoff import HandoffPolicy
    from flower.core.runtime import Runtime

    try:
        return Runtime(
            workspace=place.workspace,
            run_dir=place.run_dir,
            trim=options.trim,
            handoff=HandoffPolicy(enabled=options.handoff, window=options.window),
            max_budget_usd=options.budget_usd,
            environment=environment,
            handle_signals=False,
            probe=probe,
        )
    except RuntimeError as error:  # what was there a moment ago is gone
        raise Refused("no-credentials", text=str(error)) from error


def _require_sense(place: Place, options: RunOptions) -> None:
    """Raises `Refused` for a flag that can't take effect in this folder."""
    from flower.core.guards import isolation_obstacle
    from flower.core.workbench import Workbench
    from flower.workflow.starter import wake_state, workbench_of

    workspace = Path(place.workspace)
    if options.isolate:
        bench = Workbench(workspace, home=workbench_of(workspace, isolate=True))
        if isolation_obstacle(bench) is not None:
            raise Refused("no-worktrees", path=place.workspace)
    if options.clarify_only and not options.new:
        found = wake_state(workspace, run_dir=place.run_dir, isolate=options.isolate)
        if found["waking"]:
            raise Refused("already-clarified", path=str(found["brief"]))


def _workflow(place: Place, request: StartRun, unheard: Sequence[str]) -> "StarterFlow":
    from flower.core.lineage import Lineage
    from flower.workflow.starter import starter_flow

    options = request.options
    lineage = Lineage.open(place.run_dir, place.workspace)
    for words in unheard:
        lineage.note(words)
    try:
        return starter_flow(
            request.ask,
            workspace=place.workspace,
            run_dir=place.run_dir,
            new=options.new,
            isolate=options.isolate,
            clarify_only=options.clarify_only,
            goal=options.goal,
            rounds=options.rounds,
            judge_can_run=options.judge_can_run,
            max_asks=None if options.asks < 0 else options.asks,
            timeout_s=options.timeout_s,
            language=request.language,
        )
    except ValueError as error:
        raise Refused("no-request") from error
