"""A large result goes into a file as it arrives; the payloads are those that the real CLI sends."""

import asyncio
import hashlib
import stat
from pathlib import Path
from typing import Any

import pytest

from flower import Workbench, spill_guard

LARGE = "0123456789" * 500


@pytest.fixture
def workbench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path / "work")


async def result_of(
    matcher: Any, response: Any, tool: str = "Bash", agent_id: str = "", cwd: str = "/nowhere", **given: Any
) -> Any:
    """What the model gets to see of a result."""
    call = {"tool_name": tool, "tool_input": given, "tool_response": response, "cwd": cwd}
    if agent_id:
        call["agent_id"] = agent_id
    [hook] = matcher.hooks
    answer = await hook(call, "toolu_1", {"signal": None})
    if not answer:
        return response
    assert answer["hookSpecificOutput"]["hookEventName"] == "PostToolUse"
    return answer["hookSpecificOutput"]["updatedToolOutput"]


def bash(stdout: str = "", stderr: str = "", **more: Any) -> dict[str, Any]:
    fields = {"interrupted": False, "isImage": False, "noOutputExpected": False}
    return {"stdout": stdout, "stderr": stderr, **fields, **more}


def spilled(workbench: Workbench) -> list[Path]:
    folder = workbench.root / "spill"
    return sorted(folder.iterdir()) if folder.exists() else []


def assert_points(shown: str, path: Path, whole: str) -> None:
    pointer, _, start = shown.partition("\n")
    assert str(path) in pointer
    assert f"{len(whole)} 字符" in pointer
    assert start == whole[:400]
    assert path.read_text(encoding="utf-8") == whole


