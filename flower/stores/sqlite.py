"""Transcripts in one SQLite file: everything that was said, kept verbatim.

`SqliteSessionStore` is what the rest of flower uses. `SqliteDatabase` has the statements, for one thread at a time.
Its errors are three: `Busy` (try again), `Unwritable` (the entry is at fault) and `OSError` (the file is, and the
message names it). With `sqlite_file`, which opens and prepares the file, all SQL of the project is here.
"""

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from flower.core.project import project_key
from flower.core.words import Words

from .backlog import Batch, Unwritable
from .entries import Entry, decode, encode, uuid_of
from .keys import TranscriptKey, bounds_below
from .residue import context_of
from .sessions import QueuedSessionStore
from .sqlite_file import FILE_NAME, SqliteFile

if TYPE_CHECKING:
    from claude_agent_sdk.types import SessionSummaryEntry


class SqliteSessionStore(QueuedSessionStore):
    """The session store over one SQLite file, whose folder is made if need be.

    `path` may be ``":memory:"``. A file that is damaged is set aside and an empty one begins; `notice` then says so
    in one line. So is somebody else's that is called ``sessions.db``. Raises `FileExistsError` for any other file that
    isn't a database of ours, and leaves it alone; `OSError`, naming the path, when the file can't be opened or made.
    """

    def __init__(self, path: str | Path) -> None:
        database = SqliteDatabase(Path(path))
        super().__init__(database)
        self.journal_mode = database.journal_mode  # "wal", or what the file system allows instead


class SqliteDatabase:
    """The statements over one file. Not safe for two threads at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = SqliteFile(path)
        self._newest = (-1, -1, 0)  # opening and version of the file, and the latest mtime in that version

    @property
    def notice(self) -> Words | None:
        return self._file.notice

    @property
    def journal_mode(self) -> str:
        return self._file.journal_mode

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
        # Entries without a uuid are the CLI's notes to itself; with those alone it can't take up a session.
        query = "SELECT 1 FROM entries WHERE store_key = ? AND uid IS NOT NULL LIMIT 1"
        return bool(self._rows(query, key.stored))

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
        self._file.close()

    # ------------------------------------------------------------------ rows

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._file.connection() as connection:
            return connection.execute(query, values).fetchall()

    def _transaction(self, action: Callable[[sqlite3.Connection], None]) -> None:
        with self._file.connection() as connection:
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
        fresh = _fresh(connection, stored, _rows_of(batch))
        if not fresh:
            return  # what comes twice is no news: neither time nor summary moves
        known = execute("SELECT next_seq FROM meta WHERE store_key = ?", (stored,)).fetchone()
        first = known[0] if known else 0
        connection.executemany(
            "INSERT INTO entries VALUES (?, ?, ?, ?)",
            [(stored, number, row.uid, row.payload) for number, row in enumerate(fresh, first)],
        )
        mtime = self._next_mtime(connection)
        execute(
            """INSERT INTO meta VALUES (?, ?, ?)
               ON CONFLICT (store_key) DO UPDATE SET mtime = excluded.mtime, next_seq = excluded.next_seq""",
            (stored, mtime, first + len(fresh)),
        )
        if batch.key.subpath is None:
            _fold(connection, batch.key, [row.entry for row in fresh], mtime)

    def _next_mtime(self, connection: sqlite3.Connection) -> int:
        """Milliseconds since the epoch, later than any other in the file, whoever wrote it."""
        version = connection.execute("PRAGMA data_version").fetchone()[0]  # moves when others write
        *known, newest = self._newest
        if [self._file.openings, version] != known:
            row = connection.execute("SELECT coalesce(max(mtime), 0) FROM meta").fetchone()
            newest = max(newest, row[0])
        newest = max(newest + 1, time.time_ns() // 1_000_000)
        self._newest = self._file.openings, version, newest
        return newest


class _Row(NamedTuple):
    uid: str | None
    payload: str
    entry: Entry


def _rows_of(batch: Batch) -> list[_Row]:
    try:
        batch.key.stored.encode()  # what is no Unicode can't be a name in the file
        rows = [_Row(uuid_of(entry), encode(entry), entry) for entry in batch.entries]
        for row in rows:
            (row.uid or "").encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Unwritable(batch, f"an entry is no JSON: {error}") from error
    return rows


def _fresh(connection: sqlite3.Connection, stored: str, rows: list[_Row]) -> list[_Row]:
    """The rows that are not in the file yet, each uuid once.

    A batch whose uuids are all stored was delivered again. Only of such a one are entries without a uuid compared
    with what is stored, by their content: else two of the same content may both be real.
    """
    names = [row.uid for row in rows if row.uid is not None]
    known = _known(connection, stored, names)
    again = bool(names) and known.issuperset(names)
    fresh = []
    for row in rows:
        if row.uid is None:
            if again and _has_nameless(connection, stored, row.payload):
                continue
        elif row.uid in known:
            continue
        else:
            known.add(row.uid)
        fresh.append(row)
    return fresh


def _known(connection: sqlite3.Connection, stored: str, names: list[str]) -> set[str]:
    query = "SELECT uid FROM entries WHERE store_key = ? AND uid IN (SELECT value FROM json_each(?))"
    if len(names) == 1:  # the usual case has the shorter way
        query, values = "SELECT uid FROM entries WHERE store_key = ? AND uid = ?", names[0]
    else:
        values = json.dumps(names)
    return {uid for (uid,) in connection.execute(query, (stored, values))} if names else set()


def _has_nameless(connection: sqlite3.Connection, stored: str, payload: str) -> bool:
    query = "SELECT 1 FROM entries WHERE store_key = ? AND uid IS NULL AND payload = ? LIMIT 1"
    return connection.execute(query, (stored, payload)).fetchone() is not None


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


def last_context_of(run_dir: Path, workspace: Path, session_id: str, *, scan: int = 60) -> int:
    """What `SqliteSessionStore.last_context` says, from the file alone: nothing is made, locked or migrated.

    For who only looks. 0 as well when there is no file, or none that can be read.
    """
    key = TranscriptKey(project_key(workspace), session_id)
    address = f"{(run_dir / FILE_NAME).resolve().as_uri()}?mode=ro"
    query = "SELECT CAST(payload AS BLOB) FROM entries WHERE store_key = ? ORDER BY seq DESC LIMIT ?"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=1.0)) as connection:
            payloads = [payload for (payload,) in connection.execute(query, (key.stored, scan))]
    except sqlite3.Error:
        return 0
    return next(filter(None, (context_of(decode(payload) or {}) for payload in payloads)), 0)
