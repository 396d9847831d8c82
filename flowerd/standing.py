"""How a workspace stands: the record that outlives the daemon, and the status that clients are told.

A change reaches the registry by and by; clients get the latest status only, a moment later, or at once when the
state itself moves.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from flower_protocol.runs import RunOptions
from flower_protocol.workspaces import Place, Question, WorkspaceStatus
from flowerd.progress import advanced, cost_of
from flowerd.registry import Record
from flowerd.run import Ending, Prepared
from flowerd.shared import Shared
from flowerd.snapshot import Position
from flowerd.states import Move, after
from flowerd.waiting import Waiting, moves
from flowerd.wire import Draft

PUBLISH_SECONDS: Final = 0.05
LOOK_SECONDS: Final = 2.0

_MOVES: Final = {
    Ending.DONE: Move.END,
    Ending.STOPPED: Move.END,
    Ending.FAILED: Move.FAIL,
    Ending.LOGIN: Move.NEED_LOGIN,
    Ending.INTERRUPTED: Move.CUT_OFF,
}
_ERRORS: Final = frozenset({Ending.FAILED, Ending.LOGIN})


class Client(Protocol):
    """Somebody who watches: woken at each event, and at each change of the status."""

    @property
    def wake(self) -> asyncio.Event: ...


@dataclass(frozen=True, slots=True)
class Published:
    """A status as clients get it: ``version`` counts up, ``after`` is the event that it comes after."""

    version: int
    after: int
    status: WorkspaceStatus


class Standing:
    """The record of one place, and who watches it. ``last_seq`` tells the number of the newest event."""

    def __init__(
        self, place: Place, record: Record | None, shared: Shared, last_seq: Callable[[], int]
    ) -> None:
        self.place = place
        self.clients: set[Client] = set()
        self._shared = shared
        self._last_seq = last_seq
        self._known = record is not None
        self._timer: asyncio.TimerHandle | None = None
        self._waiting = Waiting()
        self._cost = 0.0
        self._spending = 0.0  # by the run in flight, whose rows aren't in the manifest yet
        self.record = record or _blank(place)
        self._touched = self.record.updated_at
        self.published = Published(0, 0, self.status())

    @property
    def seen(self) -> Position | None:
        """The last event that a client has shown."""
        return (
            Position(self.record.seen_generation, self.record.seen) if self.record.seen_generation else None
        )

    @property
    def question(self) -> Question | None:
        """The oldest question that is open."""
        return self._waiting.questions[0] if self._waiting.questions else None

    def status(self) -> WorkspaceStatus:
        """As of now; the cost is that of the last `refresh`, and what the run in flight has reported since."""
        record = self.record
        return WorkspaceStatus(
            workspace=record.workspace,
            run_dir=record.run_dir,
            state=record.state,
            woke=record.woke,
            step=record.step,
            index=record.index,
            total=record.total,
            round=record.round,
            session_id=record.session_id,
            context=record.context,
            window=record.window,
            cost_usd=round(self._cost + self._spending, 6),
            checks=record.checks,
            clients=len(self.clients),
            question=self.question,
            rehearse=record.rehearse,
            until=record.until,
            started_at=record.started_at,
            updated_at=self._touched,
            error=record.error,
        )

    async def refresh(self) -> None:
        """Look again what the folder has cost; what was known last stands if that takes too long."""
        await refresh([self], self._shared)

    def take_cost(self, cost: float) -> None:
        """What the folder's manifest adds up to now."""
        spending = self._spending if self.record.state.active else 0.0
        if (cost, spending) != (self._cost, self._spending):
            self._cost, self._spending = cost, spending
            self.publish_soon()

    def begin(self, options: RunOptions, prepared: Prepared) -> None:
        """A run begins. Clients are told at once. Raises `IllegalMove`."""
        new, record = options.new, self.record
        self._move(
            Move.START,
            woke=prepared.woke,
            checks=prepared.checks,
            step=None,
            index=0,
            total=0,
            round=0,
            window=options.window or (0 if new else record.window),
            context=0 if new else record.context,
            session_id=None if new else record.session_id,
            rehearse=options.rehearse,
            options=options,
            started_at=self._shared.clock(),
            error=None,
        )

    def end(self, ending: Ending, error: str | None = None) -> None:
        """The run has ended, or the one that waited for a login won't go on. Clients are told at once.

        Raises `IllegalMove`.
        """
        self._move(_MOVES[ending], error=error if ending in _ERRORS else None)

    def advance(self, draft: Draft) -> None:
        """Take from an event what it tells."""
        self._touched = self._shared.clock()
        if self.record.state.active:
            self._wait(self._waiting.after(draft))
        record, spent = advanced(self.record, draft), cost_of(draft)
        self._spending += spent
        if record != self.record:
            self.record = record
            self._put()
        elif not spent:
            return
        self.publish_soon()

    def note(self, **changes: Any) -> None:
        """Take what no event tells of the run in flight."""
        if self.record.state.active and any(getattr(self.record, name) != changes[name] for name in changes):
            self._put(**changes)
            self.publish_soon()

    def saw(self, position: Position) -> None:
        """A client has shown all events up to ``position``: a hint for the next one, no promise."""
        known = self.seen
        if known is None or known.generation != position.generation or known.seq < position.seq:
            self._put(seen_generation=position.generation, seen=position.seq)

    def forget(self) -> None:
        """Know nothing of the place any more."""
        self.record, self._touched, self._known = _blank(self.place), None, False
        self._shared.registry.remove(self.place)
        self.publish()

    def publish_soon(self) -> None:
        """Tell clients in a moment, once for all that changes until then."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PUBLISH_SECONDS, self.publish)

    def publish(self) -> None:
        """Tell clients now."""
        self.close()
        self.published = Published(self.published.version + 1, self._last_seq(), self.status())
        for client in self.clients:
            client.wake.set()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _move(self, move: Move, **changes: Any) -> None:
        self._touched = self._shared.clock()
        self._known, self._waiting = True, Waiting()
        changes = {"until": None, "updated_at": self._touched, **changes}
        self._put(state=after(self.record.state, move), **changes)
        self.publish()

    def _wait(self, waiting: Waiting) -> None:
        if waiting == self._waiting:
            return
        self._waiting, state = waiting, self.record.state
        for move in moves(state, waiting.state):
            state = after(state, move)
        self._put(state=state, until=waiting.until, updated_at=self._touched)
        self.publish()

    def _put(self, **changes: Any) -> None:
        # A place where nothing ever ran is not remembered because somebody looked at it.
        if self._known:
            ours = {"generation": self._shared.generation, "boot": self._shared.boot}
            self.record = msgspec.structs.replace(self.record, **changes, **ours)
            self._shared.registry.put(self.record)


async def refresh(standings: Sequence[Standing], shared: Shared) -> None:
    """Look again what the folders have cost, all of them in one go: a hop to another thread for each would add up.

    What was known last stands if that takes too long.
    """
    folders = [Path(each.place.run_dir) for each in standings]
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            costs = await loop.run_in_executor(shared.outside, lambda: [*map(shared.costs.of, folders)])
    except TimeoutError:
        return
    for standing, cost in zip(standings, costs, strict=True):
        standing.take_cost(cost)


def _blank(place: Place) -> Record:
    return Record(workspace=place.workspace, run_dir=place.run_dir)
