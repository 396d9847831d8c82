"""The three files of a run as a person or a script of theirs finds them: where, in which shape, and never by halves."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from flower import Lineage, Runtime, StepResult
from flower.core.manifest import Manifest, read_rows
from flower.core.project import project_key

SESSION = "47395075-bec7-466e-80cd-f4d60b360235"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up")


# ---------------------------------------------------------------- where


def test_run_dir_is_runs_in_the_current_folder_wherever_the_workspace_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: None
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    runtime = Runtime(workspace=tmp_path / "work")
    runtime.close()

    assert runtime.run_dir == tmp_path / "here" / "runs"
    assert (runtime.run_dir / "sessions.db").exists()
    assert list((tmp_path / "work").iterdir()) == []


def test_the_three_files_have_their_names(tmp_path: Path, key: None) -> None:
    runtime = Runtime(workspace=tmp_path / "work", run_dir=tmp_path / "runs")
    runtime.record()
    runtime.close()
    Lineage.open(runtime.run_dir, runtime.workspace).bump()

    assert {"lineage.json", "sessions.db", "manifest.json"} <= {
        path.name for path in runtime.run_dir.iterdir()
    }


def test_there_is_no_manifest_before_there_is_a_step(tmp_path: Path, key: None) -> None:
    Runtime(workspace=tmp_path / "work", run_dir=tmp_path / "runs").close()

    assert not (tmp_path / "runs" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("/Users/you/proj", "-Users-you-proj"),
        ("/srv/a_b/c.d", "-srv-a-b-c-d"),
        ("/no/such/_x.y_", "-no-such--x-y-"),
    ],
)
def test_slash_underscore_and_dot_of_a_workspace_are_dashes_in_its_key(folder: str, expected: str) -> None:
    assert project_key(Path(folder)) == expected


# ---------------------------------------------------------------- lineage.json


def test_the_lineage_reads_as_it_is_shown(tmp_path: Path) -> None:
    lineage = Lineage.open(tmp_path / "runs", tmp_path)
    for _ in range(3):
        lineage.bump()
    lineage.remember("干活", SESSION)

    text = lineage.path.read_text()

    assert list(json.loads(text).items()) == [
        ("workspace", str(tmp_path)),
        ("woke", 3),
        ("steps", {"干活": SESSION}),
    ]
    assert text.startswith('{\n  "workspace": "') and f'"干活": "{SESSION}"' in text


def test_a_lineage_that_another_program_wrote_is_read(tmp_path: Path) -> None:
    text = f'{{\n  "workspace": "{tmp_path}",\n  "woke": 3,\n  "steps": {{"干活": "{SESSION}"}}\n}}\n'
    (tmp_path / "lineage.json").write_text(text)

    lineage = Lineage.open(tmp_path, tmp_path)

    assert (lineage.woke, lineage.steps, lineage.notice) == (3, {"干活": SESSION}, None)


def test_an_archive_is_named_by_its_second_and_takes_its_extras_by_keyword(tmp_path: Path) -> None:
    lineage = Lineage.open(tmp_path / "runs", tmp_path)
    lineage.remember("干活", SESSION)
    (tmp_path / "需求.md").write_text("x")

    folder = lineage.archive(tmp_path / "archive", extra=[tmp_path / "需求.md"])

    assert folder.parent == tmp_path / "archive" and re.fullmatch(r"\d{8}-\d{6}", folder.name)
    reopened = Lineage.open(tmp_path / "runs", tmp_path)
    assert (reopened.steps, reopened.woke) == ({}, 0)


def change_lineage(folder: Path) -> Path:
    Lineage.open(folder, folder).bump()
    return folder / "lineage.json"


def change_manifest(folder: Path) -> Path:
    Manifest(folder, "20260101-000000-abcdef").write([StepResult("干活")])
    return folder / "manifest.json"


@pytest.mark.parametrize("change", [change_lineage, change_manifest])
def test_a_file_is_replaced_whole_so_that_whoever_has_it_open_never_sees_a_half(
    tmp_path: Path, change: Callable[[Path], Path]
) -> None:
    path = change(tmp_path)
    before = path.read_bytes()

    with path.open("rb") as opened:
        inode = path.stat().st_ino
        change(tmp_path)

        assert opened.read() == before, (
            "written in place, the old file would be gone before the new one is there"
        )
        assert path.stat().st_ino != inode
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize("change", [change_lineage, change_manifest])
def test_what_a_killed_writer_left_half_done_is_nobodys_file(
    tmp_path: Path, change: Callable[[Path], Path]
) -> None:
    path = change(tmp_path)
    before = path.read_bytes()
    path.with_name(f"{path.name}.4711.tmp").write_bytes(before[:10])

    assert path.read_bytes() == before
    change(tmp_path)
    json.loads(path.read_bytes())


# ---------------------------------------------------------------- manifest.json


def test_a_run_is_named_by_its_second_and_six_hexadecimal_digits(tmp_path: Path, key: None) -> None:
    runtime = Runtime(workspace=tmp_path / "work", run_dir=tmp_path / "runs")
    runtime.results.append(StepResult("干活", session_id=SESSION, ok=True, started_at=1.0, ended_at=3.456))
    runtime.record()
    runtime.close()

    [row] = read_rows(runtime.run_dir)
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{6}", row["run"]) and row["run"] == runtime.run_id
    assert row["duration_s"] == 2.46


def test_a_row_starts_with_these_values(tmp_path: Path) -> None:
    assert StepResult("干活").row("r") == {
        "step": "干活",
        "session_id": None,
        "ok": False,
        "cost_usd": 0.0,
        "num_turns": 0,
        "text": "",
        "error": None,
        "started_at": 0.0,
        "ended_at": 0.0,
        "attempts": 1,
        "errors": [],
        "resumed": False,
        "retired": [],
        "context": 0,
        "duration_s": 0.0,
        "run": "r",
    }


def test_the_rows_of_others_stay_as_they_are_and_where_they_are(tmp_path: Path) -> None:
    others = [
        {"step": "取词", "run": "20250101-000000-aaaaaa", "of_a_newer_flower": {"a": [1, None]}},
        {"step": "without a run"},
        {"step": "取词", "run": "20250101-000000-bbbbbb", "cost_usd": 0.5},
    ]
    (tmp_path / "manifest.json").write_text(json.dumps(others))
    manifest = Manifest(tmp_path, "20260101-000000-abcdef")

    for ok in (False, True):
        manifest.write([StepResult("干活", ok=ok)])

    rows = read_rows(tmp_path)
    assert rows[:3] == others
    assert [(row["step"], row["ok"]) for row in rows[3:]] == [("干活", True)]


def test_two_runs_that_take_turns_have_every_row_once(tmp_path: Path, key: None) -> None:
    runs = [Runtime(workspace=tmp_path / "work", run_dir=tmp_path / "runs") for _ in range(2)]

    for step in ("一", "二"):
        for runtime in runs:
            runtime.results.append(StepResult(step))
            runtime.record()
    for runtime in runs:
        runtime.close()

    rows = read_rows(tmp_path / "runs")
    assert sorted((row["run"], row["step"]) for row in rows) == sorted(
        (runtime.run_id, step) for runtime in runs for step in ("一", "二")
    )
