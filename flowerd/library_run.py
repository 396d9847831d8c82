"""A run of the library, in a thread and with an event loop of its own.

So whatever the library or the SDK does, the daemon's loop answers; and a run whose events can't be written as fast
as they come is held up at the source: its thread waits, the CLI's pipe fills, the CLI waits.

The library is imported when the first run needs it: an idle daemon stays small.
"""

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from flower.core.events import Event
from flower_protocol.runs import StartRun
from flower_protocol.workspaces import Place
from flowerd.flow import Flow, examined, opened
from flowerd.oracle import Oracle, SideQuestion
from flowerd.outcome import one_line, outcome_of
from flowerd.probe import Ask
from flowerd.run import Ending, Outcome, Prepared, Settled, Sink
from flowerd.wire import Draft, drafted

if TYPE_CHECKING:
    from flower.core.human import HumanChannel
    from flower.core.runtime import Runtime

logger = logging.getLogger(__name__)

# Between two looks at whether the journal keeps up: a few hundred kilobytes are under way at most.
UNCHECKED_EVENTS: Final = 64
UNCHECKED_CHARACTERS: Final = 128 * 1024
ROOM_SECONDS: Final = 60.0
# After one of these a step, a round, an agent or a turn of one has begun or ended.
_TURNING_POINTS: Final = frozenset({"step", "judge", "system", "result"})


