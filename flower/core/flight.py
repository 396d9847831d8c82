"""One step in flight: its attempts, its turns, and what a person orders meanwhile.

Everything here happens on the event loop's thread; `Runtime` brings orders from others over to it. An order never
acts on the conversation's reader: it is noted, the turn is asked to end, and what comes next is decided when it
has ended.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from flower.core.agent import AgentSpec, build_options
from flower.core.claude import ChildFailed, Conversation, Mirror, api_error_of, refusal_of, session_of
from flower.core.events import Event, context_of, is_synthetic, normalize
from flower.core.guards import delegate_guard, merge_hooks, whitelist_guard
from flower.core.lease import child_lock, wait_for_child
from flower.core.resilience import classify
from flower.core.result import StepResult
from flower.core.tether import tethered
from flower.core.words import Words

if TYPE_CHECKING:
    from flower.core.runtime import Runtime

logger = logging.getLogger(__name__)

# After a SIGKILL of an owner its child has three seconds to end in order, and three to be killed.
DYING_CHILD_SECONDS = 12.0


@dataclass(frozen=True)
class Failure:
    """Why a turn did not end well. ``broken``: its child is no more."""

    text: str
    broken: bool = False


class Flight:
    """A step from take-off to landing. `fly` it once; the orders may come at any time."""

    def __init__(
        self,
        runtime: "Runtime",
        spec: AgentSpec,
        step: str,
        resume: str | None,
        fork: bool,
        resume_at: str | None,
        emit: Callable[[Event], None],
    ) -> None:
        self.runtime = runtime
        self.spec = spec
        self.result = StepResult(step=step)
        self.landed = False
        self.loop = asyncio.get_running_loop()
        self._resume, self._fork, self._resume_at = resume, fork, resume_at
        self._emit = emit
        self._conversation: Conversation | None = None
        self._chores: set[asyncio.Task[None]] = set()
        self._held = False
        self._words: str | None = None
        self._ending: str | None = None
        self._ordered = asyncio.Event()
        self._remarks: list[str] = []
        self._named: str | None = None
        self._prose: list[str] = []
        self._spent_before = 0.0
        self._session_total = 0.0
        self._baseline = 0.0

    # Orders

    def go_on(self, message: str, only_held: bool = False) -> None:
        """Break the turn off if one runs, and go on with the words."""
        if only_held and not self._held:
            return
        self._held = False
        self._words = "\n".join(part for part in (self._words, message) if part)
        self._order()

    def hold(self) -> None:
        """Break the turn off and wait for `go_on` or `stop`."""
        self._held = True
        self._words = self._words or ""
        self._order()

    def stop(self, reason: str) -> None:
        """Break the turn off and land."""
        self._ending = self._ending or reason
        self._order()

    def say(self, text: str) -> None:
        """A remark for the turn that runs; for the next one if none does, or the next step once this one landed."""
        if self.landed:
            self.runtime.keep(text)
        elif self._conversation is not None and self._conversation.in_turn and not self._ordered.is_set():
            self._chore(self._speak(self._conversation, text), "flower-say")
        else:
            self._remarks.append(text)

    def abandon(self, reason: str) -> None:
        """The process is about to end: make the result say so."""
        self.result.ok = False
        self.result.error = reason
        self.result.ended_at = time.time()

    def terminate(self) -> None:
        if self._conversation is not None:
            self._conversation.terminate()

    # The flight

    async def fly(self, prompt: str) -> None:
        """Take the step to its end. What went wrong is in the result; only a bug raises."""
        self.result.started_at = time.time()
        try:
            self.result.error = await self._attempts(prompt)
            self.result.ok = self.result.error is None
        except OSError as error:
            self.result.error = f"{error.strerror}: {error.filename}" if error.filename else str(error)
        finally:
            self.landed = True
            self.result.ended_at = time.time()
            self.result.text = "\n".join(self._prose)
            # What is still being asked of a child that has ended would wait for an answer in vain.
            for chore in self._chores:
                chore.cancel()
            await asyncio.gather(*self._chores, return_exceptions=True)
            for remark in self._remarks:
                self.runtime.keep(remark)

    async def _attempts(self, prompt: str) -> str | None:
        """Try until it is done, or not worth trying; returns the error, None when it ended well."""
        resilience = self.runtime.resilience
        session, text = self._resume, prompt
        while True:
            failure = await self._attempt(text, session)
            if self._ending is not None:
                return self._ending
            if failure is None:
                return None
            self._note_error(failure.text)
            if self.result.attempts >= resilience.max_attempts or not resilience.should_retry(
                classify(failure.text)
            ):
                return failure.text
            await self._wait_for_better_times()
            if self._ending is not None:
                return self._ending
            self.result.attempts += 1
            session = self.result.session_id if await self._has_transcript() else self._resume
            if session is not None and session != self._resume:
                self._fork, self._resume_at = False, None
            self.result.resumed = self.result.resumed or session is not None
            text = resilience.resume_prompt if session is not None else prompt

    async def _attempt(self, prompt: str, session: str | None) -> Failure | None:
        """One child, and as many turns in it as the person's orders make; returns why it failed, if it did."""
        if self._ending is not None:
            return None
        try:
            conversation = self._conversation = await self._prepare(session)
        except ChildFailed as error:
            return Failure(str(error))
        try:
            await conversation.open()
            text: str | None = await self._first_words(prompt)
            failure = None
            while text is not None:
                failure = await self._turn(conversation, text)
                text = await self._next_words(failure)
            return failure
        except ChildFailed as error:
            return Failure(str(error), broken=True)
        finally:
            if self._ending is not None:
                # Closed in good order, the CLI would first take up what is still queued, and call the model for it.
                conversation.terminate()
            self._conversation = None
            await conversation.close()
            await self._settle()

    async def _first_words(self, prompt: str) -> str | None:
        """The prompt, and what was said while the child came up; None when it should not begin at all."""
        words = await self._order_taken()
        if self._ending is not None:
            return None
        remarks, self._remarks = self._remarks, []
        return "\n\n".join(part for part in (prompt, words, *remarks, *self.runtime.take_mail()) if part)

    async def _next_words(self, failure: Failure | None) -> str | None:
        """What to say after a turn: the person's, if it was broken off or if some came too late; None to leave it."""
        words = await self._order_taken()
        if self._ending is not None:
            return None
        if failure is not None and failure.broken:
            self._remarks = [*filter(None, [words]), *self._remarks]  # for the next child's first words
            return None
        remarks, self._remarks = self._remarks, []
        if words is None:
            return "\n\n".join(remarks) or None
        self._emit(Event("interrupt", words, payload={"step": self.result.step}))
        return "\n\n".join(part for part in (words, self.runtime.INTERRUPT_NOTE, *remarks) if part)

    async def _prepare(self, session: str | None) -> Conversation:
        """A conversation to be opened: in the session if it can be had, else in a new one. Raises `ChildFailed`."""
        runtime = self.runtime
        self._baseline = self._session_total = 0.0
        if session is not None and not runtime.claim(session):
            self._tell(
                Words(
                    "上次那段对话正被另一个 flower 用着,这次另开一段新的。",
                    "the last conversation is in use by another flower; this run begins a new one.",
                )
            )
            session = None
        if session is not None:
            self._baseline = self._session_total = await asyncio.to_thread(self._restore, session)
        named = runtime.new_session_id() if session is None or self._fork else None
        self.result.session_id = named or session
        assert self.result.session_id is not None
        lock = child_lock(runtime.folder.leases, self.result.session_id)
        environment = {**runtime.child_environment(), **self.spec.env}
        options = build_options(
            self.spec,
            cwd=runtime.workspace,
            session_store=Mirror(runtime.store, runtime.project_key),
            session_id=named,
            resume=session,
            fork=self._fork and session is not None,
            resume_at=self._resume_at if session is not None else None,
            portable=runtime.portable,
            hooks=merge_hooks(self._guards(), self.spec.hooks),
            environment=tethered(environment, cli=runtime.cli, lock=lock),
            cli_path=runtime.launcher,
        )
        return Conversation(options, lock)

    def _restore(self, session: str) -> float:
        """Make the CLI's file what the store feeds back; returns what the session has cost so far."""
        folder = self.runtime.folder
        if not wait_for_child(folder.leases, session, DYING_CHILD_SECONDS):
            raise ChildFailed("an earlier child of this session is still alive")
        folder.salvage(self.runtime.store, session)
        entries = folder.restore(self.runtime.store, session)
        costs = [entry.get("totalCostUSD") for entry in entries if entry.get("type") == "cost-state"]
        return float(costs[-1] or 0.0) if costs else 0.0

    def _guards(self) -> dict[str, list[Any]]:
        if self.spec.delegate_only:
            return {"PreToolUse": [delegate_guard(allow_glance=self.spec.glance)]}
        guard = whitelist_guard(self.spec.allowed_tools, role=self.spec.name)
        return {"PreToolUse": [guard]} if guard is not None else {}

    async def _turn(self, conversation: Conversation, text: str) -> Failure | None:
        """One prompt and all that follows from it; returns why it did not end well, if it didn't."""
        failure: Failure | None = None
        complaints: list[str] = []
        try:
            async with aclosing(conversation.turn(text)) as messages:
                async for message in messages:
                    complaint = api_error_of(message)
                    if complaint:
                        complaints.append(complaint)
                    if type(message).__name__ == "ResultMessage":
                        failure = _failure_of(message, complaints)
                        complaints = complaints if failure else []
                    self._see(message, failure)
                    refusal = refusal_of(message)
                    if refusal is not None:
                        conversation.terminate()
                        return Failure(refusal, broken=True)
        except ChildFailed as error:
            return failure or Failure("\n".join([*complaints, str(error)]), broken=True)
        return failure

    def _see(self, message: Any, failure: Failure | None) -> None:
        """Take from a message what the result needs, and tell the subscriber."""
        session = session_of(message)
        if session is not None:
            self._see_session(session)
        match type(message).__name__:
            case "AssistantMessage" if not message.parent_tool_use_id and not is_synthetic(message):
                self.result.context = context_of(message.usage) or self.result.context
                self._prose += [
                    block.text for block in message.content if type(block).__name__ == "TextBlock"
                ]
            case "ResultMessage":
                self._see_result(message, failure)
                return
        for event in normalize(message):
            self._emit(event)

    def _see_result(self, message: Any, failure: Failure | None) -> None:
        self.result.num_turns += message.num_turns
        # The SDK reports the session's total since its beginning, over all resumes.
        total = max(message.total_cost_usd or 0.0, self._session_total)
        own = total - self._session_total
        self._session_total = total
        self.result.cost_usd = self._spent_before + total - self._baseline
        # The CLI's report of what a killed owner left behind is a result too, of no turn at all.
        if message.num_turns or message.is_error:
            (event,) = normalize(message)
            about = {**event.payload, "cost_usd": own, "error": failure.text if failure else None}
            self._emit(replace(event, payload=about))

    def _see_session(self, session: str) -> None:
        if session == self.result.session_id and self._named == session:
            return
        self._named = session
        self.result.session_id = session
        if self.runtime.on_session is not None:
            self.runtime.on_session(session)

    # In between

    async def _order_taken(self) -> str | None:
        """The words to go on with if the turn was broken off, None if it ended by itself. Waits while held."""
        while self._held and self._ending is None:
            # No limit: a person is thinking. Whoever leaves a hold behind sends `go_on` (the daemon does).
            self._ordered.clear()
            await self._ordered.wait()
        self._ordered.clear()
        words, self._words = self._words, None
        return words

    async def _wait_for_better_times(self) -> None:
        """Until the network is there and the backoff is over, or an order comes."""
        resilience, attempt = self.runtime.resilience, self.result.attempts
        self._emit(
            Event("retry", self.result.errors[-1], payload={"step": self.result.step, "attempt": attempt})
        )

        def notify(line: str) -> None:
            self._emit(Event("retry", line, payload={"step": self.result.step, "attempt": attempt}))

        async def wait() -> None:
            await resilience.wait_online(notify, env=self.runtime.child_environment())
            await asyncio.sleep(resilience.delay_for(attempt))

        waiting = asyncio.create_task(wait(), name="flower-wait")
        ordered = asyncio.create_task(self._ordered.wait(), name="flower-order")
        _, unfinished = await asyncio.wait({waiting, ordered}, return_when=asyncio.FIRST_COMPLETED)
        for task in unfinished:
            task.cancel()
        await asyncio.gather(waiting, ordered, return_exceptions=True)
        await self._order_taken()

    async def _settle(self) -> None:
        """After a child: add up its cost, and take in what its file has beyond the store."""
        self._spent_before += self._session_total - self._baseline
        self._baseline = self._session_total
        session = self.result.session_id
        if session is None:
            return

        def salvage() -> None:
            folder = self.runtime.folder
            if wait_for_child(folder.leases, session, DYING_CHILD_SECONDS):
                folder.salvage(self.runtime.store, session)

        try:
            await asyncio.to_thread(salvage)
        except Exception:
            # The file stays where it is, and the next start tries again.
            logger.exception("could not take in the transcript of %s", session)

    async def _has_transcript(self) -> bool:
        session = self.result.session_id
        return session is not None and await asyncio.to_thread(self.runtime.has_session, session)

    def _note_error(self, text: str) -> None:
        if text not in self.result.errors:
            self.result.errors.append(text)

    def _tell(self, words: Words) -> None:
        self._emit(Event("notice", words.spoken(self.runtime.language), payload=words._asdict()))

    def _order(self) -> None:
        self._ordered.set()
        if self._conversation is None:
            return
        if self._conversation.in_turn:
            self._chore(self._conversation.interrupt(), "flower-interrupt")
        elif self._ending is not None:
            # It is still coming up, and nothing has been said in it: there is no turn to break off.
            self._conversation.terminate()

    async def _speak(self, conversation: Conversation, text: str) -> None:
        try:
            await conversation.say(text)
        except (ChildFailed, asyncio.CancelledError):
            # The step ended first; the words are not lost with it.
            self._remarks.append(text)

    def _chore(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)


def _failure_of(message: Any, complaints: list[str]) -> Failure | None:
    """What a result says went wrong, in its own words; None when all went well."""
    if not message.is_error and message.subtype == "success":
        return None
    said = [*complaints, *(message.errors or ()), message.result or ""]
    text = "\n".join(dict.fromkeys(part.strip() for part in said if part and part.strip()))
    return Failure(text or message.subtype)
