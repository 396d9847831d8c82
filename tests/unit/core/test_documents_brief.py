"""``需求.md``: its layout to the letter, what it tolerates, and that a person's additions are never lost."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower.core.documents import ADDED_MIDWAY, ADDED_ON_WAKE, Addition, Brief

GOLDEN = """\
# 需求确认书

> 由 clarify 步骤生成并**冻结**。要改需求就改这个文件;
> 想重新确认一遍,删掉它再跑。

## 目标
写个 md 转 html 的脚本
## 验收标准
- 跑 `python md.py a.md`,看到 a.html
## 边界
不做主题
## 未知与假设
Python 3.11
"""
NAMES = ("目标", "验收", "边界", "不做什么", "未知", "唤醒时追加", "运行中补充")


@pytest.fixture
def brief() -> Brief:
    return Brief(
        goal="写个 md 转 html 的脚本",
        accept="- 跑 `python md.py a.md`,看到 a.html",
        bounds="不做主题",
        unknowns="Python 3.11",
    )


def test_the_file_is_written_to_the_letter(brief: Brief, tmp_path: Path) -> None:
    path = brief.write(tmp_path / ".flower" / "notes" / "需求.md")

    assert path.read_bytes() == GOLDEN.encode()
    assert brief.path == path


def test_a_written_brief_is_loaded_as_it_was(brief: Brief, tmp_path: Path) -> None:
    path = brief.write(tmp_path / "需求.md")

    loaded = Brief.load(path)

    assert loaded == brief
    assert loaded.path == path
    assert loaded.complete()


def test_the_file_and_the_folders_made_for_it_are_the_users_alone(brief: Brief, tmp_path: Path) -> None:
    path = brief.write(tmp_path / ".flower" / "notes" / "需求.md")

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    brief: Brief, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = brief.write(tmp_path / "需求.md")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        Brief(goal="别的").write(path)

    assert path.read_text() == GOLDEN
    assert list(tmp_path.glob("需求*")) == [path]


def test_an_empty_section_is_written_as_such_and_read_as_empty(tmp_path: Path) -> None:
    path = Brief(goal="A").write(tmp_path / "需求.md")

    assert "## 验收标准\n(未填)\n## 边界\n(未填)\n" in path.read_text()
    assert Brief.load(path) == Brief(goal="A")


def test_what_is_missing_is_named_in_the_order_of_the_file() -> None:
    assert Brief().missing() == ["目标", "验收标准", "边界", "未知与假设"]
    assert Brief(accept="B", unknowns=" \n").missing() == ["目标", "边界", "未知与假设"]


def test_a_brief_in_mixed_forms_is_read() -> None:
    brief = Brief.parse("好的:\n**目标**\nA\n1. 验收条件: B\n# 不做什么\nC\n未知项与假设：D\n")

    assert brief == Brief(goal="A", accept="B", bounds="C", unknowns="D")


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text])
def test_what_an_editor_does_to_the_file_changes_nothing(
    change: Callable[[str], str], brief: Brief, tmp_path: Path
) -> None:
    path = tmp_path / "需求.md"
    path.write_bytes(change(GOLDEN).encode())

    assert Brief.load(path) == brief


def test_a_byte_that_is_no_utf8_costs_only_itself(brief: Brief, tmp_path: Path) -> None:
    path = tmp_path / "需求.md"
    path.write_bytes(GOLDEN.encode().replace(b"Python", b"Python\xff"))

    loaded = Brief.load(path)

    assert loaded is not None and loaded.complete()
    assert loaded.unknowns == "Python\ufffd 3.11"


def test_a_file_that_is_not_there_or_cannot_be_read_loads_as_none(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    assert Brief.load(tmp_path / "需求.md") is None
    assert Brief.load(tmp_path / "folder") is None


def test_the_prompt_has_only_what_is_said() -> None:
    assert Brief(goal="A", bounds="B").prompt_block() == "## 目标\nA\n\n## 边界\nB"


def test_words_said_on_wake_reach_the_prompt_of_the_loaded_brief(brief: Brief, tmp_path: Path) -> None:
    path = brief.write(tmp_path / "需求.md")

    assert brief.append("顺便支持代码块高亮") is True

    assert path.read_text() == GOLDEN + "## 唤醒时追加\n顺便支持代码块高亮\n"
    loaded = Brief.load(path)
    assert loaded == brief
    assert loaded.additions == [Addition(ADDED_ON_WAKE, "顺便支持代码块高亮")]
    assert loaded.unknowns == "Python 3.11"
    assert loaded.prompt_block() == brief.prompt_block()
    assert loaded.prompt_block().endswith("## 未知与假设\nPython 3.11\n\n## 唤醒时追加\n顺便支持代码块高亮")


def test_additions_of_both_kinds_are_kept_in_their_order(brief: Brief, tmp_path: Path) -> None:
    path = brief.write(tmp_path / "需求.md")
    brief.append("加高亮")
    brief.append("颜色用蓝的", label=ADDED_MIDWAY)
    brief.append("再加目录")

    loaded = Brief.load(path)

    assert loaded is not None
    assert loaded.additions == [
        (ADDED_ON_WAKE, "加高亮"),
        (ADDED_MIDWAY, "颜色用蓝的"),
        (ADDED_ON_WAKE, "再加目录"),
    ]
    assert loaded.to_markdown() == path.read_text()


def test_a_brief_that_is_written_again_keeps_its_additions(brief: Brief, tmp_path: Path) -> None:
    path = brief.write(tmp_path / "需求.md")
    brief.append("加高亮")

    loaded = Brief.load(path)
    assert loaded is not None
    loaded.write(path)

    assert path.read_text() == GOLDEN + "## 唤醒时追加\n加高亮\n"


def test_the_same_words_are_not_appended_twice(brief: Brief, tmp_path: Path) -> None:
    path = brief.write(tmp_path / "需求.md")
    brief.append("加高亮\n\n要快")
    before = path.read_bytes()

    assert brief.append("  加高亮\r\n\r\n要快\n") is False
    assert Brief().append("加高亮\n\n要快", label=ADDED_MIDWAY, path=path) is False

    assert path.read_bytes() == before
    assert len(brief.additions) == 1


def test_words_that_are_only_part_of_a_line_are_appended(brief: Brief, tmp_path: Path) -> None:
    path = brief.write(tmp_path / "需求.md")

    assert brief.append("不做") is True

    assert path.read_text().endswith("## 唤醒时追加\n不做\n")


def test_blank_words_change_nothing(brief: Brief, tmp_path: Path) -> None:
    path = brief.write(tmp_path / "需求.md")

    assert brief.append(" \n\t") is False

    assert path.read_text() == GOLDEN
    assert brief.additions == []


@pytest.mark.parametrize(
    "original",
    [
        GOLDEN.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + GOLDEN.encode(),
        GOLDEN.encode().rstrip(b"\n"),
        GOLDEN.encode() + b"\xff\xfe\n",
        GOLDEN.encode() + "\n```\n没有关上".encode(),
    ],
    ids=["crlf", "bom", "no line end", "no utf-8", "unclosed fence"],
)
def test_what_stood_in_the_file_is_kept_byte_for_byte(original: bytes, tmp_path: Path) -> None:
    path = tmp_path / "需求.md"
    path.write_bytes(original)

    assert Brief().append("加高亮", path=path) is True

    after = path.read_bytes()
    assert after.startswith(original)
    assert after.removeprefix(original).lstrip(b"\n") == "## 唤醒时追加\n加高亮\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    loaded = Brief.load(path)
    assert loaded is not None
    assert loaded.complete()
    assert loaded.additions == [(ADDED_ON_WAKE, "加高亮")]


def test_code_and_headings_in_a_persons_words_survive(brief: Brief, tmp_path: Path) -> None:
    path = brief.write(tmp_path / "需求.md")
    words = "改成这样:\n```python\nprint(1)\n## 目标\n别的目标\n## 附注\n还没关上"
    brief.append(words)
    brief.append("还有这个")

    loaded = Brief.load(path)

    assert loaded is not None
    assert loaded.goal == brief.goal
    assert loaded.additions == [(ADDED_ON_WAKE, words), (ADDED_ON_WAKE, "还有这个")]


def test_a_section_that_a_person_wrote_below_an_addition_is_found() -> None:
    brief = Brief.parse("## 目标\nA\n## 验收标准\nB\n## 唤醒时追加\nX\n## 边界\nC\n## 未知与假设\nD\n")

    assert brief.complete()
    assert brief.bounds == "C"


@pytest.mark.parametrize("line", ["## 唤醒时追加: 加高亮", "**唤醒时追加**\n加高亮", "唤醒时追加：加高亮"])
def test_an_addition_in_a_persons_own_form_is_kept(line: str) -> None:
    brief = Brief.parse(f"{GOLDEN}\n{line}\n")

    assert brief.additions == [(ADDED_ON_WAKE, "加高亮")]
    assert brief.unknowns == "Python 3.11"


def test_words_under_a_label_of_ones_own_are_still_in_the_prompt(brief: Brief, tmp_path: Path) -> None:
    path = brief.write(tmp_path / "需求.md")
    brief.append("加高亮", label="评审意见")

    loaded = Brief.load(path)

    assert loaded is not None
    assert "## 评审意见\n加高亮" in loaded.prompt_block()


def test_additions_do_not_make_a_brief_complete(tmp_path: Path) -> None:
    path = tmp_path / "需求.md"
    Brief().append("加高亮", path=path)

    loaded = Brief.load(path)

    assert loaded is not None
    assert loaded.missing() == ["目标", "验收标准", "边界", "未知与假设"]


def test_words_that_cannot_be_written_are_told_and_kept_in_memory(brief: Brief, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(OSError):
        brief.append("加高亮", path=tmp_path / "file" / "需求.md")

    assert "加高亮" in brief.prompt_block()


def test_words_without_any_file_to_put_them_are_refused(brief: Brief) -> None:
    with pytest.raises(ValueError, match="no file"):
        brief.append("加高亮")


def test_words_typed_in_another_encoding_are_written_all_the_same(brief: Brief, tmp_path: Path) -> None:
    path = brief.write(tmp_path / "需求.md")

    assert brief.append("caf\udce9 高亮") is True

    assert path.read_text().endswith("caf? 高亮\n")


def test_appending_at_once_loses_no_ones_words(brief: Brief, tmp_path: Path) -> None:
    path = brief.write(tmp_path / "需求.md")
    remarks = [f"补充第 {number} 条" for number in range(24)]

    with ThreadPoolExecutor(8) as pool:
        added = list(pool.map(lambda remark: Brief().append(remark, path=path), remarks))

    loaded = Brief.load(path)
    assert all(added)
    assert loaded is not None
    assert sorted(each.text for each in loaded.additions) == sorted(remarks)


def _normal(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _plain(text: str) -> bool:
    lines = [line.strip() for line in _normal(text).split("\n")]
    named = any(name in line for line in lines for name in NAMES)
    return not named and not any("```" in line or "~~~" in line for line in lines)


TEXTS = st.text() | st.text(alphabet="ab目标边界:：#*`~ \n\r\t-1.()（）", max_size=40)
PLAIN = TEXTS.filter(_plain).filter(lambda text: _normal(text) not in {"(未填)", "(空)"})


@given(goal=PLAIN, accept=PLAIN, bounds=PLAIN, unknowns=PLAIN)
def test_any_text_without_headings_and_fences_is_read_back(
    goal: str, accept: str, bounds: str, unknowns: str
) -> None:
    read = Brief.parse(Brief(goal, accept, bounds, unknowns).to_markdown())

    assert read == Brief(_normal(goal), _normal(accept), _normal(bounds), _normal(unknowns))


@given(texts=st.lists(TEXTS | st.sampled_from(GOLDEN.split("\n")), min_size=1, max_size=6).map("\n".join))
def test_text_with_headings_and_fences_hides_no_other_section(texts: str) -> None:
    read = Brief.parse(Brief(goal=texts, accept="B", bounds=texts, unknowns="D").to_markdown())

    assert (read.accept, read.unknowns, read.additions) == ("B", "D", [])
    assert read.goal.replace("\\", "") in {_normal(texts).replace("\\", ""), ""}
    assert bool(read.goal) == (_normal(texts) not in {"", "(未填)", "(空)", "（未填）", "（空）"})


@given(words=TEXTS)
def test_any_words_of_a_person_are_read_back(words: str) -> None:
    brief = Brief("A", "B", "C", "D", additions=[Addition(ADDED_ON_WAKE, _normal(words))])

    read = Brief.parse(brief.to_markdown())

    assert (read.goal, read.accept, read.bounds, read.unknowns) == ("A", "B", "C", "D")
    assert [each.text for each in read.additions] == ([_normal(words)] if _normal(words) else [])


def test_documents_are_cheap_to_import() -> None:
    heavy = "{'msgspec', 'claude_agent_sdk', 'aiohttp', 'asyncio', 'flower.core.agent'}"
    code = f"import sys, flower.core.documents; print(sorted({heavy} & sys.modules.keys()))"

    # The folders of this very process, for a program of its own finds the package by them alone.
    program = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert program.stdout == "[]\n"


@given(texts=st.lists(TEXTS | st.sampled_from(GOLDEN.split("\n")), min_size=1, max_size=8).map("\n".join))
def test_a_brief_that_is_read_has_the_digest_of_the_one_that_was_written(texts: str) -> None:
    written = Brief(goal=texts, accept=texts, bounds="nothing", unknowns=texts)
    read = Brief.parse(written.to_markdown())
    assert read.digest() == written.digest() == Brief.parse(read.to_markdown()).digest()


def test_the_digest_tells_another_brief_and_minds_no_addition(brief: Brief) -> None:
    other = Brief(**{**vars(brief), "bounds": "no themes at all"})
    added = Brief(**{**vars(brief), "additions": [Addition(ADDED_MIDWAY, "and tables")]})
    assert other.digest() != brief.digest() == added.digest()
