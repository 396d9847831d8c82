"""The actor of one workspace: its one run, its journal, who watches it. All its state changes happen here, in order.

Its life: a request starts a run (`_launch`), which is driven to its end (`_drive`), whatever becomes of the client
that asked; its events come in by `take`. What lasts as long as the run is in `ActiveRun`, what people want of it in
`Orders`, what outlives it in `Standing` and `Mailbox`; one whose login was refused waits in `Parking`.

Everything here is on the loop's thread, and what waits in between looks again before it acts.
"""

import asyncio
import contextlib
import logging
import shutil
import uuid
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial

import msgspec

from flower.core.failures import is_login
from flower_protocol.runs import RunStarted, StartRun
from flower_protocol.workspaces import Place, State
from flowerd import milestones, options
from flowerd.active_run import STOP_SECONDS, ActiveRun
from flowerd.identity import key, require_folder
from flowerd.journal import Journal, NotSaved
from flowerd.mailbox import Mailbox
from flowerd.orders import Orders
from flowerd.parking import Parking
from flowerd.progress import refused
from flowerd.refusal import Refused
from flowerd.registry import Record
from flowerd.run import Ending, Outcome
from flowerd.shared import Shared
from flowerd.standing import Client, Standing
from flowerd.wire import Draft

logger = logging.getLogger(__name__)


class Workspace:
    """One workspace. Made by `Workspaces`."""

    def __init__(self, place: Place, record: Record | None, shared: Shared) -> None:
        self.place = place
        self._shared = shared
        self.journal = self._new_journal()
        self.mailbox = Mailbox(self.journal)
        self.standing = Standing(place, record, shared, lambda: self.journal.last_seq)
        self.orders = Orders(place, self.mailbox, self.standing, self._running)
        self._parking = Parking(shared.logins, self._start_again)
        self._active: ActiveRun | None = None
        self._starting: asyncio.Task[RunStarted] | None = None
        self._driving: asyncio.Task[None] | None = None
        self._daemon_ends = False

    @property
    def busy(self) -> bool:
        """Whether a run is in flight, or about to be."""
        return self._active is not None or self._starting is not None

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
        if self._active is not None:
            return await self._join(request, self._active)
        return await asyncio.shield(self._begin(self._continued(request)))

    async def check(self, request: StartRun) -> None:
        """Whether it could start, before a person has said what it is to do. Changes nothing. Raises `Refused`."""
        request = self._continued(request)
        await _in(self._shared.outside, partial(require_folder, self.place))
        await self._shared.runs(self.place, request, ()).examine()

    async def stop(self, *, wait_seconds: float = STOP_SECONDS) -> None:
        """End the run; returns when it has ended, or after ``wait_seconds``. Raises `Refused`.

        One that waits for a new login is told not to go on by itself.
        """
        await self._settled()
        if self._active is None and self.standing.record.state is State.LOGIN:
            self._parking.leave()
            self.standing.end(Ending.STOPPED)
            return
        active = await self._running()
        assert self._driving is not None, "a run in flight is driven"
        await active.stop(self._driving, wait_seconds=wait_seconds)

    def enter(self, client: Client) -> None:
        """``client`` watches from now on."""
        self.standing.clients.add(client)
        self.journal.watch(client.wake)
        self.standing.publish_soon()

    def leave(self, client: Client) -> None:
        """``client`` has gone; if the run was on hold for it alone, it goes on without words."""
        self.standing.clients.discard(client)
        self.journal.unwatch(client.wake)
        if self._active is not None:
            self._active.hold.leave(client)
        self.standing.publish_soon()

    async def forget(self) -> None:
        """Drop the journal and all that is known; who watches gets a fresh start. Raises `Refused`."""
        if self.busy:
            raise Refused("already-running", workspace=self.place.workspace)
        self._parking.leave()
        old = self.journal
        self.journal = self._new_journal()
        self.mailbox = Mailbox(self.journal)
        self.orders = Orders(self.place, self.mailbox, self.standing, self._running)
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
        if self._active is not None:
            await _in(self._shared.outside, partial(self._active.run.rescue, reason))

    def rescue_now(self, reason: str) -> None:
        """`rescue`, on this very thread."""
        if self._active is not None:
            self._active.run.rescue(reason)

    async def cut_off(self, reason: str) -> None:
        """End the run; returns when nothing of it lives."""
        await self._settled()
        if self._active is not None and self._driving is not None:
            self._active.run.terminate(reason)
            await asyncio.wait({self._driving})

    async def close(self) -> None:
        """Nothing happens here any more. A run that has not ended by now is given up."""
        self._daemon_ends = True
        if self._active is not None:
            active = self._active
            self._ended(Outcome(Ending.INTERRUPTED))
            await active.close()
        for task in (self._starting, self._driving):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await self._parking.close()
        self.standing.close()
        await self.journal.close()

    # A run's way in and out

    def _continued(self, request: StartRun) -> StartRun:
        """With what the folder keeps of its last run. Raises `Refused` for a flag that can't be honoured."""
        options.check(request.options)
        going = options.continued(request.options, self.standing.record.options)
        return msgspec.structs.replace(request, options=going)

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
        self._active = active = ActiveRun(self.place, run, self.journal)
        self._parking.begin(request, access)
        started = self.journal.take(milestones.begun(request, prepared, unheard))
        for notice in prepared.notices:
            self.journal.append("notice", notice)
        self.standing.begin(request.options, prepared)
        # What the person asked for is on disk before the first word of it reaches a model.
        await self._shared.registry.saved()
        with contextlib.suppress(NotSaved):  # a full disk is said in the journal, and stops nobody
            await self.journal.durable(started)
        self._driving = asyncio.create_task(self._drive(active), name=f"run {self.place.workspace}")
        return RunStarted(generation=self.journal.generation, seq=active.began, woke=prepared.woke)

    def _started(self, task: "asyncio.Task[RunStarted]") -> None:
        self._starting = None
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, Refused):
            logger.error("%s could not be started", self.place.workspace, exc_info=error)

    async def _join(self, request: StartRun, active: ActiveRun) -> RunStarted:
        if request.ask is not None:
            await self.orders.say(request.ask, str(uuid.uuid4()))
        woke = self.standing.record.woke
        return RunStarted(generation=self.journal.generation, seq=active.began, woke=woke, joined=True)

    async def _drive(self, active: ActiveRun) -> None:
        try:
            outcome = await active.run.work(self)
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
        if self._active is not None:
            self._active.end()
            self._active = None
        unheard = self.mailbox.left_over(outcome.unheard)
        self.journal.take(milestones.ended(outcome, ending, unheard))
        self.standing.end(ending, outcome.error)

    # A run's events: the workspace is their sink

    def take(self, draft: Draft) -> int:
        """See `flowerd.run.Sink`."""
        self.standing.advance(draft)
        if refused(draft):
            self._parking.refuse()
        if self._active is not None:
            self._active.asides.take(draft)
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

    async def _running(self) -> ActiveRun:
        await self._settled()
        if self._active is None:
            raise Refused("not-running", workspace=self.place.workspace)
        return self._active

    async def _settled(self) -> None:
        """Returns when the start that is under way, if one is, has succeeded or failed."""
        if self._starting is not None:
            await asyncio.wait({self._starting})


async def _in(pool: Executor, work: Callable[[], object]) -> None:
    """Blocking ``work``, off the loop's thread."""
    await asyncio.get_running_loop().run_in_executor(pool, work)
