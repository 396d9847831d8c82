"""Every sentence is said in both languages, and by somebody: one that nothing says has no place in the table."""

import ast
import re
import string
from pathlib import Path

import pytest

import flowerctl
from flower_protocol.workspaces import State
from flowerctl.sentences import ROOMS, SENTENCES

PACKAGE = Path(flowerctl.__file__).parent
MODULES = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "sentences"]


def test_each_sentence_stands_in_one_room() -> None:
    assert sum(len(room.SENTENCES) for room in ROOMS) == len(SENTENCES)


@pytest.mark.parametrize("name", sorted(SENTENCES))
def test_both_languages_say_something_and_name_the_same_values(name: str) -> None:
    chinese, english = SENTENCES[name]

    assert chinese.strip() and english.strip()
    assert values(chinese) == values(english)
    assert not re.search("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]", english)


def test_each_sentence_is_said_somewhere() -> None:
    assert SENTENCES.keys() - said() == set()


def values(template: str) -> set[str]:
    return {field for _, field, _, _ in string.Formatter().parse(template) if field}


def said() -> set[str]:
    """The names that the code has: written out, or made as in ``texts(f"head_{name}")`` of words in one module."""
    found = {state.value for state in State}
    for module in MODULES:
        nodes = list(ast.walk(ast.parse(module.read_text())))
        words = {
            node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        made = [node.values[0] for node in nodes if isinstance(node, ast.JoinedStr) and len(node.values) == 2]
        beginnings = {str(first.value) for first in made if isinstance(first, ast.Constant)}
        found |= words | {beginning + word for beginning in beginnings for word in words}
    return found
