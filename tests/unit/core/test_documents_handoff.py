"""The hand-over document: what it must say, and what its successor is told."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower.core.documents import DEGRADED, Handoff

GOLDEN = """\
# 交接 · 干活

## 现在在做什么
给 md.py 加高亮

## 已经定下的
用 pygments:标准库没有

## 走不通的路
(空)

## 下一步
跑 `python md.py a.md`

## 现场
src/md.py,分支 highlight
"""


@pytest.fixture
def handoff() -> Handoff:
    return Handoff(
        doing="给 md.py 加高亮",
        decided="用 pygments:标准库没有",
        next="跑 `python md.py a.md`",
        scene="src/md.py,分支 highlight",
        step="干活",
    )


def test_a_document_is_written_and_loaded_as_it_was(handoff: Handoff, tmp_path: Path) -> None:
    path = handoff.write(tmp_path / "notes" / "交接-干活.md")

    assert path.read_text() == GOLDEN
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    loaded = Handoff.load(path)
    assert loaded == handoff
    assert loaded.path == path


def test_a_file_that_is_not_there_or_cannot_be_read_loads_as_none(tmp_path: Path) -> None:
    assert Handoff.load(tmp_path / "交接-干活.md") is None
    assert Handoff.load(tmp_path) is None


def test_what_a_session_wrote_is_read_in_any_form() -> None:
    answer = "好的。\n# 现在在做\nA\n**已定的事**：B\n走不通的:C\n```\n## 现场\n假的\n```\n4. 下一步\nD\n"
    text = answer.replace("\n", "\r\n")

    assert Handoff.parse(text, step="干活") == Handoff("A", "B", "C", "D", "", "干活")


def test_only_what_is_being_done_and_what_comes_next_are_required() -> None:
    assert Handoff(doing="A", next="B").complete()
    assert Handoff(decided="A").missing() == ["现在在做什么", "下一步"]
    assert Handoff(doing="A").missing() == ["下一步"]


def test_the_successor_is_told_what_it_takes_over(handoff: Handoff) -> None:
    block = handoff.prompt_block()

    assert block.startswith("你在接手一段还没干完的活(步骤「干活」)")
    assert "## 下一步\n跑 `python md.py a.md`" in block
    assert "走不通的路\n" not in block
    assert not handoff.degraded


def test_the_successor_of_a_degraded_document_is_told_so() -> None:
    handoff = Handoff(doing=f"{DEGRADED} 上下文溢出", next="先看现场", step="{干活}")

    assert handoff.degraded
    assert handoff.prompt_block().startswith("你在接手一段还没干完的活(步骤「{干活}」)")
    assert "并不完整" in handoff.prompt_block()


def test_a_task_cut_off_in_the_middle_of_its_code_hides_nothing(tmp_path: Path) -> None:
    scene = "原来的任务:\n## 下一步\n```python\nprint("

    path = Handoff(doing=DEGRADED, decided=scene, next="看现场", scene=scene).write(tmp_path / "交接.md")

    loaded = Handoff.load(path)
    assert loaded is not None
    assert loaded.next == "看现场"
    assert loaded.scene.replace("\\", "") == scene
    assert loaded.decided.replace("\\", "") == scene


@given(text=st.text() | st.text(alphabet="下一步现场:#*`~ \n", max_size=60))
def test_any_text_in_a_section_leaves_the_others_alone(text: str) -> None:
    read = Handoff.parse(Handoff(doing="A", decided=text, deadends="C", next="D", scene=text).to_markdown())

    assert (read.doing, read.deadends, read.next) == ("A", "C", "D")
