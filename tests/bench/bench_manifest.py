"""What a row costs in a manifest that has thousands, against dumping and writing the same rows."""

import json
import tempfile
import time
from functools import partial
from pathlib import Path

from flower.core.durable import write_atomically
from flower.core.manifest import NAME, Manifest, new_run_id, read_rows
from flower.core.result import StepResult
from tests.bench.clock import in_turns
from tests.bench.report import Report, at_most_times, milliseconds

ROWS = 10_000
ROUNDS = 7
GOAL = 2


def measure(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder)
        Manifest(run_dir, new_run_id()).write([_row() for _ in range(ROWS)])
        manifest = Manifest(run_dir, new_run_id())
        ours, floor = map(milliseconds, in_turns(ROUNDS, partial(_write, manifest), partial(_dump, run_dir)))
        if len(read_rows(run_dir)) != ROWS + 1:
            raise ValueError("the rows are not those that were written")
    report.row(
        f"a row more, beside {ROWS:,}",
        ours,
        "json.dumps, written whole",
        floor,
        at_most_times(GOAL, ours, floor),
    )


def _write(manifest: Manifest) -> float:
    begin = time.perf_counter()
    manifest.write([_row()])
    return time.perf_counter() - begin


def _dump(run_dir: Path) -> float:
    """Without reading what is there, and without an indent, which would make it slower."""
    rows = json.loads((run_dir / NAME).read_bytes())
    begin = time.perf_counter()
    write_atomically(run_dir / "floor.json", json.dumps(rows, ensure_ascii=False).encode())
    return time.perf_counter() - begin


def _row() -> StepResult:
    return StepResult(
        step="干活",
        session_id="6d2f7448-081d-4be8-9530-1f141e448cb4",
        ok=True,
        cost_usd=0.25,
        num_turns=12,
        text="做完了:脚本能跑,样例转出来看过。\n" * 20,
        started_at=1_764_547_200.0,
        ended_at=1_764_547_800.0,
        context=80_200,
    )
