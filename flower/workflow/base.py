"""`Step` and `Workflow`: steps one after another, each taken up where its last session left it.

The context of a workflow is one dict that its steps share and `Workflow.run` returns. Names that begin with an
underscore are the workflow's own: ``_runtime _on_event _sessions _results _inherited _lineage _woke _aborted
_failed_at``.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from flower.core.agent import AgentSpec
from flower.core.children import IN_USE
from flower.core.documents import Handoff
from flower.core.events import Event
from flower.core.failures import is_login
from flower.core.lineage import Lineage
from flower.core.result import StepResult
from flower.core.runtime import OnEvent, Runtime
from flower.core.words import Words

Ctx = dict[str, Any]
Prompt = str | Callable[[Ctx], str]
Gate = Callable[[StepResult, Ctx], bool | Awaitable[bool]]
OnReject = Callable[[StepResult, Ctx], str | Awaitable[str]]
When = Callable[[Ctx], bool | Awaitable[bool]]
OnStep = Callable[["Step", StepResult], None]

REJECTED = "rejected"
_OF_ONE_RUN = ("_failed_at", "_aborted")
_GONE = Words(
    "上次的对话已经不在 sessions.db 里,接不上了,从头开始。",
    "the last conversation is no longer in sessions.db: starting from scratch.",
)
_NO_SESSION = Words(
    "步骤 '{step}' 要求 resume_from='{source}',但那一步没有产生 session",
    "step '{step}' wants resume_from='{source}', but that step has no session",
)


class StepAbort(Exception):
    """Raised in a gate: this step fails now, whatever retries are left."""


@dataclass
class Step:
    """One declared unit of work.

    ``name`` is its key across processes: renamed, it starts a new session. ``prompt`` and ``resume_prompt`` are
    texts or functions of the context; the latter is sent when a session is continued across processes, for who
    has the whole story in its context should not be told it again (None: ``prompt`` is sent then too).
    ``resume_from`` names an earlier step of this run whose session goes on (``fork``: a copy of it).

    ``gate(result, ctx)`` judges a result that ended well, once per attempt. Rejected, the step is tried again up
    to ``retries`` times: with ``on_reject`` in the same session, its return being the prompt, else from scratch.
    ``on_fail``: ``stop`` the workflow, ``skip`` to the next step, or ``continue`` as if it had passed. ``when``
    of False leaves the step out. ``reduce`` makes of the result what ``ctx[name]`` holds (its text by default).
    """

    name: str
    spec: AgentSpec
    prompt: Prompt
    resume_from: str | None = None
    fork: bool = False
    retries: int = 0
    gate: Gate | None = None
    on_fail: Literal["stop", "skip", "continue"] = "stop"
    when: When | None = None
    on_reject: OnReject | None = None
    resume_prompt: Prompt | None = None
    reduce: Callable[[StepResult], Any] | None = None

    def render(self, ctx: Ctx, *, resuming: bool = False) -> str:
        """The words to send."""
        prompt = self.resume_prompt if resuming and self.resume_prompt is not None else self.prompt
        return prompt(ctx) if callable(prompt) else prompt


@dataclass
class Workflow:
    """Steps in order, and the context they share.

    ``continuous``: across processes each step without ``resume_from`` continues the session that the step of the
    same name had last; False for a clean start every time. ``context`` is the dict that `run` returns.
    """

    steps: list[Step]
    name: str = "workflow"
    context: Ctx = field(default_factory=dict)
    channel: Any = None
    workbench: Any = None
    continuous: bool = True

    async def run(
        self, runtime: Runtime, *, on_event: OnEvent | None = None, on_step: OnStep | None = None
    ) -> Ctx:
        """Take the steps; returns the context. It went well if ``ctx.get("_failed_at")`` is None.

        Raises `ValueError` for a ``resume_from`` whose step has no session.
        """
        ctx = self._prepare(runtime, on_event)
        for index, step in enumerate(self.steps, start=1):
            if step.when is not None and not await _settled(step.when(ctx)):
                continue
            result = await _StepRun(step, ctx, runtime, on_event, (index, len(self.steps))).take()
            if on_step is not None:
                on_step(step, result)
            if result.ok or step.on_fail == "continue":
                continue
            if step.on_fail == "stop":
                ctx["_failed_at"] = step.name
                break
        return ctx

    def _prepare(self, runtime: Runtime, on_event: OnEvent | None) -> Ctx:
        ctx = self.context
        for name in _OF_ONE_RUN:
            ctx.pop(name, None)
        ctx.update(_runtime=runtime, _on_event=on_event, _sessions={}, _results={})
        ctx["_inherited"] = {}
        notices = [*runtime.notices, runtime.workbench.take_notice() if runtime.workbench else None]
        if self.continuous:
            notices += self._pick_up(runtime, ctx)
        for words in dict.fromkeys(notices):
            if words is not None and on_event is not None:
                on_event(Event("notice", words.spoken(runtime.language), payload=words._asdict()))
        if self.channel is not None and on_event is not None and self.channel.on_event is None:
            self.channel.on_event = on_event
        return ctx

    def _pick_up(self, runtime: Runtime, ctx: Ctx) -> list[Words | None]:
        """Open the lineage, and take over each session that still lives; returns what the person is to know."""
        lineage = Lineage.open(runtime.run_dir, runtime.workspace)
        first_notice = lineage.notice
        ctx["_lineage"] = lineage
        ctx["_woke"] = lineage.bump()
        living = lineage.alive(runtime.is_alive)
        ctx["_sessions"].update(living)
        ctx["_inherited"].update(living)
        gone = lineage.steps.keys() - living.keys()
        notices = [first_notice, lineage.notice, _GONE if gone else None]
        lineage.notice = None
        return notices


class _StepRun:
    """One step of one run: its attempts until it passes, is given up, or aborts."""

    def __init__(
        self, step: Step, ctx: Ctx, runtime: Runtime, on_event: OnEvent | None, place: tuple[int, int]
    ) -> None:
        self.step = step
        self.ctx = ctx
        self.runtime = runtime
        self.on_event = on_event
        self.place = place
        self.lineage: Lineage | None = ctx.get("_lineage")

    async def take(self) -> StepResult:
        step, ctx = self.step, self.ctx
        session, inherited = await self._session()
        self._announce(inherited)
        attempt = 0
        label, prompt = step.name, step.render(ctx, resuming=inherited)
        document = self._left_behind(session) if inherited else None
        if document is not None:
            session, prompt = None, f"{document.prompt_block(self.runtime.language)}\n\n{prompt}"
        fork = step.fork and session is not None
        while True:
            result = await self._run(label, prompt, session, fork)
            passed = await self._passes(result)
            self._judge(result, passed)
            if passed or attempt >= step.retries or "_aborted" in ctx or self._stopped(result):
                break
            attempt += 1
            words = await self._rejection(result)
            if words and result.session_id:
                label, prompt, session, fork = (
                    f"{step.name}#round{attempt + 1}",
                    words,
                    result.session_id,
                    False,
                )
            else:
                session, inherited = await self._session_again(result)
                label, prompt = f"{step.name}#retry{attempt}", step.render(ctx, resuming=inherited)
                fork = step.fork and session is not None
        self._keep(result)
        return result

    async def _session(self) -> tuple[str | None, bool]:
        """The session to go on with, and whether it comes from an earlier process."""
        step = self.step
        if step.resume_from is None:
            session = self.ctx["_inherited"].get(step.name)
            if session is not None and not self.runtime.claim(session):
                # Who begins anew must be told the whole request, not that it goes on.
                self._say(IN_USE)
                session = None
            elif session is not None and not await self._is_there(session):
                self._say(_GONE)
                session = None
            return session, session is not None
        session = self.ctx["_sessions"].get(step.resume_from)
        if session is None:
            raise ValueError(
                _NO_SESSION.spoken(self.runtime.language).format(step=step.name, source=step.resume_from)
            )
        return session, False

    async def _is_there(self, session: str) -> bool:
        """Whether the store has the session, or gets it from what an owner left who has just died."""
        has, recover = self.runtime.has_session, self.runtime.recover
        return has(session) or await asyncio.to_thread(recover, session)

    async def _session_again(self, result: StepResult) -> tuple[str | None, bool]:
        """`_session` for a retry: what was rejected is left alone with all that led to it, what only failed is not."""
        if result.error == REJECTED and self.step.resume_from is None:
            return None, False
        return await self._session()

    def _left_behind(self, session: str | None) -> Handoff | None:
        """What the step's session left to a successor that never began, as the file says by now."""
        path = self.lineage.document_of(self.step.name, session) if self.lineage and session else None
        document = Handoff.load(path) if path is not None else None
        return document if document is not None and document.complete() else None

    def _announce(self, inherited: bool) -> None:
        if self.on_event is not None:
            index, total = self.place
            about = {"index": index, "total": total, "resumed": inherited, "woke": self.ctx.get("_woke", 0)}
            self.on_event(Event("step", self.step.name, payload=about))

    async def _run(self, label: str, prompt: str, session: str | None, fork: bool) -> StepResult:
        # The hook is off before the gate runs: a judge uses the same runtime, and its session is not the step's.
        self.runtime.on_session, self.runtime.on_handoff = self._saw_session, self._saw_handoff
        try:
            return await self.runtime.run(
                self.step.spec, prompt, step_name=label, resume=session, fork=fork, on_event=self.on_event
            )
        finally:
            self.runtime.on_session = self.runtime.on_handoff = None

    def _saw_session(self, session_id: str) -> None:
        if self.lineage is not None:
            self.lineage.propose(self.step.name, session_id)
            self._say_notice(self.lineage)

    def _saw_handoff(self, session_id: str, document: Path) -> None:
        if self.lineage is not None:
            self.lineage.hand_over(self.step.name, session_id, document)
            self._say_notice(self.lineage)

    def _say_notice(self, lineage: Lineage) -> None:
        self._say(lineage.notice)
        lineage.notice = None

    def _say(self, words: Words | None) -> None:
        if words is not None and self.on_event is not None:
            self.on_event(Event("notice", words.spoken(self.runtime.language), payload=words._asdict()))

    async def _passes(self, result: StepResult) -> bool:
        if not result.ok or self.step.gate is None:
            return result.ok
        try:
            return bool(await _settled(self.step.gate(result, self.ctx)))
        except StepAbort as abort:
            self.ctx["_aborted"] = str(abort)
            return False

    def _judge(self, result: StepResult, passed: bool) -> None:
        """What the gate has rejected did not end well; the row was written before it spoke."""
        if result.ok and not passed:
            result.ok = False
            result.error = self.ctx.get("_aborted") or REJECTED
            self.runtime.record()

    async def _rejection(self, result: StepResult) -> str:
        """What to tell the session whose result was rejected; nothing when it failed by itself."""
        if self.step.on_reject is None or result.error != REJECTED:
            return ""
        return await _settled(self.step.on_reject(result, self.ctx)) or ""

    def _stopped(self, result: StepResult) -> bool:
        """Whether another try is not wanted: it was ended from outside, or needs a login first."""
        return is_login(result.error) or result.error in (
            Runtime.STOPPED,
            Runtime.KILLED,
            Runtime.INTERRUPTED,
        )

    def _keep(self, result: StepResult) -> None:
        step, ctx = self.step, self.ctx
        ctx["_results"][step.name] = result
        if result.session_id:
            ctx["_sessions"][step.name] = result.session_id
            if self.lineage is not None and self.runtime.has_session(result.session_id):
                self.lineage.remember(step.name, result.session_id)
        if result.ok:
            ctx[step.name] = step.reduce(result) if step.reduce is not None else result.text
        elif step.on_fail == "continue":
            ctx[step.name] = result.text


async def _settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
