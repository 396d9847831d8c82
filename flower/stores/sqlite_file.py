"""The file that transcripts lie in: opened, prepared, and set aside when it is damaged.

A file that isn't ours at all is set aside only where one of ours should be, under `FILE_NAME` in a run_dir. Under any
other name somebody has typed a wrong path, and their file stays where it is.

`SqliteFile` hands out one connection, for one thread at a time. Its errors are two: `Busy` (try again) and `OSError`
(the file is at fault, and the message names it).
"""

import contextlib
import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from flower.core.durable import private_folder, set_aside
from flower.core.words import Words

from .backlog import Busy
from .mounts import is_shared

FILE_NAME = "sessions.db"

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

_NOT_OURS = Words(
    "这不是 flower 的会话库,没有动它;换个路径。",
    "this is no session database of flower's, and was left alone; give another path",
)
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


class Damaged(Exception):
    """The file is no database of ours; the message says what it is."""


class Foreign(Damaged):
    """It never was one."""


class SqliteFile:
    """One connection to one file, made when it is asked for. Not safe for two threads at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notice: Words | None = None
        self.journal_mode = ""  # as read back: what was asked for is not always what a file system gives
        self.openings = 0  # how many connections there have been
        self._inode: tuple[int, int] | None = None  # which file is ours, whatever its name stands for later
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        with contextlib.suppress(Busy), self.connection():
            return
        with self.connection():  # what was there was damaged, and is out of the way now
            return

    def close(self) -> None:
        self._closed = True
        self._drop_connection()

    @contextlib.contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """The connection, and SQLite's errors as ours. A file that turns out to be damaged is set aside: `Busy`.

        Raises `FileExistsError` for somebody else's that is left alone.
        """
        try:
            with _translated(self.path):
                if self._connection is None:
                    self._connection = self._open()
                    self.openings += 1
                yield self._connection
        except Damaged as error:
            if isinstance(error, Foreign) and self.path.name != FILE_NAME:
                text = str(_NOT_OURS)
                raise FileExistsError(errno.EEXIST, text, str(self.path)) from error
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
            raise Foreign("no database")

    def _set_aside(self) -> None:
        """Rename the file and what belongs to it; nothing if another process has done so in the meantime."""
        if self.path == _MEMORY or _inode(self.path) != self._inode:
            return
        aside = set_aside(self.path)
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                self.path.with_name(self.path.name + suffix).rename(aside.with_name(aside.name + suffix))
        self.notice = Words(
            f"会话库读不了,已挪到 {aside.name},从空的开始。",
            f"The session database could not be read; it is now {aside.name}, and an empty one begins.",
        )


def _set_journal(connection: sqlite3.Connection, *, shared: bool) -> str:
    """Ask for a write-ahead log, take what the file system gives, and return what that is.

    On a file system that is shared between machines a log would need memory that they don't share.
    """
    mode = _ask_for_journal(connection, "delete" if shared else "wal")
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
    """Raises `Foreign` if there are tables, and not ours."""
    for table, columns in _COLUMNS.items() if _tables(connection) else ():
        found = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        if not columns <= found:
            raise Foreign(f"somebody else's database: {table} is not ours")


def _check(connection: sqlite3.Connection) -> None:
    answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if answer != "ok":
        raise Damaged(answer)


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
        number, text = _ERRNO.get(code, errno.EIO), str(error)
        if number == errno.EIO and _is_full(path.parent):  # what SQLite says of a log that can't grow
            number, text = errno.ENOSPC, os.strerror(errno.ENOSPC)
        raise OSError(number, text, str(path)) from error


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free == 0
    except OSError:
        return False