async def test_a_large_text_becomes_a_line_that_says_where_it_is_and_its_beginning(
    workbench: Workbench,
) -> None:
    shown = await result_of(spill_guard(workbench), LARGE)

    [path] = spilled(workbench)
    assert path.name == f"{hashlib.sha256(LARGE.encode()).hexdigest()[:16]}.txt"
    assert_points(shown, path, LARGE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(("length", "moved"), [(3999, False), (4000, True)])
async def test_the_threshold_is_in_characters(workbench: Workbench, length: int, moved: bool) -> None:
    await result_of(spill_guard(workbench), "字" * length)

    assert bool(spilled(workbench)) is moved


async def test_a_result_of_fields_keeps_its_shape(workbench: Workbench) -> None:
    response = bash(LARGE, "a warning")

    shown = await result_of(spill_guard(workbench), response, command="make")

    [path] = spilled(workbench)
    assert_points(shown["stdout"], path, LARGE)
    assert {**shown, "stdout": LARGE} == response


async def test_each_field_is_moved_by_itself(workbench: Workbench) -> None:
    shown = await result_of(spill_guard(workbench), bash(LARGE, LARGE[::-1]))

    assert len(spilled(workbench)) == 2
    assert shown["stdout"] != shown["stderr"]


READ = {"type": "text", "file": {"filePath": "/f", "content": LARGE, "numLines": 1, "startLine": 1}}
GREP = {"mode": "content", "numFiles": 0, "filenames": [], "content": LARGE, "numLines": 250}
FETCH = {
    "bytes": 9000,
    "code": 200,
    "codeText": "OK",
    "result": LARGE,
    "durationMs": 5,
    "url": "https://e.org",
}


@pytest.mark.parametrize(
    ("tool", "response"), [("Read", READ), ("Grep", GREP), ("WebFetch", FETCH)], ids=["read", "grep", "fetch"]
)
async def test_what_a_tool_found_is_moved_out_of_its_own_field(
    workbench: Workbench, tool: str, response: dict[str, Any]
) -> None:
    shown = await result_of(spill_guard(workbench), response, tool)

    [path] = spilled(workbench)
    fields = shown["file"] if tool == "Read" else shown
    [name] = {"content", "result"} & fields.keys()
    assert_points(fields[name], path, LARGE)
    restored = {**fields, name: LARGE}
    assert ({**shown, "file": restored} if tool == "Read" else restored) == response


NAMES = {"filenames": [LARGE, LARGE], "durationMs": 7, "numFiles": 2, "truncated": False}
IMAGE = {"type": "image", "file": {"base64": LARGE, "type": "image/png", "originalSize": 3000}}
CELLS = {"type": "notebook", "file": {"filePath": "/n.ipynb", "cells": [{"source": LARGE}]}}


@pytest.mark.parametrize(
    "response",
    [NAMES, IMAGE, CELLS, [{"type": "text", "text": LARGE}], bash(LARGE, isImage=True), None, 7, "short"],
    ids=["names", "image", "cells", "blocks", "picture", "nothing", "number", "short"],
)
async def test_lists_and_pictures_and_small_things_stay_as_they_are(
    workbench: Workbench, response: Any
) -> None:
    assert await result_of(spill_guard(workbench), response) == response

    assert spilled(workbench) == []


async def test_of_what_the_cli_itself_cut_the_whole_is_kept(workbench: Workbench, tmp_path: Path) -> None:
    whole = "第一行\r\n" + LARGE * 10
    kept = tmp_path / "output.txt"
    kept.write_bytes(whole.encode())
    response = bash(whole[:30_000], persistedOutputPath=str(kept), persistedOutputSize=len(whole.encode()))

    shown = await result_of(spill_guard(workbench), response, command="seq 1 30000")

    [path] = spilled(workbench)
    assert path.read_bytes() == whole.encode()
    pointer, _, start = shown["stdout"].partition("\n")
    assert f"{len(whole)} 字符" in pointer
    assert start == whole[:400]
    # With these, the CLI would wrap it in a pointer of its own.
    assert "persistedOutputPath" not in shown
    assert "persistedOutputSize" not in shown


async def test_of_what_the_cli_cut_and_lost_the_cut_text_is_kept(
    workbench: Workbench, tmp_path: Path
) -> None:
    response = bash(LARGE, persistedOutputPath=str(tmp_path / "gone.txt"))

    shown = await result_of(spill_guard(workbench), response)

    [path] = spilled(workbench)
    assert_points(shown["stdout"], path, LARGE)


async def test_the_same_result_is_kept_once_however_many_come_at_the_same_time(workbench: Workbench) -> None:
    guard = spill_guard(workbench)

    shown = await asyncio.gather(*(result_of(guard, bash(LARGE)) for _ in range(20)))

    [path] = spilled(workbench)
    assert path.read_text() == LARGE
    assert all(each == shown[0] for each in shown)


async def test_a_kept_result_that_somebody_changed_is_made_whole_again(workbench: Workbench) -> None:
    guard = spill_guard(workbench)
    await result_of(guard, LARGE)
    [path] = spilled(workbench)
    path.write_text("changed")

    await result_of(guard, LARGE)

    assert path.read_text() == LARGE


@pytest.mark.parametrize("external", [False, True], ids=["inside", "outside"])
async def test_a_look_at_a_kept_result_is_not_kept_again(tmp_path: Path, external: bool) -> None:
    workbench = Workbench(tmp_path / "work", home=tmp_path / "bench" if external else None)
    guard, folder = spill_guard(workbench), workbench.root / "spill"
    looks: list[dict[str, Any]] = [
        {"file_path": str(folder / "0123456789abcdef.txt")},
        {"path": str(folder)},
        {"path": "spill", "cwd": str(workbench.root)},
        {"path": "../spill/0123456789abcdef.txt", "cwd": str(workbench.notes)},
        {"command": f"tail -n 500 {folder}/0123456789abcdef.txt"},
    ]
    if not external:
        looks.append({"command": "cat .flower/spill/0123456789abcdef.txt"})

    for look in looks:
        assert await result_of(guard, READ, "Read", **look) == READ
    assert spilled(workbench) == []


async def test_a_look_at_something_with_a_similar_name_is_kept(workbench: Workbench) -> None:
    other = str(workbench.root.parent / "spill" / "a.txt")

    assert await result_of(spill_guard(workbench), READ, "Read", file_path=other) != READ


async def test_workers_results_are_moved_too_unless_only_the_main_threads_are_to_be(
    workbench: Workbench,
) -> None:
    assert await result_of(spill_guard(workbench, main_only=True), LARGE, agent_id="a1") == LARGE
    assert spilled(workbench) == []
    assert await result_of(spill_guard(workbench), LARGE, agent_id="a1") != LARGE
    assert await result_of(spill_guard(workbench, main_only=True), LARGE) != LARGE


async def test_half_a_character_is_no_trouble(workbench: Workbench) -> None:
    shown = await result_of(spill_guard(workbench), LARGE + "\ud83d")

    assert shown.startswith("[")
    assert spilled(workbench)[0].read_text() == LARGE + "?"


async def test_what_cannot_be_written_stays_whole(workbench: Workbench) -> None:
    workbench.ensure()
    (workbench.root / "spill").write_text("a file where the folder should be")

    assert await result_of(spill_guard(workbench), bash(LARGE)) == bash(LARGE)


def test_it_looks_at_the_tools_whose_results_are_large(workbench: Workbench) -> None:
    assert spill_guard(workbench).matcher == "Bash|Read|Grep|Glob|WebFetch|WebSearch"
    assert spill_guard(workbench, tools="Bash").matcher == "Bash"
