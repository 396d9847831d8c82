"""What happened in a workspace, numbered, kept on disk, read from any point on.

Appending numbers an event at once and never waits; one task writes what has been appended to the generation's
files, in batches, off the loop's thread. Nothing is fsynced but what somebody waits for by `durable` (a person's
words, the start and the end of a run): the rest survives the death of the process, not that of the machine.

Nothing is lost and memory stays bounded because whoever produces events waits for `room` now and then, which
comes when all but a few megabytes are on disk. Only while the disk refuses (full, read-only) does nobody wait:
the run goes on, the newest events stay in memory, writing is tried again every second, and how many older ones
could not be kept stands in a notice once it works again.

A reader has a place in the journal and no queue. `read` serves it from memory, or from the files in a thread; None
says that the journal has moved on, and `snapshot` gives a fresh start, which reaches into the generations before.
"""

import asyncio
import contextlib
import errno
import logging
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from flowerd import wire
from flowerd.lives import lives, next_life
from flowerd.segments import Segments
from flowerd.snapshot import Fresh, Position, Shelf, gather, standing
from flowerd.tail import Tail
from flowerd.wire import Draft

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MIB: Final = 1024 * 1024
BATCH_BYTES: Final = _MIB // 2
DURABLE_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 1.0
CLOSE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a journal keeps: on disk a generation, in memory, and waiting to be written."""

    segment_bytes: int = _MIB // 2
    retained_bytes: int = 64 * _MIB
    tail_bytes: int = _MIB
    backlog_bytes: int = 2 * _MIB


class NotSaved(Exception):
    """The disk refuses; the text names the path and says why."""

    def __init__(self, path: Path, error: OSError) -> None:
        self.path, self.detail = path, error.strerror or str(error)
        super().__init__(f"{path}: {self.detail}")


class Journal:
    """The journal of one workspace in one generation. All methods belong to the loop's thread."""

    def __init__(
        self,
        folder: Path,
        generation: str,
        *,
        limits: Limits,
        pool: Executor,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self.generation = generation
        self._limits = limits
        self._pool = pool
        self._clock = clock
        self._tail = Tail(limits.tail_bytes)
        self._segments: Segments | None = None
        self._earlier: list[Shelf] | None = None
        self._watchers: set[asyncio.Event] = set()
        self._work = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._trouble: NotSaved | None = None
        self._lost = 0
        self._closing = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None

    @property
    def last_seq(self) -> int:
        """The number of the newest event, 0 when there is none yet."""
        return self._tail.last

    def append(
        self, kind: str, text: str = "", *, tool: str = "", payload: dict[str, Any] | None = None
    ) -> int:
        """Take the next event; returns its number. Never waits; see `room` and `durable`."""
        return self.take(Draft(kind, text, tool, payload or {}))

    def take(self, draft: Draft) -> int:
        """`append`, for an event that comes from a run."""
        seq = self._tail.append(wire.line(self._tail.last + 1, self._clock(), draft))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_on(), name=f"journal {self.folder.name}")
        if self._tail.unwritten_bytes > self._limits.backlog_bytes:
            self._backlog_full()
        self._work.set()
        for watcher in self._watchers:
            watcher.set()
        return seq

    async def room(self) -> None:
        """Returns when little enough waits to be written: at once as a rule, and while the disk refuses."""
        await self._room.wait()

    async def durable(self, seq: int) -> None:
        """Returns when event ``seq`` would survive the machine's end. Raises `NotSaved`, also for a disk that hangs."""
        saved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((seq, saved))
        self._work.set()
        try:
            await asyncio.wait_for(saved, DURABLE_SECONDS)
        except TimeoutError:
            hangs = OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            raise NotSaved(self.folder, hangs) from None

    def watch(self, watcher: asyncio.Event) -> None:
        """Have ``watcher`` set at each new event, until `unwatch`."""
        self._watchers.add(watcher)

    def unwatch(self, watcher: asyncio.Event) -> None:
        self._watchers.discard(watcher)

    async def read(self, after: int, limit: int) -> list[bytes] | None:
        """The encoded events that follow event ``after``, up to about ``limit`` bytes; [] when there are none yet.

        None when they are no longer kept, or were never there.
        """
        if after > self._tail.last:
            return None
        found = self._tail.after(after, limit)
        if found is not None or self._segments is None:
            return found
        try:
            # Nothing in the files, though older than the memory: it was given up while the disk refused.
            return await self._off_loop(partial(self._segments.read, after, limit)) or None
        except OSError as error:
            logger.warning("could not read %s: %s", self.folder, error)
            return None

    async def snapshot(self, *, since: Position | None, seen: Position | None, tail: int) -> Fresh:
        """A fresh start for a client; see `snapshot.gather`. Raises `OSError` when the files can't be read."""
        shelves = await self._shelves()
        return await self._off_loop(partial(gather, shelves, since=since, seen=seen, tail=tail))

    async def standing(self, seen: Position | None) -> tuple[Position, int]:
        """See `snapshot.standing`."""
        return standing(await self._shelves(), seen)

    async def fold(self, work: Callable[[Iterable[bytes]], T]) -> T:
        """What ``work`` makes, in a thread, of all events that are kept, oldest first. Raises `OSError`."""
        shelves = await self._shelves()
        return await self._off_loop(lambda: work(line for shelf in shelves for line in shelf.lines()))

    async def close(self) -> None:
        """Write what is left, for at most `CLOSE_SECONDS`; then nothing may be appended any more."""
        self._closing.set()
        self._work.set()
        if self._writer is not None:
            await asyncio.wait({self._writer}, timeout=CLOSE_SECONDS)
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)
        for _, saved in self._waiting:
            saved.cancel()

    async def _shelves(self) -> list[Shelf]:
        """All that is kept, oldest generation first; the present one as it is at this moment."""
        if self._earlier is None:
            self._earlier = await self._off_loop(partial(_load_earlier, self.folder, self.generation))
        present = Shelf(self.generation, self._tail.last, self._segments, self._tail.lines())
        return [*self._earlier, present]

    async def _write_on(self) -> None:
        while not self._closing.is_set() or self._tail.written < self._tail.last or self._waiting:
            await self._work.wait()
            self._work.clear()
            while self._tail.written < self._tail.last or self._waiting:
                try:
                    await self._write_batch()
                except OSError as error:
                    self._refused(error)
                    if self._closing.is_set():
                        return
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(RETRY_SECONDS):
                            await self._closing.wait()
        if self._segments is not None:
            await self._off_loop(self._segments.close)

    async def _write_batch(self) -> None:
        first = self._tail.written + 1
        lines = self._tail.after(first - 1, BATCH_BYTES) or []
        last = first - 1 + len(lines)
        synced = [(seq, saved) for seq, saved in self._waiting if seq <= last]
        await self._off_loop(partial(self._write, first, lines, bool(synced)))
        self._tail.wrote(last)
        self._waiting = [each for each in self._waiting if each not in synced]
        for _, saved in synced:
            _resolve(saved, None)
        if self._tail.unwritten_bytes <= self._limits.backlog_bytes:
            self._room.set()
        self._recovered()

    def _write(self, first: int, lines: list[bytes], sync: bool) -> None:
        if self._segments is None:
            life = next_life(self.folder, self.generation)
            self._segments = Segments(
                life.folder,
                segment_bytes=self._limits.segment_bytes,
                retained_bytes=self._limits.retained_bytes,
            )
        self._segments.append(first, lines, sync=sync)

    def _backlog_full(self) -> None:
        if self._trouble is None:
            self._room.clear()
        else:
            self._lost += self._tail.give_up(self._limits.backlog_bytes)

    def _refused(self, error: OSError) -> None:
        first_time = self._trouble is None
        self._trouble = NotSaved(self.folder, error)
        waiting, self._waiting = self._waiting, []
        for _, saved in waiting:
            _resolve(saved, self._trouble)
        self._room.set()
        if first_time:
            logger.warning("events can't be written to %s", self._trouble)
            self._notice(
                f"{self._trouble.path} 写不进去:{self._trouble.detail}。活照跑,最近的记录先留在内存里。",
                f"cannot write to {self._trouble}. The run goes on; the latest events stay in memory.",
            )

    def _recovered(self) -> None:
        if self._trouble is None:
            return
        self._trouble, lost, self._lost = None, self._lost, 0
        logger.warning("events can be written to %s again; %d were not kept", self.folder, lost)
        zh = f"{self.folder} 又能写了。" + (f"中间有 {lost} 条记录没能存下。" if lost else "")
        en = f"{self.folder} can be written again." + (f" {lost} events could not be kept." if lost else "")
        self._notice(zh, en)

    def _notice(self, zh: str, en: str) -> None:
        self.append("notice", zh, payload={"zh": zh, "en": en})

    async def _off_loop(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


def _resolve(future: "asyncio.Future[None]", error: Exception | None) -> None:
    if future.done():
        return  # whoever waited has gone
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


def _load_earlier(folder: Path, generation: str) -> list[Shelf]:
    loaded = ((life, Segments.load(life.folder)) for life in lives(folder) if life.generation != generation)
    return [Shelf(life.generation, segments.last, segments) for life, segments in loaded]
