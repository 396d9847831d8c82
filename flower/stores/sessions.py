"""A session store that never makes the run wait for its database, and never loses what it was given.

`QueuedSessionStore` is the SDK's ``SessionStore`` and what flower asks of one beside, over a `Database`. Entries
go through a backlog, so that a database that is locked or full only delays them, and every method that reads
sees queued entries like stored ones. The coroutines do all their work on other threads than the event loop's.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from flower.core.words import Words

from .backlog import Backlog, Batch, Busy
from .collector import collector_paused
from .entries import Entry, decode, uuid_of
from .keys import TranscriptKey
from .residue import context_of

if TYPE_CHECKING:
    from claude_agent_sdk.types import SessionStoreListEntry, SessionSummaryEntry

# The SDK drops a batch that isn't taken within 60 s, so an append is over well before, written or queued.
_APPEND_SECONDS = 20.0
# The SDK gives a load 60 s.
_READ_SECONDS = 50.0
# Somebody may hold the database for a minute; that must only delay.
_PATIENCE_SECONDS = 90.0
_PAUSE_SECONDS = 0.02
# Rows read under one hold of the lock.
_PAGE = 1000
# The same for who must not have a transcript in memory whole: an entry may be a megabyte.
_SMALL_PAGE = 2

_T = TypeVar("_T")


class Database(Protocol):
    """Where entries lie. Every method raises `Busy` when it is to be tried again, and `OSError`."""

    path: Path

    @property
    def notice(self) -> Words | None:
        """One line for the person, if there is anything to say."""

    def write(self, batches: list[Batch]) -> None:
        """All of the batches in order, or none. Raises `Unwritable` too."""

    def page(self, key: TranscriptKey, after: int, size: int) -> list[tuple[int, bytes]]:
        """At most `size` entries as JSON, in order, each with its number; those numbered above `after`."""

    def nameless(self, key: TranscriptKey, after: int, size: int) -> list[tuple[int, bytes]]:
        """The same, of the entries without a uuid."""

    def uids(self, key: TranscriptKey) -> list[str]: ...

    def tail(self, key: TranscriptKey, size: int) -> list[bytes]:
        """The last entries as JSON, newest first."""

    def has(self, key: TranscriptKey) -> bool: ...

    def sessions(self, project_key: str) -> list[tuple[str, int]]:
        """Session ids and mtimes."""

    def summaries(self, project_key: str) -> list[tuple[str, int, dict[str, Any]]]:
        """Session ids, mtimes and data."""

    def subpaths(self, project_key: str, session_id: str) -> list[str]: ...

    def projects(self) -> list[str]: ...

    def delete(self, key: TranscriptKey) -> None: ...

    def close(self) -> None: ...


class QueuedSessionStore:
    """The transcripts of one run_dir. Safe to use from any thread and by any number of processes at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.RLock()  # around every use of the database; held for milliseconds
        self._backlog = Backlog(database.write, self._lock)
        self._closed = False

    @property
    def path(self) -> Path:
        return self._database.path

    @property
    def notice(self) -> Words | None:
        """One line for the person: that entries wait, for as long as they do; else that a file was set aside."""
        return self.unsaved or self._database.notice

    @property
    def unsaved(self) -> Words | None:
        """One line for the person while entries wait because they can't be written."""
        trouble, queued = self._backlog.trouble, len(self._backlog)
        if trouble is None or not queued:
            return None
        return Words(
            f"会话暂时存不进去,{queued} 条记录在内存里等着(失败 {self.failures} 次):{trouble}",
            f"not saving for now, {queued} entries wait in memory ({self.failures} failures): {trouble}",
        )

    @property
    def failures(self) -> int:
        """How many attempts to write failed, or took so long that the caller was sent on."""
        return self._backlog.failures

    @property
    def last_failure(self) -> str | None:
        """Why the last of them did."""
        return self._backlog.last_failure

    @property
    def queued(self) -> int:
        """How many entries are taken but not written yet."""
        return len(self._backlog)

    async def append(self, key: Mapping[str, Any], entries: Sequence[Any]) -> None:
        """Take the entries, in call order; those with a uuid that is stored already are left out.

        Returns when they are written; when that fails or takes longer than 20 s, they are queued, written as
        soon as it can be, and part of what the other methods return. A cancelled append is still written.
        Raises `TypeError` for what is no JSON.
        """
        if not entries:
            return
        batch = self._backlog.put(TranscriptKey.of(key), tuple(entries))
        await asyncio.wait({asyncio.wrap_future(batch.settled)}, timeout=_APPEND_SECONDS)
        if batch.settled.done():
            batch.settled.result()
        else:
            self._count_delay(_APPEND_SECONDS)

    async def load(self, key: Mapping[str, Any]) -> list[Any] | None:
        """What `load_sync` returns."""
        return await asyncio.to_thread(self.load_sync, key)

    async def list_sessions(self, project_key: str) -> "list[SessionStoreListEntry]":
        """The sessions that are written, without their subagents."""
        rows = await self._read(lambda: self._database.sessions(project_key))
        return [{"session_id": session_id, "mtime": mtime} for session_id, mtime in rows]

    async def list_session_summaries(self, project_key: str) -> "list[SessionSummaryEntry]":
        """What the SDK folded out of the sessions that are written."""
        rows = await self._read(lambda: self._database.summaries(project_key))
        return [{"session_id": session_id, "mtime": mtime, "data": data} for session_id, mtime, data in rows]

    async def delete(self, key: Mapping[str, Any]) -> None:
        """Delete a transcript; that of a session together with its subagents'. Raises `OSError`."""
        await asyncio.to_thread(self._delete, TranscriptKey.of(key))

    async def list_subkeys(self, key: Mapping[str, Any]) -> list[str]:
        """What `subkeys` returns."""
        return await asyncio.to_thread(self.subkeys, key)

    def append_sync(self, key: Mapping[str, Any], entries: Sequence[Any]) -> None:
        """`append` for a caller who must know that the entries are in the file. Blocking.

        Raises `OSError` when they can't be written (`TimeoutError` after 90 s of somebody else's lock); they
        stay queued then.
        """
        if not entries:
            return
        batch = self._backlog.put(TranscriptKey.of(key), tuple(entries))
        try:
            written = batch.settled.result(_PATIENCE_SECONDS)
        except TimeoutError:
            self._count_delay(_PATIENCE_SECONDS)
            raise TimeoutError(self.last_failure) from None
        if not written:
            raise OSError(self.last_failure)

    def load_sync(self, key: Mapping[str, Any]) -> list[Entry] | None:
        """The transcript as it is to be fed back, here verbatim; None if there is none. Blocking."""
        with collector_paused():
            return self._fed_back(TranscriptKey.of(key))

    def entries(self, key: Mapping[str, Any]) -> list[Entry]:
        """The transcript verbatim, in order; empty if there is none. Blocking."""
        with collector_paused():
            return self._entries(TranscriptKey.of(key))

    def uuids(self, key: Mapping[str, Any]) -> set[str]:
        """The uuids of all entries of a transcript. Blocking."""
        transcript = TranscriptKey.of(key)

        def read() -> set[str]:
            queued = (uuid_of(entry) for entry in self._backlog.waiting(transcript))
            return {*self._database.uids(transcript), *(uuid for uuid in queued if uuid)}

        return self._locked(read)

    def nameless(self, key: Mapping[str, Any]) -> Iterator[Entry]:
        """The entries of a transcript that have no uuid, in order, without having them all in memory. Blocking."""
        transcript, last = TranscriptKey.of(key), -1
        while rows := self._locked(partial(self._database.nameless, transcript, last, _SMALL_PAGE)):
            for _, payload in rows:
                if (entry := decode(payload)) is not None:
                    yield entry
            last = rows[-1][0]
        for entry in self._locked(partial(self._backlog.waiting, transcript)):
            if not uuid_of(entry):
                yield entry

    def subkeys(self, key: Mapping[str, Any]) -> list[str]:
        """The subpaths of a session's other transcripts, sorted."""
        session = TranscriptKey.of(key)[:2]

        def read() -> set[str]:
            queued = {
                each.subpath for each in self._backlog.transcripts() if each[:2] == session and each.subpath
            }
            return queued.union(self._database.subpaths(*session))

        return sorted(self._locked(read))

    def projects(self) -> list[str]:
        """The project keys that there are transcripts of, sorted."""
        return self._locked(self._database.projects)

    def has_session(self, project_key: str, session_id: str) -> bool:
        """Whether there is a transcript of this session that can be taken up; reads one row."""
        key = TranscriptKey(project_key, session_id)
        return self._locked(lambda: self._database.has(key) or any(map(uuid_of, self._backlog.waiting(key))))

    def last_context(self, project_key: str, session_id: str, *, scan: int = 60) -> int:
        """How many tokens the session's main thread held when the model last spoke.

        0 if the last `scan` entries don't tell.
        """
        key = TranscriptKey(project_key, session_id)
        payloads, queued = self._locked(lambda: (self._database.tail(key, scan), self._backlog.waiting(key)))
        newest_first = [*reversed(queued), *(decode(payload) or {} for payload in payloads)]
        return next(filter(None, map(context_of, newest_first[:scan])), 0)

    def close(self) -> None:
        """Write what is queued, and close. Waits for somebody else's lock, for up to 90 s."""
        if self._closed:
            return
        self._closed = True
        if not self._backlog.close(_PATIENCE_SECONDS):
            self._backlog.count_failure(f"{self.path}: closed with entries that could not be written")
        with self._lock:
            self._database.close()

    def _fed_back(self, key: TranscriptKey) -> list[Entry] | None:
        return self._entries(key) or None

    def _entries(self, key: TranscriptKey) -> list[Entry]:
        found: list[Entry] = []
        last = -1
        queued: list[Entry] | None = None
        while queued is None:
            rows, queued = self._locked(partial(self._page, key, last))
            found.extend(entry for _, payload in rows if (entry := decode(payload)) is not None)
            last = rows[-1][0] if rows else last
        return found + _unknown(queued, found) if queued else found

    def _page(self, key: TranscriptKey, after: int) -> tuple[list[tuple[int, bytes]], list[Entry] | None]:
        """The rows that follow, and with the last of them what is queued behind them."""
        rows = self._database.page(key, after, _PAGE)
        return rows, self._backlog.waiting(key) if len(rows) < _PAGE else None

    def _delete(self, key: TranscriptKey) -> None:
        if not self._backlog.drain(_READ_SECONDS):
            raise TimeoutError(f"{self.path}: entries that came before could not be written")
        self._locked(lambda: self._database.delete(key))

    async def _read(self, action: Callable[[], _T]) -> _T:
        return await asyncio.to_thread(self._locked, action)

    def _locked(self, action: Callable[[], _T]) -> _T:
        """`action` with the lock held, again while the database is somebody else's. Raises `OSError`."""
        deadline = time.monotonic() + _READ_SECONDS
        while True:
            try:
                with self._lock:
                    return action()
            except Busy as error:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{self.path}: {error}") from error
            time.sleep(_PAUSE_SECONDS)

    def _count_delay(self, seconds: float) -> None:
        self._backlog.count_delay(f"{self.path}: somebody else has held it for {seconds:g} s")


def _unknown(queued: list[Entry], stored: list[Entry]) -> list[Entry]:
    """The queued entries that will be stored: those whose uuid is not, each once."""
    known = {uuid_of(entry) for entry in stored}
    unknown = []
    for entry in queued:
        uuid = uuid_of(entry)
        if uuid is None or uuid not in known:
            known.add(uuid)
            unknown.append(entry)
    return unknown
