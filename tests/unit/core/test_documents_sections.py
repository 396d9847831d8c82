"""The headings that are understood, the ones that are not, and what a fence hides."""

import pytest

from flower.core.documents.sections import Sections, items, read_sections

SECTIONS: Sections = {"goal": ("目标",), "bounds": ("边界", "不做什么"), "unknowns": ("未知与假设", "未知")}


@pytest.mark.parametrize(
    "heading",
    [
        "## 目标",
        "# 目标",
        "### 目标",
        "##目标",
        "## 目标 ##",
        "## 目标:",
        "## 目标：",
        "## 目标(Goal)",
        "## 目标（一句话）：",
        "## 1. 目标",
        "## 一、目标",
        "## **目标**",
        "**目标**",
        "__目标__",
        "**目标:**",
        "**目标：**",
        "**目标**:",
        "**1. 目标**",
        "1. **目标**",
        "目标:",
        "目标：",
        "1. 目标",
        "1、目标",
        "1) 目标：",
        "  ## 目标",
        "\ufeff## 目标",
    ],
)
def test_a_heading_opens_its_section_however_it_is_written(heading: str) -> None:
    assert read_sections(f"{heading}\n做一个 X\n", SECTIONS)["goal"] == "做一个 X"


@pytest.mark.parametrize(
    "line",
    [
        "## 目标: 做一个 X",
        "## 目标：做一个 X",
        "## 目标 做一个 X",
        "### 目标:做一个 X",
        "**目标**: 做一个 X",
        "**目标：** 做一个 X",
        "**目标** 做一个 X",
        "**目标:做一个 X**",
        "目标:做一个 X",
        "目标：做一个 X",
        "1. 目标: 做一个 X",
    ],
)
def test_text_behind_the_name_is_the_beginning_of_the_section(line: str) -> None:
    assert read_sections(f"{line}\n要快", SECTIONS)["goal"] == "做一个 X\n要快"


@pytest.mark.parametrize(
    "line",
    [
        "目标",
        "目标文件是 x",
        "## 目标文件",
        "**目标**很清楚",
        "**目标很清楚**",
        "- 目标: x",
        "### 目标 平台",
        "> 目标:",
    ],
)
def test_a_line_that_only_begins_with_a_name_is_text(line: str) -> None:
    found = read_sections(f"## 边界\n{line}\n不改 src", SECTIONS)

    assert found["goal"] == ""
    assert found["bounds"] == f"{line}\n不改 src"


def test_a_longer_name_is_never_taken_for_the_shorter_one_it_begins_with() -> None:
    assert read_sections("未知与假设: A", SECTIONS)["unknowns"] == "A"


def test_an_alias_opens_the_section_it_stands_for() -> None:
    assert read_sections("## 不做什么\n不改 src", SECTIONS)["bounds"] == "不改 src"


def test_the_first_occurrence_that_says_something_wins() -> None:
    assert read_sections("## 目标\n\n## 目标\n(未填)\n## 目标\nA\n## 目标\nB", SECTIONS)["goal"] == "A"


def test_prose_before_the_first_heading_is_dropped() -> None:
    found = read_sections("好的,这是结果。\n\n## 目标\nA", SECTIONS)

    assert found == {"goal": "A", "bounds": "", "unknowns": ""}


def test_a_heading_of_another_name_stays_in_the_section() -> None:
    assert read_sections("## 目标\n### 安装\n- a\n## 边界\nB", SECTIONS)["goal"] == "### 安装\n- a"


def test_a_bare_line_is_text_where_the_name_also_has_a_markdown_heading() -> None:
    found = read_sections("## 边界\n- a\n目标: 100 req/s\n- b\n## 目标\nA", SECTIONS)

    assert found["bounds"] == "- a\n目标: 100 req/s\n- b"
    assert found["goal"] == "A"


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("```", "```"),
        ("~~~", "~~~"),
        ("```markdown", "```  "),
        ("  ```", "```"),
        ("~~~ text `x`", "~~~"),
        ("````", "`````"),
    ],
)
def test_what_stands_in_a_fence_is_left_out(opening: str, closing: str) -> None:
    found = read_sections(f"## 目标\nA\n{opening}\n## 边界\nx\n{closing}\nB", SECTIONS)

    assert found == {"goal": "A\nB", "bounds": "", "unknowns": ""}


def test_an_unclosed_fence_discards_everything_behind_it() -> None:
    found = read_sections("## 目标\nA\n```\nx\n## 边界\nB", SECTIONS)

    assert found == {"goal": "A", "bounds": "", "unknowns": ""}


def test_a_fence_is_closed_only_by_its_own_kind_and_length() -> None:
    assert read_sections("## 目标\nA\n````\n```\n~~~~\n````x\n````\nB", SECTIONS)["goal"] == "A\nB"


def test_code_within_a_line_is_no_fence() -> None:
    assert read_sections("## 目标\n```x``` 要能跑\nB", SECTIONS)["goal"] == "```x``` 要能跑\nB"


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_other_line_ends_are_read_like_ours(ending: str) -> None:
    text = ending.join(["\ufeff## 目标", "A", "```", "x", "```", "B", "边界：C", ""])

    assert read_sections(text, SECTIONS) == {"goal": "A\nB", "bounds": "C", "unknowns": ""}


def test_a_line_full_of_spaces_is_read_in_no_time() -> None:
    spaces = " " * 200_000

    assert read_sections(f"## 目标{spaces}\n{spaces}\nA", SECTIONS)["goal"] == "A"


def test_items_come_without_their_markers_and_rules() -> None:
    text = "- a\n* b\n+ c\n1. d\n2) e\n3、f\n4.运行 g\n- [ ] h\n- [x] i\n  - j\nk\n\n---\n-\n(空)"

    assert items(text) == ["a", "b", "c", "d", "e", "f", "运行 g", "h", "i", "j", "k"]


@pytest.mark.parametrize(
    "item", ["--verbose 可用", "**重要** 的事", "1.5 秒内返回", "2.txt 存在", "-v 打印版本"]
)
def test_an_item_keeps_what_only_looks_like_a_marker(item: str) -> None:
    assert items(item) == [item]
    assert items(f"- {item}") == [item]
