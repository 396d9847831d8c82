"""``flower`` as the page on continuity types it: the four lines one after another, and a long work that is trimmed."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower.rehearsal import Call, Scene, Script, Turn
from tests.support.household import HouseholdFactory, households
from tests.support.processes import Spawned
from tests.support.runs import BRIEF, ROLES, agreeable, lineage, rows, told


def clear(request: str) -> Scene:
    """The clarifier, to whom the request is clear as it stands."""
    return Scene(
        name=request, role="clarifier", prompt=request, turns=[Turn(text=BRIEF.replace("the work", request))]
    )


def reading(file: str) -> Call:
    return Call(tool="Read", input={"file_path": file})


DONE = Scene(name="lead", role="coordinator", again=True, turns=[Turn(text="done")])
EVERY_STEP = Script(
    roles=ROLES, scenes=[clear("写个 md 转 html 的脚本"), clear("另一件事"), DONE, *agreeable()]
)
# Large enough to be a pointer at a wake, and too small to be one at once.
LAST_LINE = "the end of what is large"
LARGE = f"{'x' * 99}\n" * 30 + LAST_LINE
LONG_ONCE = Script(
    scenes=[
        Scene(
            name="long",
            role="main",
            prompt="写个脚本",
            turns=[
                Turn(text="looking", calls=[reading("large.txt")]),
                Turn(text="reading", calls=[reading("small.txt")] * 21),
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
    home = household(EVERY_STEP)
    folder = home.folder()
    sessions, shown = [], []
    assert home.model is not None
    for line in (["写个 md 转 html 的脚本"], ["顺便支持代码块高亮"], [], ["--new", "另一件事"]):
        done = home.flower(*line, folder=folder)
        assert done.returncode == 0, done.stderr
        sessions.append((lineage(folder / "runs")["woke"], lineage(folder / "runs")["steps"]["干活"]))
        shown.append(told([each for each in home.model.requests if each.role == "coordinator"][-1]))

    (_, first), (_, other) = sessions[0], sessions[-1]
    assert sessions == [(1, first), (2, first), (3, first), (1, other)] and other != first
    assert all("写个 md 转 html 的脚本" in each for each in shown[:3]) and "写个" not in shown[3]
    assert "顺便支持代码块高亮" in shown[1] and "另一件事" in shown[3]
    [archived] = (folder / ".flower" / "notes" / "archive").iterdir()
    assert {path.name for path in archived.iterdir()} == {"lineage.json", "需求.md", "目标.md"}
    with sqlite3.connect(folder / "runs" / "sessions.db") as database:
        kept = {key.rpartition("/")[2] for (key,) in database.execute("SELECT store_key FROM meta")}
    database.close()
    told_of = [(row["step"], row["session_id"]) for row in rows(folder / "runs")]
    assert kept == {session for _, session in told_of}
    assert [session for step, session in told_of if step == "干活"] == [first, first, first, other]


def test_old_large_results_are_pointers_at_a_wake_unless_that_is_turned_off(
    household: HouseholdFactory,
) -> None:
    home = household(LONG_ONCE)
    folder = home.settled_folder()
    (folder / "large.txt").write_text(LARGE)
    (folder / "small.txt").write_text("small")
    for line in (["写个脚本"], [], ["--no-trim"]):
        before = len(home.model.requests)  # type: ignore[union-attr]
        done = home.flower("--no-goal", *line, folder=folder)
        assert done.returncode == 0, done.stderr
        first_said = told(home.model.requests[before])  # type: ignore[union-attr]

        assert (LAST_LINE in first_said) is (line == ["--no-trim"]), line
        assert ("工具结果已归档:3" in first_said) is (line == []), line
