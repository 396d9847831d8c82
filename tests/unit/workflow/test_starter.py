"""The flow behind a bare ``flower``: what its work step is told, and how a new matter begins."""

import re
from pathlib import Path

import pytest

from flower import Brief, Goal, Lineage, Workflow, starter_flow
from tests.unit.workflow.scripted import Folder, ScriptedRuntime

STAMP = r"\d{8}-\d{6}"


async def take(folder: Folder, ask: str | None, **options: object) -> tuple[str, str | None]:
    """What the work step was told, and the session it was told it in."""
    runtime = ScriptedRuntime(folder.workspace, folder.run_dir)
    flow = starter_flow(ask, workspace=folder.workspace, run_dir=folder.run_dir, **options)  # type: ignore[arg-type]
    await flow.run(runtime)
    runtime.close()
    [asked] = runtime.asked
    assert asked.step == "干活"
    return asked.prompt, asked.resume


def documents(folder: Folder) -> Path:
    notes = folder.workspace / ".flower" / "notes"
    Brief("a", "b", "c", "d").write(notes / "需求.md")
    Goal("it works", ["run it"]).write(notes / "目标.md")
    return notes


async def test_a_first_run_is_told_the_request_and_nothing_else(folder: Folder) -> None:
    assert await take(folder, " 写个 md 转 html 的脚本 ") == ("写个 md 转 html 的脚本", None)


async def test_words_in_a_used_folder_are_one_more_remark_in_the_same_session(folder: Folder) -> None:
    await take(folder, "写个 md 转 html 的脚本")
    session = folder.lineage["steps"]["干活"]

    said, resumed = await take(folder, "顺便支持代码块高亮")

    assert resumed == session
    assert said.startswith("顺便支持代码块高亮\n") and "不是重新开始" in said
    assert "写个 md 转 html 的脚本" not in said, "it has that in its context"


@pytest.mark.parametrize("nothing", [None, "", "  \n"])
async def test_without_words_it_just_goes_on(folder: Folder, nothing: str | None) -> None:
    await take(folder, "写个 md 转 html 的脚本")
    session = folder.lineage["steps"]["干活"]

    said, resumed = await take(folder, nothing)

    assert resumed == session
    assert said.startswith("接着上次的活继续") and "写个" not in said


async def test_a_wake_leaves_the_frozen_documents_as_they_are(folder: Folder) -> None:
    notes = documents(folder)
    before = {path.name: path.read_bytes() for path in notes.iterdir()}
    await take(folder, "写个脚本")

    await take(folder, None)

    assert {path.name: path.read_bytes() for path in notes.iterdir()} == before


@pytest.mark.parametrize("new", [False, True])
def test_nothing_to_do_is_refused_and_nothing_is_archived_for_it(folder: Folder, new: bool) -> None:
    notes = documents(folder)
    if new:
        Lineage.open(folder.run_dir, folder.workspace).remember("干活", "known")

    with pytest.raises(ValueError, match=r"^要给一句诉求,例如 flower '帮我做一个 X'$"):
        starter_flow(" ", workspace=folder.workspace, run_dir=folder.run_dir, new=new)

    assert sorted(path.name for path in notes.iterdir()) == ["目标.md", "需求.md"]


async def test_a_new_matter_archives_the_three_faces_of_the_old_one_together(folder: Folder) -> None:
    await take(folder, "写个脚本")
    old = (folder.run_dir / "lineage.json").read_bytes()
    notes = documents(folder)
    texts = {path.name: path.read_bytes() for path in notes.iterdir()}

    await take(folder, "另一件事", new=True)

    [archived] = (notes / "archive").iterdir()
    assert re.fullmatch(STAMP, archived.name)
    assert {path.name: path.read_bytes() for path in archived.iterdir()} == {**texts, "lineage.json": old}
    assert [path.name for path in notes.iterdir()] == ["archive"]


async def test_a_new_matter_has_a_session_and_a_count_of_its_own_and_the_old_one_stays_stored(
    folder: Folder,
) -> None:
    await take(folder, "写个脚本")
    await take(folder, None)
    before = folder.lineage["steps"]["干活"]

    assert await take(folder, "另一件事", new=True) == ("另一件事", None)

    assert folder.lineage["woke"] == 1
    assert folder.lineage["steps"]["干活"] != before
    runtime = ScriptedRuntime(folder.workspace, folder.run_dir)
    key = {"project_key": runtime.project_key, "session_id": before}
    assert runtime.has_session(before) and len(runtime.store.entries(key)) == 2
    runtime.close()


async def test_a_new_matter_archives_what_there_is_and_minds_nothing_that_is_missing(folder: Folder) -> None:
    notes = documents(folder)
    (notes / "目标.md").unlink()
    await take(folder, "另一件事", new=True)
    await take(folder, "又一件事", new=True)

    names = [sorted(path.name for path in each.iterdir()) for each in sorted((notes / "archive").iterdir())]
    assert names == [["需求.md"], ["lineage.json"]]


async def test_in_a_new_folder_there_is_nothing_to_archive(folder: Folder) -> None:
    await take(folder, "一件事", new=True)

    assert not (folder.workspace / ".flower").exists()


def test_the_flow_is_continuous_and_has_its_name(folder: Folder) -> None:
    flow = starter_flow("x", workspace=folder.workspace, run_dir=folder.run_dir)

    assert isinstance(flow, Workflow) and (flow.name, flow.continuous) == ("starter", True)
    assert flow.steps[-1].name == "干活"
