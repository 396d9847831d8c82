"""The children of one step: each a CLI with the session, the guards and the money it is to have."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flower.core.agent import AgentSpec, CompactPolicy, build_options
from flower.core.claude import ChildFailed, Conversation, Mirror
from flower.core.guards import delegate_guard, merge_hooks, whitelist_guard, workbench_hooks
from flower.core.lease import DYING_CHILD_SECONDS, child_lock, wait_for_child
from flower.core.result import StepResult
from flower.core.spending import Spending
from flower.core.tether import tethered
from flower.core.words import Words

if TYPE_CHECKING:
    from flower.core.runtime import Runtime

IN_USE = Words(
    "上次那段对话正被另一个 flower 用着,这次另开一段新的。",
    "the last conversation is in use by another flower; this run begins a new one.",
)


class Children:
    """Makes them one after another; ``tell`` takes a quiet line for the person."""

    def __init__(
        self,
        runtime: "Runtime",
        spec: AgentSpec,
        result: StepResult,
        spending: Spending,
        tell: Callable[[Words], None],
    ) -> None:
        self._runtime = runtime
        self._spec = spec
        self._result = result
        self._spending = spending
        self._tell = tell

    async def prepare(self, session: str | None, fork: bool, resume_at: str | None) -> Conversation:
        """A conversation to be opened: in the session if it can be had, else in a new one. Raises `ChildFailed`."""
        runtime, workbench = self._runtime, self._runtime.workbench
        spent = 0.0
        if session is not None and not runtime.claim(session):
            self._tell(IN_USE)
            session = None
        if session is not None:
            spent = await asyncio.to_thread(self._restore, session)
        self._spending.open(spent)
        budget = self._budget()
        named = runtime.new_session_id() if session is None or fork else None
        self._result.session_id = named or session
        assert self._result.session_id is not None
        lock = child_lock(runtime.folder.leases, self._result.session_id)
        environment = {**runtime.child_environment(), **self._compaction().env(), **self._spec.env}
        options = build_options(
            self._spec,
            cwd=runtime.workspace,
            session_store=Mirror(runtime.store, runtime.project_key),
            session_id=named,
            resume=session,
            fork=fork and session is not None,
            resume_at=resume_at if session is not None else None,
            portable=runtime.portable,
            hooks=merge_hooks(self._guards(), self._spec.hooks),
            add_dirs=[workbench.root] if workbench is not None and workbench.external else [],
            max_budget_usd=budget,
            environment=tethered(environment, cli=runtime.cli, lock=lock),
            cli_path=runtime.launcher,
        )
        return Conversation(options, lock)

    def _restore(self, session: str) -> float:
        """Make the CLI's file what the store feeds back; returns what the session has cost so far."""
        folder = self._runtime.folder
        if not wait_for_child(folder.leases, session, DYING_CHILD_SECONDS):
            raise ChildFailed("an earlier child of this session is still alive")
        folder.salvage(self._runtime.store, session)
        entries = folder.restore(self._runtime.store, session)
        costs = [entry.get("totalCostUSD") for entry in entries if entry.get("type") == "cost-state"]
        return float(costs[-1] or 0.0) if costs else 0.0

    def _budget(self) -> float | None:
        """What the next child may spend, in US dollars: the CLI counts each child alone. Raises `ChildFailed`."""
        left = [self._runtime.budget_left()]
        if self._spec.max_budget_usd is not None:
            left.append(self._spec.max_budget_usd - self._spending.total)
        # The CLI says the number to the person, as it gets it.
        known = [round(each, 4) for each in left if each is not None]
        if known and min(known) <= 0:
            raise ChildFailed("Reached maximum budget: there is nothing left to spend")
        return min(known, default=None)

    def _compaction(self) -> CompactPolicy:
        # A session that hands over must not be summed up behind its back before.
        return self._spec.compact or CompactPolicy("no_summary" if self._runtime.handoff.enabled else "auto")

    def _guards(self) -> dict[str, list[Any]]:
        """The hooks that every role has, with or without a workbench, and those that come with one."""
        spec, workbench, language = self._spec, self._runtime.workbench, self._runtime.language
        guard = (
            delegate_guard(allow_glance=spec.glance, language=language)
            if spec.delegate_only
            else whitelist_guard(spec.allowed_tools, role=spec.name, language=language)
        )
        own = {"PreToolUse": [guard]} if guard is not None else {}
        if workbench is None:
            return own
        more = workbench_hooks(
            workbench,
            delegate_only=False,
            spill_threshold=self._runtime.spill_threshold,
            agents=spec.agents,
            language=language,
        )
        return merge_hooks(own, more)
