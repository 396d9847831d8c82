"""One step in flight: its attempts, and the child and the session of each.

Everything here happens on the event loop's thread; `Runtime` brings a person's orders over to it. What an order
means is in `flower.core.orders`, what a failure means in `flower.core.recovery`, who works in `flower.core.children`,
what goes on within an attempt in `flower.core.turns`; the flight carries it out.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flower.core.agent import AgentSpec
from flower.core.children import Children
from flower.core.claude import ChildFailed, Conversation
from flower.core.events import Event
from flower.core.failures import is_thinking_refused
from flower.core.lease import DYING_CHILD_SECONDS, wait_for_child
from flower.core.orders import Orders
from flower.core.recovery import Failure, Recovery
from flower.core.result import StepResult
from flower.core.succession import FULL, REFUSED, Succession
from flower.core.transcripts import Glimpse
from flower.core.turns import Turns
from flower.core.unheard import Unheard
from flower.core.waits import Waits
from flower.core.windows import Windows
from flower.core.words import Words

if TYPE_CHECKING:
    from flower.core.runtime import Runtime

logger = logging.getLogger(__name__)


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
        self._orders = Orders()
        self._waits = Waits(self.result, runtime.language, emit)
        self._recovery = Recovery(
            self.result, runtime.resilience, runtime.child_environment(), self._waits, runtime.probe
        )
        self._succession = Succession(
            runtime.handoff,
            Windows(runtime.child_environment(), spec.model),
            self.result,
            runtime.workbench.notes if runtime.workbench is not None else None,
            runtime.language,
            emit,
            self._record_handoff,
        )
        self._turns = Turns(runtime, self.result, self._recovery, self._waits, emit, self._succession)
        self._children = Children(runtime, spec, self.result, self._turns.spending, self._tell)
        self._conversation: Conversation | None = None
        self._chores: set[asyncio.Task[None]] = set()
        self._unheard = Unheard()
        self._plain: set[str] = set()

    # Orders

    def go_on(self, message: str, only_held: bool = False) -> None:
        """Break the turn off if one runs, and go on with the words."""
        if self._orders.go_on(message, only_held):
            self._break_off()

    def hold(self) -> None:
        """Break the turn off and wait for `go_on` or `stop`."""
        self._orders.hold()
        self._break_off()

    def stop(self, reason: str) -> None:
        """Break the turn off and land."""
        self._orders.stop(reason)
        self._break_off()

    def say(self, text: str) -> None:
        """A remark for the turn that runs; for the next one if none does, or the next step once this one landed."""
        if self.landed:
            self.runtime.keep(text)
        elif self._conversation is not None and self._conversation.in_turn and self._listens():
            self._chore(self._speak(self._conversation, text), "flower-say")
        else:
            self._orders.remark(text)

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
            if self.runtime.workbench is not None:
                await asyncio.to_thread(self.runtime.workbench.refresh)
            self.result.error = await self._attempts(prompt)
            self.result.ok = self.result.error is None
        except OSError as error:
            self.result.error = f"{error.strerror}: {error.filename}" if error.filename else str(error)
        except asyncio.CancelledError:
            # Nobody cancels a flight but a loop that ends under it.
            self.result.error = self.runtime.INTERRUPTED
            raise
        finally:
            self.landed = True
            self.result.ended_at = time.time()
            self.result.text = self._turns.prose
            # What is still being asked of a child that has ended would wait for an answer in vain.
            for chore in self._chores:
                chore.cancel()
            await asyncio.gather(*self._chores, return_exceptions=True)
            for remark in [*self._unheard.remarks(), *self._orders.take_remarks()]:
                self.runtime.keep(remark)

    async def _attempts(self, task: str) -> str | None:
        """Try until it is done, or not worth trying; returns the error, None when it ended well."""
        coming: _Attempt | _End = _Attempt(task, self._resume)
        while isinstance(coming, _Attempt):
            failure = await self._attempt(coming.words, coming.session)
            coming = await self._after(failure, coming.words, task)
        return coming.error

    async def _after(self, failure: Failure | None, words: str, task: str) -> "_Attempt | _End":
        """What follows an attempt with these words at the step's task."""
        if self._orders.ending is not None:
            return _End(self._orders.ending)
        if failure is None:
            return self._successor() if self._succession.ready else _End(None)
        if failure.text not in self.result.errors:
            self.result.errors.append(failure.text)
        if self._succession.overflowed(failure.text):
            self._succession.degrade(task, FULL)
            return self._successor()
        if is_thinking_refused(failure.text):
            if await self._leave_out_thinking():
                self.result.attempts += 1
                return await self._again(words)
            # Even without it: the session is dead, and what it did isn't.
            if self._succession.enabled:
                self._succession.degrade(task, REFUSED)
                return self._successor()
        if await self._outlast(failure):
            return await self._again(words)
        if self._succession.begun and self._orders.ending is None:
            # It was to write its document, and can't: what it did goes on without it.
            first_line = failure.text.splitlines()[0]
            self._succession.degrade(task, Words(first_line, first_line))
            return self._successor()
        return _End(self._orders.ending or failure.text)

    async def _again(self, words: str) -> "_Attempt":
        """The same once more: in the session that has come about, else where the step began."""
        session = self.result.session_id if await self._has_transcript() else self._resume
        if session is not None and session != self._resume:
            self._fork, self._resume_at = False, None
        self.result.resumed = self.result.resumed or session is not None
        return _Attempt(self._words_again(words, session is not None), session)

    def _successor(self) -> "_Attempt | _End":
        """A new session with what the last one has left, unless there were too many."""
        problem = self._succession.brake()
        return self._pass_on() if problem is None else _End(problem)

    def _pass_on(self) -> "_Attempt":
        """What the successor is told; the session before it is done with."""
        self._resume, self._fork, self._resume_at = None, False, None
        self._orders.remark(*self._unheard.take())
        return _Attempt(self._succession.pass_on(), None)

    async def _attempt(self, prompt: str, session: str | None) -> Failure | None:
        """One child, and as many turns in it as the person's orders make; returns why it failed, if it did."""
        self._unheard.begin()
        if self._orders.ending is not None:
            return None
        try:
            conversation = self._conversation = await self._children.prepare(
                session, self._fork, self._resume_at
            )
        except ChildFailed as error:
            return Failure(str(error))
        try:
            await conversation.open()
            if self._succession.begun:
                return await self._turns.write_handoff(conversation, prompt)
            text = self._unheard.opening = await self._first_words(prompt)
            if text is not None and self._is_new(session):
                text = await self._with_index(text)
            failure = None
            while text is not None:
                failure = await self._turns.take(conversation, text)
                if self._succession.begun and failure is None:
                    self._succession.call_off()
                elif self._succession.begun and self._orders.ending is None:
                    return await self._turns.write_handoff(conversation, prompt)
                text = await self._next_words(failure)
            return failure
        except ChildFailed as error:
            return Failure(str(error), broken=True)
        finally:
            if self._orders.ending is not None:
                # Closed in good order, the CLI would first take up what is still queued, and call the model for it.
                conversation.terminate()
            self._conversation = None
            await conversation.close()
            await self._settle(conversation)

    async def _leave_out_thinking(self) -> bool:
        """Feed the session back without thinking from now on; False when there is none, or it was done already."""
        session = self.result.session_id
        if session is None or session in self._plain or not await self._has_transcript():
            return False
        self._plain.add(session)
        self.runtime.store.leave_out_thinking(session)
        return True

    def _record_handoff(self, session: str, document: Path) -> None:
        if self.runtime.on_handoff is not None:
            self.runtime.on_handoff(session, document)

    async def _outlast(self, failure: Failure) -> bool:
        """Until another attempt makes sense, or an order comes; False when the step ends here."""
        patience = asyncio.create_task(self._recovery.outlast(failure), name="flower-recovery")
        ordered = asyncio.create_task(self._orders.given.wait(), name="flower-order")
        await asyncio.wait({patience, ordered}, return_when=asyncio.FIRST_COMPLETED)
        again = patience.result() if patience.done() else True
        for task in (patience, ordered):
            task.cancel()
        await asyncio.gather(patience, ordered, return_exceptions=True)
        if self._orders.given.is_set():
            self._orders.remark(*filter(None, [await self._orders.taken()]))
        return again and self._orders.ending is None

    def _words_again(self, text: str, resumed: bool) -> str:
        """What the next child is told first: all that the last one had no time to hear, and to go on."""
        if self._unheard.opening is None:
            return text
        lost = self._unheard.take()
        if self._unheard.opening in lost:
            return "\n\n".join(lost)
        self._orders.remark(*lost)
        return self.runtime.resilience.words_to_resume(self.runtime.language) if resumed else text

    async def _first_words(self, prompt: str) -> str | None:
        """The prompt, and what was said while the child came up; None when it should not begin at all."""
        words = await self._orders.taken()
        if self._orders.ending is not None:
            return None
        remarks = self._orders.take_remarks()
        return "\n\n".join(part for part in (prompt, words, *remarks, *self.runtime.take_mail()) if part)

    def _is_new(self, session: str | None) -> bool:
        return session is None or (self.result.session_id != session and not self._fork)

    async def _with_index(self, text: str) -> str:
        """The words, after what lies on the workbench: a session is told once, in its first message."""
        workbench = self.runtime.workbench
        if workbench is None or not self.spec.workbench:
            return text
        index = self._unheard.index = await asyncio.to_thread(workbench.prompt_block, self.runtime.language)
        return f"{index}\n\n{text}"

    async def _next_words(self, failure: Failure | None) -> str | None:
        """What to say after a turn: the person's, if it was broken off or if some came too late; None to leave it."""
        words = await self._orders.taken()
        if self._orders.ending is not None:
            return None
        remarks = self._orders.take_remarks()
        if failure is not None and failure.broken:
            self._orders.remark(*filter(None, [words]), *remarks)  # for the next child's first words
            return None
        if words is None:
            return "\n\n".join(remarks) or None
        self._emit(Event("interrupt", words, payload={"step": self.result.step}))
        return "\n\n".join(part for part in (words, self.runtime.interrupt_note, *remarks) if part)

    # In between

    async def _settle(self, conversation: Conversation) -> None:
        """After a child: find out what it never heard and what it cost, and take in what the store lacks."""
        session = self.result.session_id
        if session is None:
            return

        # That it was to write its document is nobody else's business.
        said = {
            uuid: text for uuid, text in conversation.unanswered.items() if text != self._succession.prompt
        }

        def salvage() -> Glimpse | None:
            folder = self.runtime.folder
            if not wait_for_child(folder.leases, session, DYING_CHILD_SECONDS):
                return None
            glimpse = folder.glimpse(session, said)
            folder.salvage(self.runtime.store, session)
            return glimpse

        try:
            seen = await asyncio.to_thread(salvage)
        except Exception:
            # The file stays where it is, and the next start tries again.
            logger.exception("could not take in the transcript of %s", session)
            return
        if seen is not None:
            self._unheard.settle(said, seen.heard)
            # What a turn cost that was cut off is in no result, but the CLI writes it down when it ends.
            self._turns.settle(seen.cost)

    async def _has_transcript(self) -> bool:
        session = self.result.session_id
        return session is not None and await asyncio.to_thread(self.runtime.has_session, session)

    def _tell(self, words: Words) -> None:
        self._emit(Event("notice", words.spoken(self.runtime.language), payload=words._asdict()))

    def _listens(self) -> bool:
        """Whether words can go into the running turn: not once it is broken off, nor while it writes its handoff."""
        return not self._orders.given.is_set() and not self._succession.begun

    def _break_off(self) -> None:
        if self._conversation is None or (self._succession.begun and self._orders.ending is None):
            return  # a handoff is written to its end; what was ordered, its successor is told
        if self._conversation.in_turn:
            self._chore(self._conversation.interrupt(), "flower-interrupt")
        elif self._orders.ending is not None:
            # It is still coming up, and nothing has been said in it: there is no turn to break off.
            self._conversation.terminate()

    async def _speak(self, conversation: Conversation, text: str) -> None:
        try:
            await conversation.say(text)
        except (ChildFailed, asyncio.CancelledError):
            # The step ended first; the words are not lost with it.
            self._orders.remark(text)

    def _chore(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)


@dataclass(frozen=True)
class _Attempt:
    """One that is to be made: the words to begin with, and the session to go on in; None is a new one."""

    words: str
    session: str | None


@dataclass(frozen=True)
class _End:
    """There is no further attempt; ``error`` says why it did not end well, if it didn't."""

    error: str | None
