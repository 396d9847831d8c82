"""Sentences in two languages say the same: with the same gaps to fill, and in English without Chinese."""

import ast
import re
from pathlib import Path

from tests.support.formats import FORMATS

ROOT = Path(__file__).parents[2]


def pairs() -> list[tuple[str, str]]:
    """The sentences that stand as plain text in both languages, in the library and in the daemon."""
    modules = [path for room in ("flower", "flowerd") for path in (ROOT / room).rglob("*.py")]
    nodes = [node for module in modules for node in ast.walk(ast.parse(module.read_text()))]
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    spoken = [call.args for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Words"]
    texts = [[str(each.value) for each in args if isinstance(each, ast.Constant)] for args in spoken]
    return [(zh, en) for zh, en in (pair for pair in texts if len(pair) == 2)]


def test_both_languages_of_a_sentence_have_the_same_gaps() -> None:
    assert len(pairs()) > 80
    assert [en for zh, en in pairs() if gaps(zh) != gaps(en)] == []


def test_the_english_of_a_sentence_has_no_chinese_but_the_formats() -> None:
    odd = {en: set(re.findall("[\u4e00-\u9fff]+", en)) - FORMATS for _, en in pairs()}
    assert {en: words for en, words in odd.items() if words} == {}


def gaps(text: str) -> set[str]:
    return set(re.findall(r"\{\w*\}", text))
