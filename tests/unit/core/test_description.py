"""A file is described by what it says of itself, in one line."""

from pathlib import Path

import pytest

from flower.core.description import describe, look_at


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("# desc: 跑测试\n", "跑测试"),
        ("#!/bin/sh\n#desc:runs it\n", "runs it"),
        ("// desc: in C\n", "in C"),
        ("-- desc: in SQL\n", "in SQL"),
        ('"""A docstring."""\n# desc: wins\n', "wins"),
        ("\n" * 7 + "# desc: on the eighth line\n", "on the eighth line"),
        ("\n" * 8 + "# desc: on the ninth\n", ""),
        ("# desc:\n# a comment\n", "a comment"),
        ("#!/bin/sh\n#\n# does this\n", "does this"),
        ("#include <stdio.h>\n// the program\n", "the program"),
        ("# -*- coding: utf-8 -*-\n# the module\n", "the module"),
        ('"""Says this.\n\nAnd that."""\n', "Says this."),
        ('"""\n  Says that.\n"""\n', "Says that."),
        ("'''One line.'''\nx = 1\n", "One line."),
        ('""""""\nx = 1\n', ""),
        ("--- a/f\n+++ b/f\n", ""),
        ("x = 1  # not about the file\n", ""),
        ("", ""),
    ],
)
def test_a_script_is_described_by_its_mark_its_comment_or_its_docstring(head: str, expected: str) -> None:
    assert describe(head.encode()) == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("# 目标\n\n## 别的\n", "目标"),
        ("text first\n\n## Heading ##\n", "Heading"),
        ("\n" * 20 + "# far down\n", "far down"),
        ("```sh\n# no heading\n```\n# the heading\n", "the heading"),
        ("#hashtag\n", ""),
        ("only text\n", ""),
    ],
)
def test_markdown_is_described_by_its_first_heading(head: str, expected: str) -> None:
    assert describe(head.encode(), markdown=True) == expected


def test_a_description_is_one_line_of_limited_length_without_control_characters() -> None:
    assert describe(("# " + "长" * 300).encode()) == "长" * 100
    assert describe("# a\t\x1b[31mb\x07\u202ec".encode()) == "a [31mbc"


@pytest.mark.parametrize("head", [b"\x7fELF\0\0# no", "# utf-16".encode("utf-16")], ids=["program", "utf-16"])
def test_what_is_no_text_has_no_description(head: bytes) -> None:
    assert describe(head) == ""


def test_broken_text_is_described_as_far_as_it_can_be_read() -> None:
    assert describe(b"\xef\xbb\xbf# caf\xe9 ok\n") == "caf\ufffd ok"


def test_only_the_beginning_of_a_large_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.write(b"# large\n")
        file.truncate(1 << 40)

    assert look_at(path) == ("", 1 << 40)  # what follows are zeros: it is no text


def test_what_is_no_regular_file_is_nothing(tmp_path: Path) -> None:
    assert look_at(tmp_path) is None
    assert look_at(tmp_path / "missing") is None
