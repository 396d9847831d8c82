"""Locks, kills, damaged files: entries are late, but never lost."""

import asyncio
import contextlib
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flower.stores import sessions, sqlite_file
from flower.stores.sqlite import SqliteSessionStore
from tests.support.processes import Spawned, eventually, wait_until
from tests.unit.stores.stored import KEY, entry, uids

ROOT = Path(__file__).resolve().parents[3]

HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
connection.execute("PRAGMA journal_mode = " + sys.argv[2])
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
connection.execute("ROLLBACK")
"""

WRITER = """
import asyncio, sys
from flower.stores.sqlite import SqliteSessionStore

async def main(path, name, batches):
    store = SqliteSessionStore(path)
    for number in range(batches):
        entries = [{"type": "user", "uuid": f"{name}-{number}-{n}"} for n in range(3)]
        await store.append({"project_key": "p", "session_id": "s"}, entries)
        print(number, flush=True)
    store.close()

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def open_store(path: Path) -> Iterator[Callable[[], SqliteSessionStore]]:
    opened: list[SqliteSessionStore] = []

    def make() -> SqliteSessionStore:
        opened.append(SqliteSessionStore(path))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def run(spawned: Spawned) -> Callable[..., subprocess.Popen[bytes]]:
    def start(script: str, *arguments: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", script, *map(str, arguments)]
        return spawned.start(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    return start


def first_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


def let_go(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()


# ---------------------------------------------------------------------- locks


async def test_an_append_waits_for_another_processs_lock(
    path: Path, open_store: Callable[[], SqliteSessionStore], run: Callable[..., subprocess.Popen[bytes]]
) -> None:
    store = open_store()
    holder = run(HOLDER, path, "wal")
    assert await asyncio.to_thread(first_line, holder) == b"held\n"

    appending = asyncio.create_task(store.append(KEY, [entry("a")]), name="append")
    await eventually(lambda: store.queued == 1)
    assert not appending.done()
    let_go(holder)
    await appending

    assert uids(path) == ["a"]
    assert store.failures == 0, "to wait for one's turn is no failure"


@pytest.mark.parametrize("mode", ["wal", "delete"])
async def test_an_append_that_would_take_too_long_is_queued_and_everybody_sees_it(
    mode: str,
    path: Path,
    open_store: Callable[[], SqliteSessionStore],
    run: Callable[..., subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "_APPEND_SECONDS", 0.05)
    monkeypatch.setattr(sqlite_file, "is_shared", lambda _: mode == "delete")
    store = open_store()
    await store.append(KEY, [entry("a")])
    holder = run(HOLDER, path, mode)
    assert await asyncio.to_thread(first_line, holder) == b"held\n"

    await store.append(KEY, [entry("b"), entry("a"), entry("b")])
    await store.append({**KEY, "subpath": "subagents/agent-1"}, [entry("c")])
    await store.append({**KEY, "session_id": "s2"}, [entry("d")])

    assert store.queued == 5
    assert store.failures == 3
    assert str(path) in (store.last_failure or "")
    assert str(store.notice) == f"会话暂时存不进去,5 条记录在内存里等着(失败 3 次):{store.last_failure}"
    if mode == "delete":  # not even reading is possible then, until the lock is gone
        let_go(holder)
    assert await store.load(KEY) == [entry("a"), entry("b")]
    assert store.has_session("p", "s2")
    assert store.subkeys(KEY) == ["subagents/agent-1"]
    let_go(holder)
    await eventually(lambda: store.queued == 0)
    assert uids(path) == ["a", "b", "c", "d"]
    assert store.notice is None


def test_closing_writes_what_is_queued(
    path: Path,
    open_store: Callable[[], SqliteSessionStore],
    run: Callable[..., subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "_APPEND_SECONDS", 0.05)
    store = open_store()
    holder = run(HOLDER, path, "wal")
    first_line(holder)
    asyncio.run(store.append(KEY, [entry("a")]))

    closing = threading.Thread(target=store.close, name="close")
    closing.start()
    let_go(holder)
    closing.join(30)

    assert uids(path) == ["a"]


def test_a_synchronous_append_is_over_when_the_entries_are_in_the_file_or_says_that_they_are_not(
    path: Path,
    open_store: Callable[[], SqliteSessionStore],
    run: Callable[..., subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = open_store()
    store.append_sync(KEY, [entry("a")])
    assert uids(path) == ["a"]

    monkeypatch.setattr(sessions, "_PATIENCE_SECONDS", 0.05)
    holder = run(HOLDER, path, "wal")
    first_line(holder)
    with pytest.raises(TimeoutError, match=r"sessions\.db"):
        store.append_sync(KEY, [entry("b")])
    let_go(holder)

    wait_until(lambda: store.queued == 0)
    assert uids(path) == ["a", "b"]


def test_a_store_can_be_opened_while_another_process_has_the_file(
    path: Path, open_store: Callable[[], SqliteSessionStore], run: Callable[..., subprocess.Popen[bytes]]
) -> None:
    holder = run(HOLDER, path, "delete")
    first_line(holder)
    opening = threading.Thread(target=open_store, name="open")

    opening.start()
    opening.join(0.3)
    assert opening.is_alive(), "it waits"
    let_go(holder)
    opening.join(30)

    assert not opening.is_alive()


async def test_the_loop_goes_on_while_the_store_waits(
    path: Path, open_store: Callable[[], SqliteSessionStore], run: Callable[..., subprocess.Popen[bytes]]
) -> None:
    store = open_store()
    holder = run(HOLDER, path, "wal")
    assert await asyncio.to_thread(first_line, holder) == b"held\n"
    appending = asyncio.create_task(store.append(KEY, [entry("a")]), name="append")

    for _ in range(50):
        await asyncio.sleep(0)
    assert not appending.done(), "the lock is still held, and the loop has come round all the same"
    let_go(holder)
    await appending

    assert uids(path) == ["a"]


# ---------------------------------------------------------------------- cancellation, order, kills


async def test_a_cancelled_append_is_still_written_and_before_the_next(
    path: Path, open_store: Callable[[], SqliteSessionStore], run: Callable[..., subprocess.Popen[bytes]]
) -> None:
    store = open_store()
    holder = run(HOLDER, path, "wal")
    assert await asyncio.to_thread(first_line, holder) == b"held\n"
    cancelled = asyncio.create_task(store.append(KEY, [entry("a")]), name="cancelled")
    await eventually(lambda: store.queued == 1)

    cancelled.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await cancelled
    following = asyncio.create_task(store.append(KEY, [entry("b")]), name="following")
    let_go(holder)
    await following

    assert cancelled.cancelled()
    assert uids(path) == ["a", "b"]


async def test_appends_at_the_same_time_are_written_in_the_order_of_their_calls(
    path: Path, open_store: Callable[[], SqliteSessionStore]
) -> None:
    store = open_store()

    await asyncio.gather(*(store.append(KEY, [entry(f"{number:03}")]) for number in range(300)))

    assert uids(path) == [f"{number:03}" for number in range(300)]


def test_two_processes_that_append_at_once_lose_nothing(
    path: Path, run: Callable[..., subprocess.Popen[bytes]]
) -> None:
    writers = [run(WRITER, path, name, 40) for name in ("x", "y")]
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0

    stored = uids(path)
    for name in ("x", "y"):
        expected = [f"{name}-{number}-{n}" for number in range(40) for n in range(3)]
        assert [uid for uid in stored if uid.startswith(name)] == expected


def test_what_was_appended_survives_a_kill(
    path: Path, run: Callable[..., subprocess.Popen[bytes]], open_store: Callable[[], SqliteSessionStore]
) -> None:
    writer = run(WRITER, path, "x", 100_000)
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline()) for _ in range(50)][-1]
    writer.kill()
    acknowledged = int(writer.stdout.read().decode().rpartition("\n")[0].rpartition("\n")[2] or acknowledged)

    stored = [each["uuid"] for each in open_store().entries(KEY)]

    expected = [f"x-{number}-{n}" for number in range(acknowledged + 1) for n in range(3)]
    assert stored[: len(expected)] == expected


# ---------------------------------------------------------------------- damaged files


def asides(path: Path) -> list[str]:
    return sorted(file.name for file in path.parent.iterdir() if ".unreadable-" in file.name)


def fill(path: Path) -> None:
    store = SqliteSessionStore(path)
    store.append_sync(KEY, [entry(str(number), text="x" * 500) for number in range(500)])
    store.close()


@pytest.mark.parametrize("content", [b"not a database" * 200, b"SQLite format 3\0" + b"\xff" * 5000])
async def test_a_file_that_is_no_database_is_set_aside_and_one_line_says_so(
    content: bytes, path: Path, open_store: Callable[[], SqliteSessionStore]
) -> None:
    path.write_bytes(content)

    store = open_store()
    await store.append(KEY, [entry("a")])

    (aside,) = asides(path)
    assert (path.parent / aside).read_bytes() == content
    assert str(store.notice) == f"会话库读不了,已挪到 {aside},从空的开始。"
    assert uids(path) == ["a"]


def test_the_line_is_english_for_who_wants_it(
    path: Path, open_store: Callable[[], SqliteSessionStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWER_LANG", "en")
    path.write_bytes(b"x" * 5000)

    assert str(open_store().notice).startswith("The session database could not be read")


def test_a_sound_file_gives_no_notice(path: Path, open_store: Callable[[], SqliteSessionStore]) -> None:
    fill(path)

    assert open_store().notice is None
    assert asides(path) == []


def test_a_file_with_a_damaged_page_is_set_aside_when_it_is_opened(
    path: Path, open_store: Callable[[], SqliteSessionStore]
) -> None:
    fill(path)
    overwrite_the_middle(path)

    store = open_store()

    assert not store.has_session("p", "s")
    assert len(asides(path)) == 1


async def test_a_damaged_page_that_shows_only_when_it_is_read_is_no_error_either(
    path: Path, open_store: Callable[[], SqliteSessionStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "_CHECKED_BYTES", 0)
    fill(path)
    overwrite_the_middle(path)
    store = open_store()
    assert store.notice is None

    assert await store.load(KEY) is None
    await store.append(KEY, [entry("a")])

    assert store.notice is not None
    assert len(asides(path)) == 1
    assert uids(path) == ["a"]


async def test_a_damaged_page_that_shows_only_when_it_is_written_costs_no_entry(
    path: Path, open_store: Callable[[], SqliteSessionStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "_CHECKED_BYTES", 0)
    fill(path)
    overwrite_the_middle(path)
    store = open_store()

    for number in range(200):
        await store.append(KEY, [entry(f"new-{number}", text="x" * 500)])

    assert [uid for uid in uids(path) if uid.startswith("new-")] == [f"new-{number}" for number in range(200)]


@pytest.mark.parametrize("left", [50, 5_000, 100_000])
def test_a_file_that_was_cut_off_is_set_aside(
    left: int, path: Path, open_store: Callable[[], SqliteSessionStore]
) -> None:
    fill(path)
    os.truncate(path, left)

    store = open_store()
    store.append_sync(KEY, [entry("a")])

    (aside,) = asides(path)
    assert re.fullmatch(r"sessions\.db\.unreadable-\d{8}-\d{6}", aside)
    assert uids(path) == ["a"]


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE recipes (name TEXT)", "CREATE TABLE entries (id INTEGER PRIMARY KEY, title TEXT)"],
)
def test_somebody_elses_database_is_set_aside_and_not_written_to(
    statement: str, path: Path, open_store: Callable[[], SqliteSessionStore]
) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.close()
    before = path.read_bytes()

    store = open_store()

    (aside,) = asides(path)
    assert (path.parent / aside).read_bytes() == before
    assert store.projects() == []


def a_page(path: Path) -> None:
    path.write_bytes(b"# recipes" * 100)


def a_database(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")


@pytest.mark.parametrize("make", [a_page, a_database])
def test_somebody_elses_file_of_another_name_is_left_alone(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    foreign = tmp_path / "kitchen" / "recipes"
    foreign.parent.mkdir()
    make(foreign)
    before = foreign.read_bytes()

    with pytest.raises(FileExistsError, match="recipes"):
        SqliteSessionStore(foreign)

    assert [file.name for file in foreign.parent.iterdir()] == ["recipes"]
    assert foreign.read_bytes() == before


def test_a_store_of_ours_that_was_damaged_is_set_aside_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "transcripts"
    fill(path)
    overwrite_the_middle(path)

    SqliteSessionStore(path).close()

    assert len(asides(path)) == 1


def test_a_folder_in_the_files_place_is_set_aside(
    path: Path, open_store: Callable[[], SqliteSessionStore]
) -> None:
    (path / "inside").mkdir(parents=True)

    open_store()

    (aside,) = asides(path)
    assert (path.parent / aside / "inside").is_dir()


def test_the_log_of_a_damaged_file_is_set_aside_with_it(
    path: Path, open_store: Callable[[], SqliteSessionStore]
) -> None:
    path.write_bytes(b"x" * 5000)
    path.with_name("sessions.db-wal").write_bytes(b"log")

    open_store()

    aside, log = asides(path)
    assert log == f"{aside}-wal"


def overwrite_the_middle(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 4)
        file.write(b"\xa5" * (size // 2))


# ---------------------------------------------------------------------- the journal


def test_the_journal_is_a_log_where_the_file_system_has_one(
    path: Path, open_store: Callable[[], SqliteSessionStore]
) -> None:
    store = open_store()

    assert store.journal_mode == "wal"
    assert synchronous(store) == 1  # NORMAL


def test_on_a_shared_file_system_the_journal_is_an_ordinary_one(
    path: Path, open_store: Callable[[], SqliteSessionStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "is_shared", lambda _: True)

    store = open_store()

    assert store.journal_mode == "delete"
    assert synchronous(store) == 2  # FULL


def test_where_a_log_is_refused_the_answer_is_believed(path: Path) -> None:
    # This way of locking has no shared memory, as on a file system without it.
    connection = sqlite3.connect(f"file:{path}?vfs=unix-dotfile", uri=True)

    mode = sqlite_file._set_journal(connection, shared=False)

    assert mode == "delete"
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    connection.close()


def synchronous(store: SqliteSessionStore) -> int:
    value: int = store._database._file._connection.execute("PRAGMA synchronous").fetchone()[0]  # type: ignore[attr-defined]
    return value
