"""A full disk: it is told, the run goes on, and what could not be written is written when there is space again."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower.stores import backlog
from flower.stores.sqlite import SqliteSessionStore
from tests.support.processes import Spawned, eventually
from tests.unit.stores.stored import KEY, entry, uids

ROOT = Path(__file__).resolve().parents[3]
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

# A disk of two megabytes, for this process alone: with its end the mount is gone, however it ends.
SMALL_DISK = """
import asyncio, errno, json, subprocess, sys
from pathlib import Path
from flower.stores import backlog
from flower.stores.sqlite import SqliteSessionStore

backlog._FAILURE_PAUSE_SECONDS = 0.02
KEY = {"project_key": "p", "session_id": "s"}
disk = Path(sys.argv[1])
path, ballast = disk / "sessions.db", disk / "ballast"
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], check=True)

def fill_up():
    with ballast.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue

async def main():
    found = {}
    store = SqliteSessionStore(path)
    await store.append(KEY, [{"type": "user", "uuid": "before"}])
    fill_up()
    for number in range(40):
        await store.append(KEY, [{"type": "user", "uuid": str(number), "text": "x" * 10_000}])
    found["queued"], found["notice"] = store.queued, str(store.notice)
    found["seen"] = [entry["uuid"] for entry in store.entries(KEY)]
    ballast.unlink()
    while store.queued:
        await asyncio.sleep(0.02)
    store.close()
    fill_up()
    try:
        SqliteSessionStore(path)
    except OSError as error:
        found["refused"] = error.errno == errno.ENOSPC and str(path) in str(error)
    ballast.unlink()
    again = SqliteSessionStore(path)
    found["kept"] = [entry["uuid"] for entry in again.entries(KEY)]
    again.close()
    found["files"] = sorted(file.name for file in disk.iterdir())
    print(json.dumps(found))

asyncio.run(main())
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
    assert "1 条记录在内存里等着" in str(store.notice) and str(store.last_failure) in str(store.notice)
    assert [each["uuid"] for each in await store.load(KEY) or []] == ["a", "b"]
    with pytest.raises(OSError, match="full"):
        await asyncio.to_thread(store.append_sync, KEY, [entry("c", text=LARGE)])
    limit_pages(store, 1 << 30)
    await eventually(lambda: store.queued == 0)
    assert uids(path) == ["a", "b", "c"]
    assert store.notice is None
    assert store._backlog.trouble is None, "nor does the next short wait speak of it"


def test_a_disk_that_was_full_for_a_while_costs_no_entry_and_is_not_taken_for_damage(
    tmp_path: Path, spawned: Spawned
) -> None:
    alone = ["unshare", "--user", "--map-root-user", "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], check=False).returncode:
        pytest.skip("no small disk without a mount of one's own")
    process = spawned.start(
        [*alone, sys.executable, "-c", SMALL_DISK, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE
    )

    output, _ = process.communicate(timeout=60)

    found = json.loads(output)
    all_of_them = ["before", *map(str, range(40))]
    assert found["queued"] > 0 and "full" in found["notice"]
    assert found["seen"] == all_of_them, "what waits is part of what is read"
    assert found["kept"] == all_of_them
    assert found["refused"], "a store on a full disk says so"
    assert found["files"] == ["sessions.db"], "full is not damaged"


def test_a_limit_on_files_that_is_taken_back_costs_no_entry(path: Path, spawned: Spawned) -> None:
    process = spawned.start([sys.executable, "-c", CRAMPED, str(path)], cwd=ROOT, stdout=subprocess.PIPE)

    output, _ = process.communicate(timeout=60)

    cramped, after = output.decode().splitlines()
    queued, failures, told, seen = cramped.split()
    assert int(queued) > 0 and int(failures) > 0 and told == "True"
    assert (seen, after) == ("21", "None")
    assert uids(path) == ["before", *map(str, range(20))]


def test_closing_does_not_wait_for_ever_for_a_full_disk(path: Path, store: SqliteSessionStore) -> None:
    limit_pages(store, 0)
    asyncio.run(store.append(KEY, [entry("a", text=LARGE)]))

    store.close()

    assert store.last_failure == f"{path}: closed with entries that could not be written"
    assert uids(path) == []
