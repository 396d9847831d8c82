"""What doesn't match counts as absent: a fresh start, one quiet line, and never an error."""

import json
import shutil
from collections.abc import Callable

import pytest

from flower import Step
from tests.unit.workflow.scripted import TERSE, Folder

WORK = Step("干活", TERSE, "work", resume_prompt="go on")


def moved(folder: Folder) -> None:
    """Workspace and runs are copied elsewhere, and the work goes on in the copy."""
    copy = folder.workspace.parent / "copy"
    shutil.copytree(folder.workspace, copy)
    folder.workspace = copy


def without_store(folder: Folder) -> None:
    for file in folder.run_dir.glob("sessions.db*"):
        file.unlink()


def damaged(folder: Folder) -> None:
    (folder.run_dir / "lineage.json").write_bytes(b'{"workspace": "')


def of_another_shape(folder: Folder) -> None:
    (folder.run_dir / "lineage.json").write_text('["干活"]')


def a_folder(folder: Folder) -> None:
    (folder.run_dir / "lineage.json").unlink()
    (folder.run_dir / "lineage.json").mkdir()


@pytest.mark.parametrize("spoil", [moved, without_store, damaged, of_another_shape, a_folder])
async def test_a_mismatch_is_a_fresh_start_with_one_quiet_line(
    folder: Folder, spoil: Callable[[Folder], None]
) -> None:
    before = await folder.run(WORK)
    spoil(folder)

    ctx = await folder.run(WORK)

    assert [(each.prompt, each.resume) for each in folder.asked] == [("work", None)]
    assert ctx.get("_failed_at") is None and ctx["_sessions"] != before["_sessions"]
    [line] = folder.notices()
    assert "从头开始" in line
    again = await folder.run(WORK)
    assert folder.notices() == [] and again["_sessions"] == ctx["_sessions"], "and from there it goes on"


async def test_a_first_run_has_nothing_to_say(folder: Folder) -> None:
    await folder.run(WORK)

    assert folder.notices() == []


async def test_another_run_dir_is_another_thread(folder: Folder) -> None:
    before = await folder.run(WORK)
    folder.run_dir = folder.run_dir.with_name("others")

    ctx = await folder.run(WORK)

    assert folder.asked[0].resume is None and ctx["_woke"] == 1
    folder.run_dir = folder.run_dir.with_name("runs")
    again = await folder.run(WORK)
    assert again["_sessions"] == before["_sessions"] and again["_woke"] == 2


async def test_a_folder_moved_by_mistake_goes_on_once_it_is_back_with_its_lineage(folder: Folder) -> None:
    before = await folder.run(WORK)
    home = folder.workspace
    moved(folder)
    await folder.run(WORK)
    [aside] = folder.run_dir.glob("lineage.json.unreadable-*")

    folder.workspace = home
    aside.rename(folder.run_dir / "lineage.json")
    ctx = await folder.run(WORK)

    assert ctx["_sessions"] == before["_sessions"]


async def test_a_lineage_that_cannot_be_written_keeps_nobody_from_working(folder: Folder) -> None:
    (folder.run_dir / ".lineage.json.lock").mkdir(parents=True)

    ctx = await folder.run(WORK)

    assert ctx.get("_failed_at") is None and ctx["干活"] == "done"
    assert (ctx["_woke"], list(ctx["_sessions"])) == (1, ["干活"])
    assert any("lineage.json" in line for line in folder.notices())
    assert json.loads((folder.run_dir / "manifest.json").read_text())[0]["ok"]
