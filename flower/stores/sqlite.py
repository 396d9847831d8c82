"""Transcripts in one SQLite file: everything that was said, kept verbatim. All SQL of the project is here.

`SqliteSessionStore` is what the rest of flower uses. `SqliteDatabase` is one connection, for one thread at a time:
it opens, sets pragmas, makes the tables and gives transactions. Its errors are three: `Busy` (try again),
`Unwritable` (the entry is at fault) and `OSError` (the file is, and the message names it).
"""

import contextlib
import errno
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flower.core.durable import private_folder, set_aside
from flower.core.project import project_key
from flower.core.words import Words, language_of

from .backlog import Batch, Busy, Unwritable
from .entries import Entry, decode, encode, uuid_of
from .keys import TranscriptKey, bounds_below
from .mounts import is_shared
from .residue import context_of
from .sessions import QueuedSessionStore

if TYPE_CHECKING:
    from claude_agent_sdk.types import SessionSummaryEntry

# A released format: never edited, only migrated from.
_SCHEMA = (
    """CREATE TABLE entries (
        store_key TEXT NOT NULL, seq INTEGER NOT NULL, uid TEXT, payload TEXT NOT NULL,
        PRIMARY KEY (store_key, seq))""",
    "CREATE UNIQUE INDEX entries_uid ON entries (store_key, uid) WHERE uid IS NOT NULL",
    "CREATE TABLE meta (store_key TEXT PRIMARY KEY, mtime INTEGER NOT NULL, next_seq INTEGER NOT NULL)",
    """CREATE TABLE summaries (
        project_key TEXT NOT NULL, session_id TEXT NOT NULL, mtime INTEGER NOT NULL, data TEXT NOT NULL,
        PRIMARY KEY (project_key, session_id))""",
)
_COLUMNS = {
    "entries": {"store_key", "seq", "uid", "payload"},
    "meta": {"store_key", "mtime", "next_seq"},
    "summaries": {"project_key", "session_id", "mtime", "data"},
}

_HEADER = b"SQLite format 3\0"
_MEMORY = Path(":memory:")
# SQLite itself waits so long for a lock; then whoever waits for the connection gets a turn.
_SLICE_SECONDS = 0.25
_PAUSE_SECONDS = 0.02
# Somebody may have the file for a minute when it is opened; that must only delay.
_OPENING_SECONDS = 90.0
# A check of so many bytes takes about a tenth of a second; damage in a larger file shows when it is read.
_CHECKED_BYTES = 64 << 20

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_ERRNO = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
}


class SqliteSessionStore(QueuedSessionStore):
    """The session store over one SQLite file, whose folder is made if need be.

    `path` may be ``":memory:"``. A file that is damaged, or somebody else's, is set aside and an empty one begins;
    `notice` then says so in one line. Raises `OSError`, naming the path, when the file can't be opened or made.
    """

    def __init__(self, path: str | Path) -> None:
        database = SqliteDatabase(Path(path))
        super().__init__(database)
        self.journal_mode = database.journal_mode  # "wal", or what the file system allows instead


class Damaged(Exception):
    """The file is no database of ours; the message says what it is."""


