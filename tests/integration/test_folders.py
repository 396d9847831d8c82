"""Odd folders: long, not ASCII, two with the same key, links; and what a run leaves behind in them and elsewhere."""

import os
import tempfile
from pathlib import Path

import pytest

from flower import Runtime, Step, Workflow, wake_state
from flower.rehearsal import Rehearsal, Turn
from tests.support.runs import bash, environment, handy, lineage, play, stored

TALK = play(Turn(text="look", calls=[bash("pwd")]), Turn(text="done"), again=True)


async def woken(workspace: Path, run_dir: Path, model: Rehearsal) -> str:
    """The session of a step after it ran twice in the folder; the same both times."""
    sessions = []
    for _ in range(2):
        runtime = Runtime(workspace=workspace, run_dir=run_dir, environment=environment(model))
        ctx = await Workflow([Step("干活", handy(), "work")]).run(runtime)
        runtime.close()
        assert ctx.get("_failed_at") is None
        sessions.append(ctx["_sessions"]["干活"])
    assert sessions[0] == sessions[1]
    return str(sessions[0])


@pytest.mark.parametrize("name", ["a" * 120 + "/" + "b" * 120, "项目 一", "emoji-👨‍👩‍👧", "a.b_c d"])
async def test_a_conversation_goes_on_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    with Rehearsal(TALK) as model:
        await woken(tmp_path / name, tmp_path / name / "runs", model)


async def test_folders_whose_names_make_one_key_have_each_their_own_conversation(tmp_path: Path) -> None:
    with Rehearsal(TALK) as model:
        sessions = [
            await woken(tmp_path / name, tmp_path / name / "runs", model) for name in ("文档", "项目")
        ]

    assert sessions[0] != sessions[1]


async def test_a_folder_reached_by_a_link_is_the_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with Rehearsal(TALK) as model:
        session = await woken(tmp_path / "real", tmp_path / "real" / "runs", model)
        again = await woken(tmp_path / "link", tmp_path / "link" / "runs", model)

    assert session == again


async def test_a_run_leaves_its_files_where_they_belong_and_nothing_elsewhere(tmp_path: Path) -> None:
    workspace = tmp_path / "work"
    with Rehearsal(TALK) as model:
        session = await woken(workspace, workspace / "runs", model)

    assert sorted(path.name for path in workspace.iterdir()) == ["runs"]
    visible = sorted(path.name for path in (workspace / "runs").iterdir() if not path.name.startswith("."))
    assert visible == ["claude", "lineage.json", "manifest.json", "sessions.db"]
    assert not [
        path for path in (workspace / "runs" / "claude").rglob(f"*{session}*") if path.parent.name != "leases"
    ]
    assert list(Path(tempfile.gettempdir()).iterdir()) == []
    assert list(Path(os.environ["CLAUDE_CONFIG_DIR"]).iterdir()) == []
    assert stored(workspace / "runs", session)


def test_looking_whether_a_folder_can_be_continued_writes_not_one_byte(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "lineage.json").write_text("{")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    state = wake_state(tmp_path, run_dir=tmp_path / "runs")

    assert (state["waking"], state["woke"], state["steps"]) == (False, 0, {})
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


async def test_the_state_of_a_used_folder_is_what_its_lineage_says(tmp_path: Path) -> None:
    with Rehearsal(TALK) as model:
        session = await woken(tmp_path / "w", tmp_path / "r", model)

    state = wake_state(tmp_path / "w", run_dir=tmp_path / "r")
    assert (state["woke"], state["steps"]) == (2, {"干活": session})
    assert state["steps"] == lineage(tmp_path / "r")["steps"]
