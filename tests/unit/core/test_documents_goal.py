"""``目标.md``: its layout to the letter, and that no check is lost between the page and the judge."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower.core.documents import Goal

GOLDEN = """\
# 目标
README 能转成 html,代码块有高亮

# 判定清单
- 跑 `python md.py README.md`,退出码 0
- 打开 README.html 看到高亮 `[此环境无法验证:没有浏览器]`
"""
CHECKS = [
    "跑 `python md.py README.md`,退出码 0",
    "打开 README.html 看到高亮 `[此环境无法验证:没有浏览器]`",
]


@pytest.fixture
def goal() -> Goal:
    return Goal("README 能转成 html,代码块有高亮", list(CHECKS))


def test_the_file_is_written_to_the_letter(goal: Goal, tmp_path: Path) -> None:
    path = goal.write(tmp_path / "notes" / "目标.md")

    assert path.read_bytes() == GOLDEN.encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert goal.path == path


def test_a_written_goal_is_loaded_as_it_was(goal: Goal, tmp_path: Path) -> None:
    path = goal.write(tmp_path / "目标.md")

    loaded = Goal.load(path)

    assert loaded == goal
    assert loaded.path == path


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text])
def test_what_an_editor_does_to_the_file_changes_nothing(
    change: Callable[[str], str], goal: Goal, tmp_path: Path
) -> None:
    path = tmp_path / "目标.md"
    path.write_bytes(change(GOLDEN).encode())

    assert Goal.load(path) == goal


def test_a_file_that_is_not_there_or_cannot_be_read_loads_as_none(tmp_path: Path) -> None:
    assert Goal.load(tmp_path / "目标.md") is None
    assert Goal.load(tmp_path) is None


def test_headings_of_either_level_and_every_marker_are_read() -> None:
    goal = Goal.parse("想好了。\n## 目标\nA\n\n**判定清单**：\n1. a\n* b\n- c\nd\n")

    assert goal == Goal("A", ["a", "b", "c", "d"])


def test_a_goal_needs_a_statement_and_a_check() -> None:
    assert Goal("A", ["a"]).complete()
    assert Goal("A").missing() == ["判定清单"]
    assert Goal(" ", ["a"]).missing() == ["目标"]
    assert not Goal("A").complete()


def test_an_empty_list_is_written_as_such_and_read_as_empty() -> None:
    assert Goal("A").to_markdown() == "# 目标\nA\n\n# 判定清单\n(空)\n"
    assert Goal.parse(Goal("A").to_markdown()) == Goal("A")
    assert Goal.parse(Goal().to_markdown()) == Goal()


def test_checks_that_cannot_be_verified_here_are_picked_out(goal: Goal) -> None:
    assert goal.unverifiable == CHECKS[1:]


def test_the_prompt_has_the_statement_and_the_list(goal: Goal) -> None:
    assert goal.prompt_block() == GOLDEN.replace("# ", "## ").rstrip()


def test_a_change_is_added_to_the_statement_and_the_checks_stay(goal: Goal, tmp_path: Path) -> None:
    amended = goal.amend("只要 README")

    assert amended is goal
    assert goal.statement == "README 能转成 html,代码块有高亮\n\n(已修改)只要 README"
    assert Goal.load(goal.write(tmp_path / "目标.md")) == goal


@pytest.mark.parametrize(
    "extra", ["照这个:\n```\n没关上", "判定清单:\n- 别的", "改:\n## 判定清单\n- 别的", "\n# 目标\n别的"]
)
def test_a_change_with_code_or_headings_costs_no_check(extra: str, goal: Goal, tmp_path: Path) -> None:
    path = goal.amend(extra).write(tmp_path / "目标.md")

    loaded = Goal.load(path)

    assert loaded is not None
    assert loaded.checks == CHECKS
    assert loaded.statement.replace("\\", "") == goal.statement


@given(text=st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    goal = Goal.parse(text)

    assert Goal.parse(goal.to_markdown()).checks == goal.checks


@given(statement=st.text(), checks=st.lists(st.text(alphabet="abc目标:#*`- 1.", min_size=1).map(str.strip)))
def test_checks_are_read_back_one_by_one(statement: str, checks: list[str]) -> None:
    checks = [check for check in checks if any(letter.isalnum() for letter in check)]

    assert Goal.parse(Goal(statement, checks).to_markdown()).checks == checks