class SqliteDatabase:
    """One connection to one file. Not safe for two threads at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notice: str | None = None
        self.journal_mode = ""  # as read back: what was asked for is not always what a file system gives
        self._inode: tuple[int, int] | None = None  # which file is ours, whatever its name stands for later
        self._newest = (-1, 0)  # the version of the file, and the latest mtime in that version
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        try:
            self._rows("SELECT 1")
        except Busy:  # the file was damaged, and is out of the way now
            self._rows("SELECT 1")

    def write(self, batches: list[Batch]) -> None:
        self._transaction(lambda connection: self._insert_all(connection, batches))

    def page(self, key: TranscriptKey, after: int, size: int) -> list[tuple[int, bytes]]:
        # As bytes: the parser wants them, and a string would be one copy more.
        query = """SELECT seq, CAST(payload AS BLOB) FROM entries
                   WHERE store_key = ? AND seq > ? ORDER BY seq LIMIT ?"""
        return self._rows(query, key.stored, after, size)

    def nameless(self, key: TranscriptKey, after: int, size: int) -> list[tuple[int, bytes]]:
        query = """SELECT seq, CAST(payload AS BLOB) FROM entries
                   WHERE store_key = ? AND seq > ? AND uid IS NULL ORDER BY seq LIMIT ?"""
        return self._rows(query, key.stored, after, size)

    def uids(self, key: TranscriptKey) -> list[str]:
        query = "SELECT uid FROM entries WHERE store_key = ? AND uid IS NOT NULL"
        return [uid for (uid,) in self._rows(query, key.stored)]

    def tail(self, key: TranscriptKey, size: int) -> list[bytes]:
        query = "SELECT CAST(payload AS BLOB) FROM entries WHERE store_key = ? ORDER BY seq DESC LIMIT ?"
        return [payload for (payload,) in self._rows(query, key.stored, size)]

    def has(self, key: TranscriptKey) -> bool:
        return bool(self._rows("SELECT 1 FROM meta WHERE store_key = ?", key.stored))

    def sessions(self, project_key: str) -> list[tuple[str, int]]:
        first, end = bounds_below(project_key)
        rows = self._rows(
            "SELECT store_key, mtime FROM meta WHERE store_key >= ? AND store_key < ?", first, end
        )
        return [(key[len(first) :], mtime) for key, mtime in rows if "/" not in key[len(first) :]]

    def summaries(self, project_key: str) -> list[tuple[str, int, dict[str, Any]]]:
        query = "SELECT session_id, mtime, CAST(data AS BLOB) FROM summaries WHERE project_key = ?"
        rows = self._rows(query, project_key)
        return [(session_id, mtime, decode(data) or {}) for session_id, mtime, data in rows]

    def subpaths(self, project_key: str, session_id: str) -> list[str]:
        first, end = bounds_below(project_key, session_id)
        rows = self._rows("SELECT store_key FROM meta WHERE store_key >= ? AND store_key < ?", first, end)
        return [key[len(first) :] for (key,) in rows]

    def projects(self) -> list[str]:
        query = "SELECT DISTINCT substr(store_key, 1, instr(store_key, '/') - 1) FROM meta ORDER BY 1"
        return [project for (project,) in self._rows(query)]

    def delete(self, key: TranscriptKey) -> None:
        self._transaction(lambda connection: _delete(connection, key))

    def close(self) -> None:
        self._closed = True
        self._drop_connection()

    # ------------------------------------------------------------------ rows

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._guarded() as connection:
            return connection.execute(query, values).fetchall()

    def _transaction(self, action: Callable[[sqlite3.Connection], None]) -> None:
        with self._guarded() as connection:
            # At once for writing: a transaction that begins by reading can't always go on to write.
            connection.execute("BEGIN IMMEDIATE")
            try:
                action(connection)
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def _insert_all(self, connection: sqlite3.Connection, batches: list[Batch]) -> None:
        for batch in batches:
            self._insert(connection, batch)

    def _insert(self, connection: sqlite3.Connection, batch: Batch) -> None:
        stored, execute = batch.key.stored, connection.execute
        known = execute("SELECT next_seq FROM meta WHERE store_key = ?", (stored,)).fetchone()
        number = known[0] if known else 0
        fresh = []
        for entry in batch.entries:
            inserted = execute(
                """INSERT INTO entries VALUES (?, ?, ?, ?)
                   ON CONFLICT (store_key, uid) WHERE uid IS NOT NULL DO NOTHING""",
                (stored, number, uuid_of(entry), _payload(entry, batch)),
            )
            if inserted.rowcount:
                number += 1
                fresh.append(entry)
        if not fresh:
            return  # what comes twice is no news: neither time nor summary moves
        mtime = self._next_mtime(connection)
        execute(
            """INSERT INTO meta VALUES (?, ?, ?)
               ON CONFLICT (store_key) DO UPDATE SET mtime = excluded.mtime, next_seq = excluded.next_seq""",
            (stored, mtime, number),
        )
        if batch.key.subpath is None:
            _fold(connection, batch.key, fresh, mtime)

    def _next_mtime(self, connection: sqlite3.Connection) -> int:
        """Milliseconds since the epoch, later than any other in the file, whoever wrote it."""
        version = connection.execute("PRAGMA data_version").fetchone()[0]  # moves when others write
        known, newest = self._newest
        if version != known:
            row = connection.execute("SELECT coalesce(max(mtime), 0) FROM meta").fetchone()
            newest = max(newest, row[0])
        newest = max(newest + 1, time.time_ns() // 1_000_000)
        self._newest = version, newest
        return newest

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[sqlite3.Connection]:
        """The connection, and SQLite's errors as ours. A file that turns out to be damaged is set aside: `Busy`."""
        try:
            with _translated(self.path):
                if self._connection is None:
                    self._connection = self._open()
                yield self._connection
        except Damaged as error:
            # In this order: a connection takes the log along when it is closed, by its name.
            self._drop_connection()
            self._set_aside()
            raise Busy(str(error)) from error

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # ------------------------------------------------------------------ opening

    def _open(self) -> sqlite3.Connection:
        """A connection to a database of ours, made if need be. Raises `Damaged` and `OSError`."""
        if self._closed:
            raise OSError(errno.EBADF, "closed", str(self.path))
        self._make_file()
        deadline = time.monotonic() + _OPENING_SECONDS
        while True:
            try:
                with _translated(self.path):
                    return self._prepared()
            except Busy as error:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{self.path}: {error}") from error
            time.sleep(_PAUSE_SECONDS)

    def _prepared(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=_SLICE_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _check_tables(connection)  # before anything is written, for it may be somebody else's
            self.journal_mode = _set_journal(connection, shared=is_shared(self.path.parent))
            _make_tables(connection)
            if self._inode is not None and self.path.stat().st_size <= _CHECKED_BYTES:
                _check(connection)
        except BaseException:
            connection.close()
            raise
        self._newest = -1, self._newest[1]
        return connection

    def _make_file(self) -> None:
        if self.path == _MEMORY:
            return
        private_folder(self.path.parent)
        with contextlib.suppress(FileExistsError):
            # SQLite gives its other files the rights of this one.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        self._inode = _inode(self.path)
        # Looked at before SQLite does, which throws a log away that it can't find a database to.
        if self.path.is_dir() or _header(self.path) not in (b"", _HEADER):
            raise Damaged("no database")

    def _set_aside(self) -> None:
        """Rename the file and what belongs to it; nothing if another process has done so in the meantime."""
        if self.path == _MEMORY or _inode(self.path) != self._inode:
            return
        aside = set_aside(self.path)
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                self.path.with_name(self.path.name + suffix).rename(aside.with_name(aside.name + suffix))
        words = Words(
            f"会话库读不了,已挪到 {aside.name},从空的开始。",
            f"The session database could not be read; it is now {aside.name}, and an empty one begins.",
        )
        self.notice = words.spoken(language_of(os.environ))


def _fold(connection: sqlite3.Connection, key: TranscriptKey, fresh: list[Any], mtime: int) -> None:
    from claude_agent_sdk import fold_session_summary

    project_key, session_id, _ = key
    row = connection.execute(
        "SELECT mtime, CAST(data AS BLOB) FROM summaries WHERE project_key = ? AND session_id = ?",
        key[:2],
    ).fetchone()
    known: SessionSummaryEntry | None = None
    if row:
        known = {"session_id": session_id, "mtime": row[0], "data": decode(row[1]) or {}}
    folded = fold_session_summary(known, {"project_key": project_key, "session_id": session_id}, fresh)
    connection.execute(
        """INSERT INTO summaries VALUES (?, ?, ?, ?)
           ON CONFLICT (project_key, session_id) DO UPDATE SET mtime = excluded.mtime, data = excluded.data""",
        (project_key, session_id, mtime, encode(folded["data"])),
    )


def _delete(connection: sqlite3.Connection, key: TranscriptKey) -> None:
    first, end = bounds_below(key.stored)  # nothing lies below a subagent's key
    for table in ("entries", "meta"):
        connection.execute(
            f"DELETE FROM {table} WHERE store_key = ? OR (store_key >= ? AND store_key < ?)",
            (key.stored, first, end),
        )
    if key.subpath is None:
        connection.execute("DELETE FROM summaries WHERE project_key = ? AND session_id = ?", key[:2])


def _set_journal(connection: sqlite3.Connection, *, shared: bool) -> str:
    """Ask for a write-ahead log, take what the file system gives, and return what that is.

    On a file system that is shared between machines a log would need memory that they don't share.
    """
    mode = _ask_for_journal(connection, "delete" if shared else "wal")
    if mode not in ("wal", "memory"):
        mode = _ask_for_journal(connection, "delete")
    # A log that is cut off by a power failure costs the last entries; a journal could cost the file.
    connection.execute(f"PRAGMA synchronous = {'NORMAL' if mode == 'wal' else 'FULL'}")
    return mode


def _ask_for_journal(connection: sqlite3.Connection, mode: str) -> str:
    # A refusal is an answer too, or an error; and who holds the file keeps its mode from being changed.
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute(f"PRAGMA journal_mode = {mode}")
    answer: str = connection.execute("PRAGMA journal_mode").fetchone()[0]
    return answer.lower()


def _make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty file."""
    if _tables(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _tables(connection):  # another process may have been faster
            for statement in _SCHEMA:
                connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _tables(connection: sqlite3.Connection) -> set[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) != 'sqlite_'"
    return {name for (name,) in connection.execute(query)}


def _check_tables(connection: sqlite3.Connection) -> None:
    """Raises `Damaged` if there are tables, and not ours."""
    for table, columns in _COLUMNS.items() if _tables(connection) else ():
        found = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        if not columns <= found:
            raise Damaged(f"somebody else's database: {table} is not ours")


def _check(connection: sqlite3.Connection) -> None:
    answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if answer != "ok":
        raise Damaged(answer)


def _payload(entry: Entry, batch: Batch) -> str:
    try:
        return encode(entry)
    except (TypeError, ValueError, RecursionError) as error:
        raise Unwritable(batch, f"an entry is no JSON: {error}") from error


def _header(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(_HEADER))


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest only says more exactly where
        if code in _BUSY:
            raise Busy(str(error)) from error
        if code in _DAMAGED:
            raise Damaged(str(error)) from error
        raise OSError(_ERRNO.get(code, errno.EIO), str(error), str(path)) from error


def last_context_of(run_dir: Path, workspace: Path, session_id: str, *, scan: int = 60) -> int:
    """What `SqliteSessionStore.last_context` says, from the file alone: nothing is made, locked or migrated.

    For who only looks. 0 as well when there is no file, or none that can be read.
    """
    key = TranscriptKey(project_key(workspace), session_id)
    address = f"{(run_dir / 'sessions.db').resolve().as_uri()}?mode=ro"
    query = "SELECT CAST(payload AS BLOB) FROM entries WHERE store_key = ? ORDER BY seq DESC LIMIT ?"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=1.0)) as connection:
            payloads = [payload for (payload,) in connection.execute(query, (key.stored, scan))]
    except sqlite3.Error:
        return 0
    return next(filter(None, (context_of(decode(payload) or {}) for payload in payloads)), 0)
