"""What storing and feeding back transcripts costs, as ratios to the least that it could cost.

``python tests/bench/bench_store.py [--quick]``. Each baseline is measured in the same run, on the same data, its
rounds alternating with ours: appending against plain inserts of the same payloads, one transaction a batch, with
the same pragmas; loading and pruning against ``json.loads`` of the same bytes.
"""

import argparse
import asyncio
import gc
import json
import sqlite3
import tempfile
import time
import tracemalloc
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from flower.stores.prune import PruningSessionStore
from flower.stores.sqlite import SqliteSessionStore

Entry = dict[str, Any]

_SESSION = "6d2f7448-081d-4be8-9530-1f141e448cb4"
_KEY = {"project_key": "-home-u-project", "session_id": _SESSION}
_FRAME = {
    "isSidechain": False,
    "userType": "external",
    "entrypoint": "sdk-py",
    "cwd": "/home/u/project",
    "sessionId": _SESSION,
    "version": "2.1.332",
    "gitBranch": "main",
    "timestamp": "2026-11-30T20:47:26.384Z",
}
_USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 300,
    "cache_read_input_tokens": 80_000,
    "output_tokens": 120,
    "service_tier": "standard",
    "cache_creation": {"ephemeral_5m_input_tokens": 300, "ephemeral_1h_input_tokens": 0},
}
_COMMANDS = (
    "git status --short",
    "pytest -q tests/unit",
    "ls -la src | head -20",
    "make -j2",
    "cat src/main.c",
)


