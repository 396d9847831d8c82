"""What storing and feeding back transcripts costs, against the least that it could cost.

Appending is held against plain inserts of the same payloads, made beforehand, one transaction a batch, with the same
pragmas: without a thread, a look for what is there already, times or a summary. Loading and pruning is held against
``json.loads`` of the same bytes.
"""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from flower.stores.sqlite import SqliteSessionStore
from tests.bench.clock import in_turns
from tests.bench.long_transcript import KEY, Entry, transcript
from tests.bench.report import Figure, Goal, Report, at_most_times

ROOT = Path(__file__).resolve().parents[2]
BATCHES = ((1, 1_000), (20, 8_000), (500, 20_000))  # entries a batch, and how many in all
APPEND_ROUNDS = 3
SIZES = ((20_000, 3), (200_000, 1))  # entries, and how often they are loaded
GOAL = 3
LINEAR = 1.25  # per entry, from the one size to the other


def measure(report: Report) -> None:
    for size, count in BATCHES:
        _appends(report, size, count)
    costs = [_loads(report, size, rounds) for size, rounds in SIZES]
    for name, small, large in zip(("time", "memory"), *costs, strict=True):
        growth = large / small
        goal = Goal(f"<= {LINEAR}", growth <= LINEAR)
        report.fact(f"growth of {name} per entry", f"{growth:.2f}", goal)


def _appends(report: Report, size: int, count: int) -> None:
    entries = list(transcript(count))
    batches = [entries[at : at + size] for at in range(0, count, size)]
    ours, plain = in_turns(APPEND_ROUNDS, partial(_append, batches), partial(_insert, batches))
    report.row(
        f"append, per entry, {size} a batch",
        _microseconds(ours / count),
        "plain inserts",
        _microseconds(plain / count),
    )


def _append(batches: list[list[Entry]]) -> float:
    async def append_all(store: SqliteSessionStore) -> float:
        await store.append({**KEY, "session_id": "warm-up"}, batches[0])
        start = time.perf_counter()
        for batch in batches:
            await store.append(KEY, batch)
        return time.perf_counter() - start

    with tempfile.TemporaryDirectory() as folder:
        store = SqliteSessionStore(Path(folder) / "sessions.db")
        try:
            return asyncio.run(append_all(store))
        finally:
            store.close()


def _insert(batches: list[list[Entry]]) -> float:
    payloads = [
        [(each["uuid"], json.dumps(each, separators=(",", ":"))) for each in batch] for batch in batches
    ]
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "plain.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(
            "CREATE TABLE entries (store_key TEXT NOT NULL, seq INTEGER NOT NULL, uid TEXT, payload TEXT NOT NULL,"
            " PRIMARY KEY (store_key, seq))"
        )
        connection.execute(
            "CREATE UNIQUE INDEX entries_uid ON entries (store_key, uid) WHERE uid IS NOT NULL"
        )
        key, number = "/".join(KEY.values()), 0
        start = time.perf_counter()
        for batch in payloads:
            connection.execute("BEGIN IMMEDIATE")
            rows = [(key, number + offset, uid, payload) for offset, (uid, payload) in enumerate(batch)]
            connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", rows)
            connection.execute("COMMIT")
            number += len(batch)
        taken = time.perf_counter() - start
        connection.close()
        return taken


def _loads(report: Report, size: int, rounds: int) -> tuple[float, float]:
    """The seconds and bytes that an entry takes."""
    with tempfile.TemporaryDirectory() as folder:
        _run("prepare", size, folder)
        taken = in_turns(
            rounds, partial(_cost, "store", size, folder), partial(_cost, "parse", size, folder), warm=False
        )
    seconds, memory, parse_seconds, parse_memory = (each / size for each in taken)
    ours, theirs = _microseconds(seconds), _microseconds(parse_seconds)
    peer = "json.loads of the same bytes"
    report.row(f"load, per entry, of {size:,}", ours, peer, theirs, at_most_times(GOAL, ours, theirs))
    ours, theirs = Figure(memory / 1024, "kB"), Figure(parse_memory / 1024, "kB")
    report.row("  its memory", ours, peer, theirs, at_most_times(GOAL, ours, theirs))
    return seconds, memory


def _cost(work: str, size: int, folder: str) -> tuple[float, float]:
    seconds, memory = _run(work, size, folder).split()
    return float(seconds), float(memory)


def _run(work: str, size: int, folder: str) -> str:
    # A process of its own, for memory that was once taken isn't given back.
    command = [sys.executable, "-m", "tests.bench.loading", work, str(size), folder]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def _microseconds(seconds: float) -> Figure:
    return Figure(seconds * 1e6, "µs")