class LibraryRun:
    """See `flowerd.run.Run`. ``probe`` tells whether the network is there, in place of a look of its own."""

    def __init__(
        self, place: Place, request: StartRun, unheard: Sequence[str], *, probe: Ask | None = None
    ) -> None:
        self._place = place
        self._request = request
        self._unheard = tuple(unheard)
        self._probe = probe
        self._flow: Flow | None = None
        self._oracle: Oracle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # the daemon's
        self._own_loop: asyncio.AbstractEventLoop | None = None
        self._sink: Sink | None = None
        self._unchecked = (0, 0)
        self._round = 0
        self._stood = (0, 0)
        # One thread: a person's words are added to the brief in the order in which they were said.
        self._adding = ThreadPoolExecutor(1, thread_name_prefix="brief")

    async def examine(self) -> None:
        await asyncio.to_thread(examined, self._place, self._request)

    async def prepare(self) -> Prepared:
        self._flow = await asyncio.to_thread(
            opened, self._place, self._request, self._unheard, probe=self._probe
        )
        return self._flow.prepared

    async def work(self, sink: Sink) -> Outcome:
        self._loop, self._sink = asyncio.get_running_loop(), sink
        self._own_loop = asyncio.new_event_loop()
        flow = self._ready
        self._oracle = Oracle(
            self._place, flow.environment, self._request.language, flow.workflow.workbench, self._send
        )
        ended: asyncio.Future[Outcome] = self._loop.create_future()
        thread = threading.Thread(
            # A daemon thread: a process that has to end now must not wait for it.
            target=self._fly,
            args=(ended,),
            name=f"run {self._place.workspace}",
            daemon=True,
        )
        thread.start()
        outcome = await asyncio.shield(ended)
        # Nothing comes between this and the end in the workspace: what was said until now is not lost.
        return replace(outcome, unheard=(*outcome.unheard, *self._live.take_mail()))

    def say(self, text: str) -> Awaitable[bool | None]:
        self._live.say(text)
        return self._add(text)

    async def answer(self, question_id: str, text: str) -> Settled | None:
        return await asyncio.to_thread(_answered, self._channel, question_id, text.strip())

    def aside(self, question: SideQuestion) -> None:
        assert self._oracle is not None and self._own_loop is not None, "made before the run works"
        with contextlib.suppress(RuntimeError):  # the run has just ended, and with it the question
            self._own_loop.call_soon_threadsafe(self._oracle.ask, question)

    def pause(self) -> None:
        self._live.pause()

    def resume(self) -> None:
        self._live.resume()

    def stop(self) -> None:
        self._live.stop()
        self._end_asides()

    def rescue(self, reason: str) -> None:
        self._live.rescue(reason)

    def terminate(self, reason: str) -> None:
        self._live.stop(reason)
        self._live.terminate()
        self._end_asides()

    @property
    def _ready(self) -> Flow:
        assert self._flow is not None, "orders come after `prepare`"
        return self._flow

    @property
    def _live(self) -> "Runtime":
        return self._ready.runtime

    @property
    def _channel(self) -> "HumanChannel":
        channel: HumanChannel = self._ready.workflow.channel
        return channel

    def _add(self, text: str) -> Awaitable[bool | None]:
        """Have the words in the brief, too: who judges the work must know of them."""
        loop = asyncio.get_running_loop()
        try:
            return loop.run_in_executor(self._adding, self._channel.amend, text)
        except RuntimeError:  # the run has just ended: the next one is told, and adds them
            nothing: asyncio.Future[bool | None] = loop.create_future()
            nothing.set_result(None)
            return nothing

    def _end_asides(self) -> None:
        if self._oracle is not None:
            self._oracle.end()

    # In the run's own thread

    def _fly(self, ended: "asyncio.Future[Outcome]") -> None:
        try:
            with asyncio.Runner(loop_factory=self._take_loop) as runner:
                outcome = runner.run(self._work())
        except BaseException as error:
            # The edge of this thread: whatever the library lets through ends this run and no other.
            logger.exception("the run in %s broke off", self._place.workspace)
            outcome = Outcome(Ending.FAILED, error=one_line(error), cost_usd=self._live.total_cost())
        finally:
            self._adding.shutdown()
            self._ready.close()
        self._on_daemon_loop(lambda: _settle(ended, outcome))

    def _take_loop(self) -> asyncio.AbstractEventLoop:
        assert self._own_loop is not None, "made before this thread"
        return self._own_loop

    async def _work(self) -> Outcome:
        assert self._oracle is not None, "made before this thread"
        try:
            ctx = await self._ready.workflow.run(self._live, on_event=self._tell)
        finally:
            await self._oracle.finish()
        outcome = outcome_of(ctx, self._live, self._words, self._request.language)
        if outcome.ending is Ending.DONE:
            # Nobody asks any more. A run that was cut off leaves its question open: woken, it asks again.
            self._channel.close()
        return outcome

    @property
    def _words(self) -> tuple[str, ...]:
        """What the run was started with."""
        return (*self._unheard, *([self._request.ask] if self._request.ask else []))

    def _tell(self, event: Event) -> None:
        self._send(drafted(event))
        self._round = self._ready.round_after(event, self._round)
        if event.kind in _TURNING_POINTS:
            self._stands()
        events, characters = self._unchecked
        self._unchecked = events + 1, characters + len(event.text)
        if events >= UNCHECKED_EVENTS or characters >= UNCHECKED_CHARACTERS:
            self._unchecked = 0, 0
            assert self._sink is not None, "set before the thread started"
            self._await_on_daemon_loop(self._sink.room())

    def _send(self, draft: Draft) -> None:
        sink = self._sink
        assert sink is not None, "set before the thread started"
        self._on_daemon_loop(lambda: sink.take(draft))

    def _stands(self) -> None:
        """Tell how far it is, as far as no event says so."""
        flow, sink = self._ready, self._sink
        assert sink is not None, "set before the thread started"
        stands = round, checks = self._round, flow.checks()
        if stands != self._stood:
            self._stood = stands
            self._on_daemon_loop(lambda: sink.stands(round=round, checks=checks))

    def _on_daemon_loop(self, work: Callable[[], Any]) -> None:
        assert self._loop is not None, "set before the thread started"
        with contextlib.suppress(RuntimeError):  # the daemon's loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(work)

    def _await_on_daemon_loop(self, work: Coroutine[Any, Any, None]) -> None:
        """Blocks this thread, and so the CLI, until the daemon's loop has done ``work``."""
        assert self._loop is not None, "set before the thread started"
        try:
            waiting = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()
            return
        try:
            waiting.result(ROOM_SECONDS)
        except (TimeoutError, concurrent.futures.CancelledError):
            waiting.cancel()
            logger.warning("the journal of %s does not keep up", self._place.workspace)


def _settle(ended: "asyncio.Future[Outcome]", outcome: Outcome) -> None:
    if not ended.done():  # nobody waits any more when the daemon is ending
        ended.set_result(outcome)


def _answered(channel: "HumanChannel", question_id: str, words: str) -> Settled | None:
    ask = next((each for each in channel.asks if each.id == question_id), None)
    if ask is None:
        return None
    choice = replace(ask, answer=words).choice
    if choice is not None:
        # Whoever asked must not have to guess where the counting began.
        words = ask.options[choice]
    heard = channel.answer(question_id, words)
    same = ask.state == ("answered" if words else "declined") and ask.answer == words
    return Settled(ask.state, ask.answer, heard or same)
