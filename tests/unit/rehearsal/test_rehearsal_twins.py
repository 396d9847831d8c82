"""The demonstration's two scripts: one plot, the words of either language."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from flower.rehearsal import Scene, load_script
from tests.support.formats import FORMATS

CHINESE, ENGLISH = load_script("default", "zh"), load_script("default", "en")


def test_both_have_the_same_roles_and_scenes_with_the_same_turns() -> None:
    assert CHINESE.roles == ENGLISH.roles
    assert [plot(scene) for scene in CHINESE.scenes] == [plot(scene) for scene in ENGLISH.scenes]


def test_the_english_one_says_nothing_in_chinese_but_what_the_files_formats_have() -> None:
    content = msgspec.to_builtins([ENGLISH.closing, ENGLISH.meanwhile, ENGLISH.scenes])

    odd = {run for text in texts(content) for run in re.findall("[\u4e00-\u9fff]+", text)}

    assert odd - FORMATS == set()


def plot(scene: Scene) -> tuple[object, ...]:
    """What happens in a scene, without a word of it."""
    turns = [
        (
            [(call.tool, sorted(call.input), call.optional) for call in turn.calls],
            bool(turn.when),
            bool(turn.unless),
            bool(turn.text),
            bool(turn.thinking),
            turn.times,
            turn.takes,
        )
        for turn in scene.turns
    ]
    return scene.name, scene.role, bool(scene.prompt), scene.again, scene.cuts_in, sorted(scene.finds), turns


def texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for item in content:
            yield from texts(item)
    elif isinstance(content, dict):
        for item in content.values():
            yield from texts(item)
