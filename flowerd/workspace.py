"""The actor of one workspace: its one run, its journal, who watches it. All its state changes happen here, in order.

The run belongs to the workspace, never to the client that asked for it. Words of a person are in the journal, on
disk, before anybody is told that they are accepted; only then do they go to the run. Everything here is on the
loop's thread, and what waits in between looks again before it acts.
"""

import asyncio
import contextlib
import logging
import shutil
import uuid
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import Final

import msgspec

from flower.core.failures import is_login
from flower_protocol.runs import RunStarted, StartRun
from flower_protocol.workspaces import Place, State
from flowerd import options
from flowerd.identity import key, require_folder
from flowerd.journal import Journal, NotSaved
from flowerd.mailbox import Mailbox
from flowerd.oracle import SideQuestion
from flowerd.parking import Parking
from flowerd.progress import refused
from flowerd.refusal import Refused
from flowerd.registry import Record
from flowerd.run import Ending, Outcome, Prepared, Run
from flowerd.scene import LOOKED_AT, scene_of
from flowerd.shared import Shared
from flowerd.snapshot import Position
from flowerd.standing import Client, Standing
from flowerd.states import Move
from flowerd.wire import Draft

logger = logging.getLogger(__name__)

STOP_SECONDS: Final = 15.0
MOST_ASIDES: Final = 3
STOP_AGAIN_SECONDS: Final = 1.0  # between two steps there is nothing to stop yet

_MOVES: Final = {
    Ending.DONE: Move.END,
    Ending.STOPPED: Move.END,
    Ending.FAILED: Move.FAIL,
    Ending.LOGIN: Move.NEED_LOGIN,
    Ending.INTERRUPTED: Move.CUT_OFF,
}
_ERRORS: Final = frozenset({Ending.FAILED, Ending.LOGIN})


