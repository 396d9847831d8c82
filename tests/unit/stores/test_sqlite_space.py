"""A full disk: it is told, the run goes on, and what could not be written is written when there is space again."""

import asyncio
import errno
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower.stores import backlog
from flower.stores.sqlite import SqliteSessionStore
from tests.support.processes import Spawned, eventually
from tests.unit.stores.transcripts import Entry

ROOT = Path(__file__).resolve().parents[3]
KEY = {"project_key": "p", "session_id": "s"}
LARGE = "x" * 100_000

# A limit on the size of files is what anybody may set and take back; a disk has another error, and the same effect.
CRAMPED = """
import asyncio, resource, signal, sys
from pathlib import Path
from flower.stores import backlog
from flower.stores.sqlite import SqliteSessionStore

backlog._FAILURE_PAUSE_SECONDS = 0.02
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
KEY = {"project_key": "p", "session_id": "s"}

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

async def main(path):
    store = SqliteSessionStore(path)
    await store.append(KEY, [{"type": "user", "uuid": "before"}])
    limit(path.with_name(path.name + "-wal").stat().st_size + 5000)
    for number in range(20):
        await store.append(KEY, [{"type": "user", "uuid": str(number), "text": "x" * 3000}])
    print(store.queued, store.failures, store.notice is not None, len(store.entries(KEY)), flush=True)
    limit(resource.RLIM_INFINITY)
    while store.queued:
        await asyncio.sleep(0.02)
    print(store.notice, flush=True)
    store.close()

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def store(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteSessionStore]:
    monkeypatch.setattr(backlog, "_FAILURE_PAUSE_SECONDS", 0.02)
    opened = SqliteSessionStore(path)
    yield opened
    opened.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only who may mount can make a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def entry(uuid: str, **fields: object) -> Entry:
    return {"type": "user", "uuid": uuid, **fields}


def uids(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return [uid for (uid,) in connection.execute("SELECT uid FROM entries ORDER BY store_key, seq")]
    finally:
        connection.close()


def limit_pages(store: SqliteSessionStore, pages: int) -> None:
    """SQLite's own way to run out of space, with the same error as a full disk."""
    with store._lock:
        connection = store._database._file._connection  # type: ignore[attr-defined]
        connection.execute(f"PRAGMA max_page_count = {pages or 1}")


async def test_a_full_disk_is_told_and_what_was_not_written_is_written_later(
    path: Path, store: SqliteSessionStore
) -> None:
    await store.append(KEY, [entry("a")])
    limit_pages(store, 0)

    await store.append(KEY, [entry("b", text=LARGE)])

    assert store.queued == 1
    assert store.failures >= 1
    assert store.last_failure is not None and "full" in store.last_failure and str(path) in store.last_failure
    assert "1 条记录在内存里等着" in (store.notice or "") and store.last_failure in (store.notice or "")
    assert [each["uuid"] for each in await store.load(KEY) or []] == ["a", "b"]
    with pytest.raises(OSError, match="full"):
        await asyncio.to_thread(store.append_sync, KEY, [entry("c", text=LARGE)])
    limit_pages(store, 1 << 30)
    await eventually(lambda: store.queued == 0)
    assert uids(path) == ["a", "b", "c"]
    assert store.notice is None


async def test_a_disk_that_was_full_for_a_while_costs_no_entry(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "_FAILURE_PAUSE_SECONDS", 0.02)
    store = SqliteSessionStore(small_disk / "sessions.db")
    await store.append(KEY, [entry("before")])
    ballast = small_disk / "ballast"
    fill_up(ballast)

    for number in range(40):
        await store.append(KEY, [entry(str(number), text="x" * 10_000)])

    assert store.queued > 0 and "full" in (store.notice or "")
    assert len(store.entries(KEY)) == 41
    ballast.unlink()
    await eventually(lambda: store.queued == 0)
    store.close()
    assert uids(small_disk / "sessions.db") == ["before", *map(str, range(40))]


def test_a_limit_on_files_that_is_taken_back_costs_no_entry(path: Path, spawned: Spawned) -> None:
    process = spawned.start([sys.executable, "-c", CRAMPED, str(path)], cwd=ROOT, stdout=subprocess.PIPE)

    output, _ = process.communicate(timeout=60)

    cramped, after = output.decode().splitlines()
    queued, failures, told, seen = cramped.split()
    assert int(queued) > 0 and int(failures) > 0 and told == "True"
    assert (seen, after) == ("21", "None")
    assert uids(path) == ["before", *map(str, range(20))]


def test_a_file_on_a_full_disk_is_not_taken_for_a_damaged_one(small_disk: Path) -> None:
    path = small_disk / "sessions.db"
    whole = SqliteSessionStore(path)
    whole.append_sync(KEY, [entry("a")])
    whole.close()
    ballast = small_disk / "ballast"
    fill_up(ballast)

    with pytest.raises(OSError, match=r"sessions\.db") as refused:
        SqliteSessionStore(path)

    assert refused.value.errno == errno.ENOSPC
    ballast.unlink()
    assert uids(path) == ["a"]
    assert list(small_disk.glob("*unreadable*")) == []


def test_closing_does_not_wait_for_ever_for_a_full_disk(path: Path, store: SqliteSessionStore) -> None:
    limit_pages(store, 0)
    asyncio.run(store.append(KEY, [entry("a", text=LARGE)]))

    store.close()

    assert store.last_failure == f"{path}: closed with entries that could not be written"
    assert uids(path) == []


def fill_up(ballast: Path) -> None:
    """Leave no byte free where this file is."""
    with ballast.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
