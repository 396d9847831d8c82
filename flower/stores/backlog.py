"""Batches that wait to be written: taken in call order, written by one thread, kept until they are written.

A database that is locked or a disk that is full for a while must cost nobody their entries, and the SDK drops a
batch that its store doesn't take in time. So a batch is safe from impatience as soon as it is here.
How it is written is not known here: `write` takes some batches, in order, all or none of them.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import islice

from .entries import Entry
from .keys import TranscriptKey

# One transaction takes so many batches at most, and so keeps others from the database for milliseconds only.
_BATCHES_AT_ONCE = 64
# A lock is free again within milliseconds, most times; a full disk is not.
_BUSY_PAUSE_SECONDS = 0.02
_FAILURE_PAUSE_SECONDS = 1.0
# The thread ends when nothing came for so long; the next batch starts another.
_IDLE_SECONDS = 5.0
# A lock ends with the process that holds it, so closing waits for it; a failure that repeats does not pass.
_FAILURES_UNTIL_CLOSING_GIVES_UP = 3

_log = logging.getLogger(__name__)


class Busy(Exception):
    """Somebody else holds the lock: nothing is wrong, it only isn't our turn."""


class Unwritable(Exception):
    """`batch` can never be written, for the reason that the message names."""

    def __init__(self, batch: "Batch", reason: str) -> None:
        super().__init__(reason)
        self.batch = batch


@dataclass(eq=False)
class Batch:
    """Entries for one transcript."""

    key: TranscriptKey
    entries: Sequence[Entry]
    # True once written, False if that failed so far (it is tried again); `TypeError` if it never can be.
    settled: Future[bool] = field(default_factory=Future)

    def __post_init__(self) -> None:
        self.settled.set_running_or_notify_cancel()  # who stops waiting doesn't take the batch back

    def settle(self, written: bool) -> None:
        if not self.settled.done():
            self.settled.set_result(written)


class Backlog:
    """The queue, its thread, and the count of what went wrong.

    `lock` is held from the start of a write until its batches have left the queue: who holds it and looks at
    both the database and the queue sees each batch exactly once.
    """

    def __init__(self, write: Callable[[list[Batch]], None], lock: threading.RLock) -> None:
        self._write = write
        self._lock = lock
        self._changed = threading.Condition()  # never held while `lock` is waited for
        self._batches: dict[Batch, None] = {}
        self._thread: threading.Thread | None = None
        self._closed = False
        self._failed_in_a_row = 0
        self.failures = 0
        self.last_failure: str | None = None
        self.trouble: str | None = None  # why what is queued waits; None once something was written again

    def put(self, key: TranscriptKey, entries: Sequence[Entry]) -> Batch:
        """Queue the entries and return at once. Raises `RuntimeError` after `close`."""
        batch = Batch(key, entries)
        with self._changed:
            if self._closed:
                raise RuntimeError("the session store is closed")
            self._batches[batch] = None
            if self._thread is None:
                # A daemon: the end of the process never waits for a lock. `close` does, for a while.
                self._thread = threading.Thread(target=self._run, name="flower-store", daemon=True)
                self._thread.start()
            else:
                self._changed.notify_all()
        return batch

    def waiting(self, key: TranscriptKey) -> list[Entry]:
        """The queued entries of one transcript, in order. Call it with `lock` held."""
        with self._changed:
            return [entry for batch in self._batches if batch.key == key for entry in batch.entries]

    def transcripts(self) -> set[TranscriptKey]:
        """The transcripts that entries are queued for. Call it with `lock` held."""
        with self._changed:
            return {batch.key for batch in self._batches}

    def __len__(self) -> int:
        """How many entries are queued."""
        with self._changed:
            return sum(len(batch.entries) for batch in self._batches)

    def count_failure(self, reason: str) -> None:
        if reason != self.last_failure:
            _log.warning("sessions are not being saved: %s", reason)
        self.failures += 1
        self.last_failure = reason

    def count_delay(self, reason: str) -> None:
        """A failure that entries wait for the end of."""
        self.count_failure(reason)
        self.trouble = reason

    def drain(self, timeout: float) -> bool:
        """Wait until everything queued is written; False if it is not within `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._batches, timeout)

    def close(self, timeout: float) -> bool:
        """Write what is queued, for `timeout` seconds at most; False if something is left. No `put` afterwards."""
        with self._changed:
            self._closed = True
            self._failed_in_a_row = 0
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._batches or self._is_hopeless(), timeout)
            left = list(self._batches)
            self._batches.clear()
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()  # ends after the write that it is in, which has a limit of its own
        for batch in left:
            batch.settle(False)
        return not left

    def _is_hopeless(self) -> bool:
        return self._failed_in_a_row >= _FAILURES_UNTIL_CLOSING_GIVES_UP

    def _run(self) -> None:
        while batches := self._next():
            pause = self._attempt(batches)
            if pause:
                time.sleep(pause)

    def _next(self) -> list[Batch]:
        """The batches to write now; none when the thread is to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self._closed, _IDLE_SECONDS)
            batches = list(islice(self._batches, _BATCHES_AT_ONCE))
            if not batches:
                self._thread = None
            return batches

    def _attempt(self, batches: list[Batch]) -> float:
        """Write the batches; returns how many seconds to wait before the next attempt."""
        try:
            with self._lock:
                self._write(batches)
                self._remove(batches)
        except Busy:
            return _BUSY_PAUSE_SECONDS
        except Unwritable as error:
            self.count_failure(str(error))
            self._remove([error.batch])
            error.batch.settled.set_exception(TypeError(str(error)))
            return 0
        except (
            Exception
        ) as error:  # the edge of the thread: whatever it is, the entries stay and are tried again
            self._fail(batches, error)
            return _FAILURE_PAUSE_SECONDS
        self._failed_in_a_row, self.trouble = 0, None
        for batch in batches:
            batch.settle(True)
        return 0

    def _remove(self, batches: list[Batch]) -> None:
        with self._changed:
            for batch in batches:
                self._batches.pop(batch, None)
            self._changed.notify_all()

    def _fail(self, batches: list[Batch], error: Exception) -> None:
        self.count_delay(str(error) or type(error).__name__)
        _log.debug("a write failed", exc_info=error)
        with self._changed:
            self._failed_in_a_row += 1
            self._changed.notify_all()
        for batch in batches:
            batch.settle(False)