class Workspace:
    """One workspace. Made by `Workspaces`."""

    def __init__(self, place: Place, record: Record | None, shared: Shared) -> None:
        self.place = place
        self._shared = shared
        self.journal = self._new_journal()
        self.mailbox = Mailbox(self.journal)
        self.standing = Standing(place, record, shared, lambda: self.journal.last_seq)
        self._parking = Parking(shared.logins, self._start_again)
        self._holders: set[object] = set()
        self._asides: set[str] = set()
        self._run: Run | None = None
        self._run_began = 0
        self._starting: asyncio.Task[RunStarted] | None = None
        self._driving: asyncio.Task[None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._daemon_ends = False

    @property
    def busy(self) -> bool:
        """Whether a run is in flight, or about to be."""
        return self._run is not None or self._starting is not None

    @property
    def parked(self) -> bool:
        """Whether a run waits here for a new login, and goes on by itself then."""
        return self._parking.occupied

    @property
    def watched(self) -> bool:
        return bool(self.standing.clients)

    # What can be asked of it

    async def start(self, request: StartRun) -> RunStarted:
        """Start or wake; when a run is in flight, the words go to it as a remark. Raises `Refused`."""
        if request.ask is not None and not request.ask.strip():
            raise Refused("no-request")
        while self._starting is not None:
            await self._settled()
        if self._run is not None:
            return await self._join(request)
        options.check(request.options)
        going = options.continued(request.options, self.standing.record.options)
        return await asyncio.shield(self._begin(msgspec.structs.replace(request, options=going)))

    async def say(self, text: str, identity: str, who: str = "") -> None:
        """A remark; it is on disk when this returns. The same ``identity`` again counts once. Raises `Refused`."""
        if not text.strip():
            raise Refused("no-request")
        if await self.mailbox.has(identity):
            return
        run = await self._running()
        await self.mailbox.accept(text, identity, who, partial(self._deliver, run, text))

    async def answer(self, text: str, question_id: str = "") -> None:
        """Answer a question, the oldest that is open if none is named; blank words skip it. Raises `Refused`."""
        run = await self._running()
        if not question_id and self.standing.question is not None:
            question_id = self.standing.question.id
        settled = await run.answer(question_id, text) if question_id else None
        if settled is None:
            raise Refused("no-question", workspace=self.place.workspace)
        if settled.heard:
            return
        if settled.state == "answered":
            raise Refused("already-answered", answer=settled.answer)
        raise Refused("not-waiting")

    async def aside(self, text: str, identity: str, who: str = "") -> None:
        """Have a question looked into beside the run; asked again under ``identity``, once. Raises `Refused`."""
        if not text.strip():
            raise Refused("no-request")
        run = await self._running()
        if identity in self._asides:
            return
        if len(self._asides) >= MOST_ASIDES:
            raise Refused("too-many-asides", most=str(MOST_ASIDES))
        self._asides.add(identity)
        scene = await self._scene()
        if self._run is not run:
            raise Refused("not-running", workspace=self.place.workspace)
        run.aside(SideQuestion(identity, text.strip(), who, scene))

    async def interrupt(self, who: str, holder: object) -> None:
        """Hold the run until somebody says something, or until ``holder``, a client, has left. Raises `Refused`."""
        run = await self._running()
        if not self._holders:
            self.journal.append("interrupted", payload={"who": who})
            run.pause()
        self._holders.add(holder)

    async def resume(self, text: str, who: str = "") -> None:
        """Go on after an interrupt, with the words if there are any; without one they are a remark.

        Raises `Refused`.
        """
        run = await self._running()
        if text.strip():
            await self.mailbox.accept(text, str(uuid.uuid4()), who, partial(self._deliver, run, text))
        elif self._holders:
            self._go_on(run, "")

    async def stop(self, *, wait_seconds: float = STOP_SECONDS) -> None:
        """End the run; returns when it has ended, or after ``wait_seconds``. Raises `Refused`.

        One that waits for a new login is told not to go on by itself.
        """
        await self._settled()
        if self._run is None and self.standing.record.state is State.LOGIN:
            self._parking.leave()
            self.standing.move(Move.END, error=None)
            return
        run = await self._running()
        if self._stopping is None:
            assert self._driving is not None, "a run in flight is driven"
            stopping = self._stop(run, self._driving)
            self._stopping = asyncio.create_task(stopping, name=f"stop {self.place.workspace}")
        await asyncio.wait({self._stopping}, timeout=wait_seconds)

    def enter(self, client: Client) -> None:
        """``client`` watches from now on."""
        self.standing.clients.add(client)
        self.journal.watch(client.wake)
        self.standing.publish_soon()

    def leave(self, client: Client) -> None:
        """``client`` has gone; if the run was on hold for it alone, it goes on without words."""
        self.standing.clients.discard(client)
        self.journal.unwatch(client.wake)
        held = bool(self._holders)
        self._holders.discard(client)
        if held and not self._holders and self._run is not None:
            self._go_on(self._run, "")
        self.standing.publish_soon()

    async def forget(self) -> None:
        """Drop the journal and all that is known; who watches gets a fresh start. Raises `Refused`."""
        if self.busy:
            raise Refused("already-running", workspace=self.place.workspace)
        self._parking.leave()
        old = self.journal
        self.journal = self._new_journal()
        self.mailbox = Mailbox(self.journal)
        for client in self.standing.clients:
            self.journal.watch(client.wake)
        self.standing.forget()
        await old.close()
        await _in(self._shared.pool, partial(shutil.rmtree, old.folder, ignore_errors=True))

    # What the daemon does with it when it ends

    async def rescue(self, reason: str) -> None:
        """Write down the steps in flight."""
        self._daemon_ends = True
        await self._settled()
        if self._run is not None:
            await _in(self._shared.outside, partial(self._run.rescue, reason))

    def rescue_now(self, reason: str) -> None:
        """`rescue`, on this very thread."""
        if self._run is not None:
            self._run.rescue(reason)

    async def cut_off(self, reason: str) -> None:
        """End the run; returns when nothing of it lives."""
        await self._settled()
        if self._run is not None and self._driving is not None:
            self._run.terminate(reason)
            await asyncio.wait({self._driving})

    async def close(self) -> None:
        """Nothing happens here any more. A run that has not ended by now is given up."""
        self._daemon_ends = True
        if self._run is not None:
            self._ended(Outcome(Ending.INTERRUPTED))
        for task in (self._starting, self._driving, self._stopping):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await self._parking.close()
        self.standing.close()
        await self.journal.close()

    # A run's way in and out

    def _begin(self, request: StartRun) -> "asyncio.Task[RunStarted]":
        # A task of its own: a client that goes away meanwhile takes nothing with it.
        starting = asyncio.create_task(self._launch(request), name=f"start {self.place.workspace}")
        self._starting = starting
        starting.add_done_callback(self._started)
        return starting

    async def _start_again(self, request: StartRun) -> bool:
        """What was parked goes on, unless a person was faster; False when it could not be started."""
        await self._settled()
        if self.busy or self._daemon_ends:
            return True
        starting = self._begin(request)
        await asyncio.wait({starting})
        return not starting.cancelled() and starting.exception() is None

    async def _launch(self, request: StartRun) -> RunStarted:
        await _in(self._shared.outside, partial(require_folder, self.place))
        access = await self._shared.logins.look(request.environment)
        unheard = () if request.options.new else await self.mailbox.unheard()
        run = self._shared.runs(self.place, request, unheard)
        prepared = await run.prepare()
        self.mailbox.hand_over()
        self._run, self._run_began = run, self.journal.last_seq
        self._parking.begin(request, access)
        started = self._announce(request, prepared, unheard)
        # What the person asked for is on disk before the first word of it reaches a model.
        await self._shared.registry.saved()
        with contextlib.suppress(NotSaved):  # a full disk is said in the journal, and stops nobody
            await self.journal.durable(started)
        self._driving = asyncio.create_task(self._drive(run), name=f"run {self.place.workspace}")
        return RunStarted(generation=self.journal.generation, seq=self._run_began, woke=prepared.woke)

    def _announce(self, request: StartRun, prepared: Prepared, unheard: tuple[str, ...]) -> int:
        """Say in journal and status that a run begins; returns the event's number."""
        new, wanted = request.options.new, request.options
        about = {
            "ask": request.ask,
            "unheard": list(unheard),
            "woke": prepared.woke,
            "rehearse": wanted.rehearse,
            "options": msgspec.to_builtins(wanted),
        }
        seq = self.journal.append("run_started", request.ask or "", payload=about)
        for notice in prepared.notices:
            self.journal.append("notice", notice)
        record = self.standing.record
        self.standing.move(
            Move.START,
            woke=prepared.woke,
            checks=prepared.checks,
            step=None,
            index=0,
            total=0,
            round=0,
            window=wanted.window or (0 if new else record.window),
            context=0 if new else record.context,
            session_id=None if new else record.session_id,
            rehearse=wanted.rehearse,
            options=wanted,
            started_at=self._shared.clock(),
            error=None,
        )
        return seq

    def _started(self, task: "asyncio.Task[RunStarted]") -> None:
        self._starting = None
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, Refused):
            logger.error("%s could not be started", self.place.workspace, exc_info=error)

    async def _join(self, request: StartRun) -> RunStarted:
        if request.ask is not None:
            await self.say(request.ask, str(uuid.uuid4()))
        woke = self.standing.record.woke
        return RunStarted(generation=self.journal.generation, seq=self._run_began, woke=woke, joined=True)

    async def _drive(self, run: Run) -> None:
        try:
            outcome = await run.work(self)
        except Exception:
            # The edge of a run: whatever it lets through ends this run and no other.
            logger.exception("the run in %s broke off", self.place.workspace)
            outcome = Outcome(Ending.FAILED, error="internal")
        self._ended(outcome)
        await self._shared.registry.saved()
        await self.standing.refresh()

    def _ended(self, outcome: Outcome) -> None:
        ending = outcome.ending
        if ending is Ending.FAILED and self._daemon_ends:
            ending = Ending.INTERRUPTED
        if self._parking.end(refused=ending is Ending.FAILED and is_login(outcome.error)):
            ending = Ending.LOGIN
        self._run = self._stopping = None
        self._holders.clear()
        self._asides.clear()
        about = {
            "outcome": ending.value,
            "step": outcome.step,
            "error": outcome.error,
            "cost_usd": outcome.cost_usd,
            "unheard": self.mailbox.left_over(outcome.unheard),
        }
        self.journal.append("run_ended", outcome.error or "", payload=about)
        self.standing.move(_MOVES[ending], error=outcome.error if ending in _ERRORS else None)

    async def _stop(self, run: Run, driving: "asyncio.Task[None]") -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + STOP_SECONDS
        while not driving.done() and loop.time() < deadline:
            run.stop()
            await asyncio.wait({driving}, timeout=STOP_AGAIN_SECONDS)
        if not driving.done():
            logger.warning("the run in %s does not stop; ending its children", self.place.workspace)
            run.terminate("stopped-by-human")

    # A run's events: the workspace is their sink

    def take(self, draft: Draft) -> int:
        """See `flowerd.run.Sink`."""
        self.standing.advance(draft)
        if refused(draft):
            self._parking.refuse()
        if draft.kind == "aside":
            self._asides.discard(str(draft.payload.get("id")))
        return self.journal.take(draft)

    def stands(self, *, round: int, checks: int) -> None:
        """See `flowerd.run.Sink`."""
        self.standing.note(round=round, checks=checks)

    async def room(self) -> None:
        """See `flowerd.run.Sink`."""
        await self.journal.room()

    # Inside

    def _new_journal(self) -> Journal:
        shared = self._shared
        folder = shared.journals / key(self.place)
        return Journal(folder, shared.generation, limits=shared.limits, pool=shared.pool, clock=shared.clock)

    async def _running(self) -> Run:
        await self._settled()
        if self._run is None:
            raise Refused("not-running", workspace=self.place.workspace)
        return self._run

    async def _settled(self) -> None:
        """Returns when the start that is under way, if one is, has succeeded or failed."""
        if self._starting is not None:
            await asyncio.wait({self._starting})

    async def _scene(self) -> str:
        """What happened in this run lately."""
        began = Position(self.journal.generation, self._run_began)
        try:
            fresh = await self.journal.snapshot(since=began, seen=None, tail=LOOKED_AT)
        except OSError as error:
            logger.warning("what happened can't be read in %s: %s", self.journal.folder, error)
            return ""
        return await asyncio.to_thread(scene_of, fresh.lines)

    def _deliver(self, run: Run, text: str) -> None:
        if self._run is not run:
            return  # it ended while the words were written; the mailbox keeps them for the next
        if self._holders:
            self._go_on(run, text)
        else:
            run.say(text)

    def _go_on(self, run: Run, text: str) -> None:
        self._holders.clear()
        self.journal.append("resumed")
        run.resume(text)


async def _in(pool: Executor, work: Callable[[], object]) -> None:
    """Blocking ``work``, off the loop's thread."""
    await asyncio.get_running_loop().run_in_executor(pool, work)
