"""``flower`` as the page on continuity types it: the four lines one after another, and a long work that is trimmed."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower.rehearsal import Call, Scene, Script, Turn
from tests.support.household import HouseholdFactory, households
from tests.support.processes import Spawned
from tests.support.runs import bash, lineage, play, rows, told

LARGE = "x" * 9000
SMALL = Call(tool="Read", input={"file_path": "small.txt"})
LONG_ONCE = Script(
    scenes=[
        Scene(
            name="long",
            role="main",
            prompt="写个脚本",
            turns=[
                Turn(text="looking", calls=[bash("cat large.txt")]),
                Turn(text="reading", calls=[SMALL] * 21),
                Turn(text="done"),
            ],
        ),
        Scene(name="short", role="main", again=True, turns=[Turn(text="nothing is left to do")]),
    ]
)


@pytest.fixture
def household(spawned: Spawned) -> Iterator[HouseholdFactory]:
    with households(Path(os.environ["HOME"]), spawned) as open_one:
        yield open_one


def test_the_four_lines_do_what_is_said_beside_them(household: HouseholdFactory) -> None:
    home = household(play(Turn(text="done"), again=True))
    folder = home.folder()
    sessions, shown = [], []
    for line in (["写个 md 转 html 的脚本"], ["顺便支持代码块高亮"], [], ["--new", "另一件事"]):
        done = home.flower(*line, folder=folder)
        assert done.returncode == 0, done.stderr
        sessions.append((lineage(folder / "runs")["woke"], lineage(folder / "runs")["steps"]["干活"]))
        shown.append(told(home.model.requests[-1]))  # type: ignore[union-attr]

    (_, first), (_, other) = sessions[0], sessions[-1]
    assert sessions == [(1, first), (2, first), (3, first), (1, other)] and other != first
    assert all("写个 md 转 html 的脚本" in each for each in shown[:3]) and "写个" not in shown[3]
    assert "顺便支持代码块高亮" in shown[1] and "另一件事" in shown[3]
    [archived] = (folder / ".flower" / "notes" / "archive").iterdir()
    assert [path.name for path in archived.iterdir()] == ["lineage.json"]
    with sqlite3.connect(folder / "runs" / "sessions.db") as database:
        kept = {key.rpartition("/")[2] for (key,) in database.execute("SELECT store_key FROM meta")}
    database.close()
    assert kept == {first, other}
    assert [row["session_id"] for row in rows(folder / "runs")] == [first, first, first, other]


def test_old_large_results_are_pointers_at_a_wake_unless_that_is_turned_off(
    household: HouseholdFactory,
) -> None:
    home = household(LONG_ONCE)
    folder = home.folder()
    (folder / "large.txt").write_text(LARGE)
    (folder / "small.txt").write_text("small")
    for line in (["写个脚本"], [], ["--no-trim"]):
        before = len(home.model.requests)  # type: ignore[union-attr]
        done = home.flower(*line, folder=folder)
        assert done.returncode == 0, done.stderr
        first_said = told(home.model.requests[before])  # type: ignore[union-attr]

        assert (LARGE in first_said) is (line == ["--no-trim"]), line
        assert ("工具结果已归档:9000 字符" in first_said) is (line == []), line