def main(arguments: list[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Measure the session store.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the entries, one round")
    quick = parser.parse_args(arguments).quick
    _print_appends(rounds=1 if quick else 5)
    print()
    _print_loads(sizes=(2_000, 20_000) if quick else (20_000, 200_000))


def transcript(size: int) -> Iterator[Entry]:
    """`size` entries like those of a long run: calls and results, refused and interrupted ones, errors of the API."""
    parent: str | None = None
    for number, (kind, fields) in zip(range(size), _told(), strict=False):
        identity = str(uuid.UUID(int=number + 1))
        yield {"parentUuid": parent, **_FRAME, "type": kind, "uuid": identity, **fields}
        parent = identity


def _told() -> Iterator[tuple[str, Entry]]:
    yield "user", {"promptSource": "sdk", "message": {"role": "user", "content": "Please do it."}}
    turn = 0
    while True:
        turn += 1
        yield from _turn(turn)
        if turn % 97 == 0:
            yield "system", {"subtype": "api_error", "level": "error", "error": {"message": "overloaded"}}
            yield (
                "assistant",
                {"isApiErrorMessage": True, **_said({"type": "text", "text": "API Error: 529"}, "error")},
            )
            yield "user", {"promptSource": "sdk", "message": {"role": "user", "content": "Go on."}}


def _turn(turn: int) -> Iterator[tuple[str, Entry]]:
    message, call = f"msg_{turn:012x}", f"toolu_{turn:020x}"
    thought = "The next file should tell how that is done. " * 8
    yield "assistant", _said({"type": "thinking", "thinking": thought, "signature": "c2ln" * 60}, message)
    yield (
        "assistant",
        _said({"type": "text", "text": "Looking at the next part, then at its tests. " * 4}, message),
    )
    command = {"command": _COMMANDS[turn % len(_COMMANDS)], "description": "Run it"}
    yield "assistant", _said({"type": "tool_use", "id": call, "name": "Bash", "input": command}, message)
    if turn % 101:  # the others were interrupted
        yield "user", _denied(call) if turn % 50 == 0 else _done(call, turn)
    reminder = "<total_tokens>900000 tokens left</total_tokens>"
    yield (
        "attachment",
        {"attachment": {"type": "total_tokens_reminder", "text": reminder}, "renderedRole": "system"},
    )


def _said(block: Entry, message: str) -> Entry:
    model = "claude-opus-5"
    return {
        "message": {"model": model, "id": message, "role": "assistant", "content": [block], "usage": _USAGE}
    }


def _done(call: str, turn: int) -> Entry:
    output = f"line {turn} of what the command had to say\n" * (70 if turn % 4 == 0 else 12)
    result = {"tool_use_id": call, "type": "tool_result", "content": output, "is_error": False}
    account = {"stdout": output, "stderr": "", "interrupted": False}
    return {"message": {"role": "user", "content": [result]}, "toolUseResult": account}


def _denied(call: str) -> Entry:
    reason = "PreToolUse:Bash hook error: dispatch it"
    result = {"tool_use_id": call, "type": "tool_result", "content": reason, "is_error": True}
    return {"message": {"role": "user", "content": [result]}, "toolDenialKind": "permission-rule"}


# ---------------------------------------------------------------------- appending


def _print_appends(rounds: int) -> None:
    print(f"{'append, entries a batch':<28}{'store, entries/s':>18}{'plain inserts':>16}{'ratio':>8}")
    for size, count in ((1, 1_000), (20, 8_000), (500, 20_000)):
        entries = list(transcript(count))
        batches = [entries[at : at + size] for at in range(0, count, size)]
        ours, plain = _alternate(lambda b=batches: _append(b), lambda b=batches: _insert(b), rounds)  # type: ignore[misc]
        print(f"{size:<28}{count / ours:>18,.0f}{count / plain:>16,.0f}{ours / plain:>8.2f}")


def _append(batches: list[list[Entry]]) -> float:
    async def append_all(store: SqliteSessionStore) -> float:
        await store.append({**_KEY, "session_id": "warm-up"}, batches[0])
        start = time.perf_counter()
        for batch in batches:
            await store.append(_KEY, batch)
        return time.perf_counter() - start

    with tempfile.TemporaryDirectory() as folder:
        store = SqliteSessionStore(Path(folder) / "sessions.db")
        try:
            return asyncio.run(append_all(store))
        finally:
            store.close()


def _insert(batches: list[list[Entry]]) -> float:
    """The same rows, without a thread, without looking for what is there already, without a summary."""
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
        key, number = "/".join(_KEY.values()), 0
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


# ---------------------------------------------------------------------- loading


def _print_loads(sizes: tuple[int, int]) -> None:
    print(
        f"{'load and prune, entries':<28}"
        f"{'µs/entry':>10}{'parse':>8}{'ratio':>7}{'B/entry':>10}{'parse':>8}{'ratio':>7}"
    )
    seconds, peaks = [], []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            taken, parse, peak, parse_peak = _measured_load(Path(folder), size)
        seconds.append(taken / size)
        peaks.append(peak / size)
        print(
            f"{size:<28,}{taken / size * 1e6:>10.1f}{parse / size * 1e6:>8.1f}{taken / parse:>7.2f}"
            f"{peak / size:>10,.0f}{parse_peak / size:>8,.0f}{peak / parse_peak:>7.2f}"
        )
    growth = f"time {seconds[1] / seconds[0]:.2f}, memory {peaks[1] / peaks[0]:.2f}"
    print(f"growth per entry from {sizes[0]:,} to {sizes[1]:,} entries (1 is linear): {growth}")


def _measured_load(folder: Path, size: int) -> tuple[float, float, int, int]:
    lines = [json.dumps(entry, separators=(",", ":")).encode() for entry in transcript(size)]
    store = PruningSessionStore(folder / "sessions.db", folder / "workspace")
    try:
        store.append_sync(_KEY, list(transcript(size)))
        store.load_sync(_KEY)  # the files of trimmed results are written once
        taken, parse = _alternate(
            lambda: _timed(lambda: store.load_sync(_KEY)), lambda: _timed(lambda: _parse(lines)), 3
        )
        return taken, parse, _peak(lambda: store.load_sync(_KEY)), _peak(lambda: _parse(lines))
    finally:
        store.close()


def _parse(lines: list[bytes]) -> list[Any]:
    return [json.loads(line) for line in lines]


def _timed(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    kept = work()
    taken = time.perf_counter() - start
    del kept
    return taken


def _peak(work: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _alternate(ours: Callable[[], float], baseline: Callable[[], float], rounds: int) -> tuple[float, float]:
    """The medians of both, in turns: what else the machine does at the time disturbs them alike."""
    pairs = [(ours(), baseline()) for _ in range(rounds)]
    return median(one for one, _ in pairs), median(other for _, other in pairs)


if __name__ == "__main__":
    main()
