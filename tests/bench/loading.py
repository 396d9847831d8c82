"""One load of a transcript, in a process of its own: its time, and by how much it made the process grow.

``python -m tests.bench.loading prepare SIZE FOLDER`` makes a database and a file of the same lines; ``store`` and
``parse`` in place of ``prepare`` load the one and parse the other, and print seconds and bytes.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from flower.stores.prune import PruningSessionStore
from tests.bench.long_transcript import KEY, Entry, transcript

_AT_ONCE = 1_000


def main() -> None:
    work, size, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    {"prepare": _prepare, "store": _store, "parse": _parse}[work](size, folder)


def _prepare(size: int, folder: Path) -> None:
    store = PruningSessionStore(folder / "sessions.db", folder / "workspace")
    batch: list[Entry] = []
    with (folder / "lines.jsonl").open("wb") as lines:
        for number, entry in enumerate(transcript(size), 1):
            batch.append(entry)
            if len(batch) == _AT_ONCE or number == size:
                store.append_sync(KEY, batch)
                lines.writelines(json.dumps(each, separators=(",", ":")).encode() + b"\n" for each in batch)
                batch = []
    store.load_sync(KEY)  # the files of trimmed results are written once
    store.close()


def _store(size: int, folder: Path) -> None:
    store = PruningSessionStore(folder / "sessions.db", folder / "workspace")
    loaded = _print_cost(lambda: store.load_sync(KEY) or [])
    assert 0.8 * size < len(loaded) < size, "what the rules take is a small part"
    store.close()


def _parse(size: int, folder: Path) -> None:
    lines = (folder / "lines.jsonl").read_bytes().splitlines()
    parsed = _print_cost(lambda: [json.loads(line) for line in lines])
    assert len(parsed) == size, "all lines are there"


def _print_cost(work: Callable[[], list[Entry]]) -> list[Entry]:
    before, begin = _peak_bytes(), time.perf_counter()
    result = work()
    print(time.perf_counter() - begin, _peak_bytes() - before)
    return result


def _peak_bytes() -> int:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS: in bytes
    # Not what `getrusage` says here, which counts in the process that this one was forked from.
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
