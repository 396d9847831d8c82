"""The manifest: one row a step, added up over processes, nobody's row lost."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from flower.core.manifest import Manifest, new_run_id, read_rows
from flower.core.result import StepResult

COLUMNS = {
    "step", "session_id", "ok", "cost_usd", "num_turns", "text", "error", "started_at", "ended_at", "attempts",
    "errors", "resumed", "retired", "context", "duration_s", "run",
}  # fmt: skip


def test_a_row_has_every_field_of_the_result_and_two_more(tmp_path: Path) -> None:
    Manifest(tmp_path, "20260101-000000-abcdef").write([StepResult("干活", started_at=10.0, ended_at=12.5)])

    (row,) = json.loads((tmp_path / "manifest.json").read_text())
    assert set(row) == COLUMNS
    assert (row["duration_s"], row["run"]) == (2.5, "20260101-000000-abcdef")


def test_the_file_is_an_array_that_a_person_can_read(tmp_path: Path) -> None:
    Manifest(tmp_path, "a").write([StepResult("干活")])

    text = (tmp_path / "manifest.json").read_text()
    assert text.startswith("[\n  {\n") and "干活" in text


def test_half_a_character_costs_no_row(tmp_path: Path) -> None:
    Manifest(tmp_path, "a").write([StepResult("干活", text="cut off \ud83d")])

    assert [row["text"] for row in read_rows(tmp_path)] == ["cut off ?"]


def test_writing_again_replaces_ones_own_rows_only(tmp_path: Path) -> None:
    first, second = Manifest(tmp_path, "first"), Manifest(tmp_path, "second")
    first.write([StepResult("a")])
    second.write([StepResult("b")])
    first.write([StepResult("a", ok=True), StepResult("c")])
    second.write([StepResult("b", ok=True)])

    rows = [(row["run"], row["step"], row["ok"]) for row in read_rows(tmp_path)]
    assert sorted(rows) == [("first", "a", True), ("first", "c", False), ("second", "b", True)]


def test_two_runs_in_one_second_have_different_names() -> None:
    names = {new_run_id() for _ in range(50)}

    assert len(names) == 50
    assert all(len(name) == len("20260101-000000-abcdef") for name in names)


def test_an_unreadable_manifest_is_set_aside_with_a_line(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[{")
    manifest = Manifest(tmp_path, "a")

    manifest.write([StepResult("干活")])

    (aside,) = tmp_path.glob("manifest.json.unreadable-*")
    assert aside.read_text() == "[{"
    assert manifest.notice is not None and aside.name in manifest.notice.zh
    assert len(read_rows(tmp_path)) == 1


def test_there_are_no_rows_where_there_is_no_file(tmp_path: Path) -> None:
    assert read_rows(tmp_path) == []


def test_the_file_is_the_users_alone(tmp_path: Path) -> None:
    Manifest(tmp_path, "a").write([])

    assert stat.S_IMODE((tmp_path / "manifest.json").stat().st_mode) == 0o600


WRITER = """
import sys
from pathlib import Path
from flower.core.manifest import Manifest
from flower.core.result import StepResult
manifest = Manifest(Path(sys.argv[1]), sys.argv[2])
results = []
for number in range(200):
    results.append(StepResult(f"step-{number}"))
    manifest.write(results)
    results[-1].ok = True
manifest.write(results)
assert manifest.notice is None, manifest.notice
"""


def test_two_processes_that_write_at_once_lose_and_double_no_row(tmp_path: Path) -> None:
    of_a_newer_flower = {"run": "older", "step": "a", "a field nobody knows": [1]}
    (tmp_path / "manifest.json").write_text(json.dumps([of_a_newer_flower]))
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), name],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for name in ("one", "two")
    ]

    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]

    rows = read_rows(tmp_path)
    assert len(rows) == 401 and rows[0] == of_a_newer_flower
    for run in ("one", "two"):
        mine = [(row["step"], row["ok"]) for row in rows if row["run"] == run]
        assert mine == [(f"step-{number}", True) for number in range(200)]


INTERRUPTED = """
import os, signal, sys
from pathlib import Path
from flower.core.manifest import Manifest
from flower.core.result import StepResult

manifest, fsync = Manifest(Path(sys.argv[1]), "a"), os.fsync

def write_what_is_in_flight(*_):
    manifest.write([StepResult("done", ok=True), StepResult("in flight", error="killed-by-signal")])
    if sys.argv[2] == "ends":
        os._exit(0)

def signal_in_the_middle(descriptor):
    os.fsync = fsync
    os.kill(os.getpid(), signal.SIGTERM)
    fsync(descriptor)

signal.signal(signal.SIGTERM, write_what_is_in_flight)
os.fsync = signal_in_the_middle
manifest.write([StepResult("done", ok=True)])
"""


@pytest.mark.parametrize(("handler", "steps"), [("ends", ["done", "in flight"]), ("goes on", ["done"])])
def test_a_signals_handler_can_write_in_the_middle_of_a_write(
    tmp_path: Path, handler: str, steps: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, tmp_path, handler],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=20,
        check=False,
    )

    assert done.returncode == 0
    assert [row["step"] for row in json.loads((tmp_path / "manifest.json").read_text())] == steps
