"""The questions that wait for a person: who asks waits on an event loop, who answers may be on any thread."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["asked", "answered", "timeout", "declined", "over_budget", "invalid"]


@dataclass
class Ask:
    """One question, and what became of it. Times are epoch seconds; ``settled_at`` is 0 while it is open."""

    id: str
    question: str
    options: list[str] = field(default_factory=list)
    asked_at: float = 0.0
    state: State = "asked"
    answer: str = ""
    settled_at: float = 0.0

    @property
    def waited_s(self) -> float:
        """Seconds from the question to its outcome, or until now; one decimal."""
        return round((self.settled_at or time.time()) - self.asked_at, 1)

    @property
    def choice(self) -> int | None:
        """Which option the answer is, by its words or its number from 1; None when it is something else."""
        said = self.answer.strip()
        if said in self.options:
            return self.options.index(said)
        if said.isascii() and said.isdigit() and 1 <= int(said) <= len(self.options):
            return int(said) - 1
        return None


@dataclass
class Waiting:
    """A question that waits, and how to wake who waits for it: nobody, once its agent was interrupted."""

    ask: Ask
    loop: asyncio.AbstractEventLoop
    settled: "asyncio.Future[None]"
    timer: asyncio.TimerHandle | None = None
    waiters: int = 0


class OpenQuestions:
    """The questions that have no outcome yet.

    ``keep(ask)`` writes an outcome down; it is called on the thread that settles, before anybody hears of it.
    ``tell(ask, awaited)`` is called then on the loop where it was asked; not ``awaited``, nobody is there any
    more to whom the answer goes.
    """

    def __init__(self, keep: Callable[[Ask], None], tell: Callable[[Ask, bool], None]) -> None:
        self._keep = keep
        self._tell = tell
        self._lock = threading.Lock()  # guards all below; nothing is called or awaited while it is held
        self._open: dict[str, Waiting] = {}
        self._settling: dict[str, Waiting] = {}  # they have an outcome, and nobody has heard of it yet
        self._unseen: list[Ask] = []
        self._watchers: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    def asks(self) -> list[Ask]:
        """All of them, the oldest first."""
        with self._lock:
            return [each.ask for each in self._open.values()]

    def put(self, ask: Ask, timeout: float | None) -> Waiting:
        """Let a question wait from now on, ``timeout`` seconds at most."""
        loop = asyncio.get_running_loop()
        waiting = Waiting(ask, loop, loop.create_future())
        if timeout is not None:
            # The question's own limit, not its agent's: one that an interrupt left behind ends too.
            waiting.timer = loop.call_later(timeout, self._expire, waiting)
        with self._lock:
            self._open[ask.id] = waiting
            self._unseen.append(ask)
            watchers, self._watchers = self._watchers, []
        for watching, watcher in watchers:
            _call(watching, _wake, watcher)
        return waiting

    def same(self, question: str) -> Waiting | None:
        """The one of these words that waits on this loop already, or whose outcome is just coming; None without one."""
        loop = asyncio.get_running_loop()
        with self._lock:
            known = (*self._open.values(), *self._settling.values())
            return next((each for each in known if each.ask.question == question and each.loop is loop), None)

    async def outcome(self, waiting: Waiting) -> None:
        """Wait until it is settled. Cancelled, the question goes on waiting without an agent."""
        waiting.waiters += 1
        try:
            # No limit of its own: the question has one, or was meant to wait for ever.
            await asyncio.shield(waiting.settled)
        finally:
            waiting.waiters -= 1

    def settle(self, id: str, state: State, answer: str) -> bool:
        """Give it an outcome; False when it has one already, or never was. From any thread."""
        with self._lock:
            waiting = self._open.pop(id, None)
            if waiting is None:
                return False
            self._settling[id] = waiting
            ask = waiting.ask
            ask.state, ask.answer, ask.settled_at = state, answer, time.time()
        self._keep(ask)
        _call(waiting.loop, self._announce, waiting)
        return True

    async def next(self) -> Ask:
        """The next one that waits and was not given out here before."""
        while True:
            watcher = self._watch()
            if isinstance(watcher, Ask):
                return watcher
            await watcher

    def _watch(self) -> "Ask | asyncio.Future[None]":
        """A question to give out, or else what to await until there may be one."""
        loop = asyncio.get_running_loop()
        with self._lock:
            while self._unseen:
                ask = self._unseen.pop(0)
                if ask.id in self._open:
                    return ask
            watcher: asyncio.Future[None] = loop.create_future()
            self._watchers = [each for each in self._watchers if not each[1].done()]
            self._watchers.append((loop, watcher))
            return watcher

    def _expire(self, waiting: Waiting) -> None:
        # Settling writes to the disk, which the loop must not wait for.
        waiting.loop.run_in_executor(None, self.settle, waiting.ask.id, "timeout", "")

    def _announce(self, waiting: Waiting) -> None:
        if waiting.timer is not None:
            waiting.timer.cancel()
        with self._lock:
            self._settling.pop(waiting.ask.id, None)
        self._tell(waiting.ask, waiting.waiters > 0)
        _wake(waiting.settled)


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., None], argument: Any) -> None:
    # A loop that is closed has nobody left who waits.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(function, argument)


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
