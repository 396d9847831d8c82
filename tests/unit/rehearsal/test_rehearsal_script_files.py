"""Scripts from files: what loads, and what is said about those that can't be played."""

import json
import re
from pathlib import Path

import pytest

from flower.rehearsal import Script, ScriptError, load_script
from flower.rehearsal.script import SCRIPTS
from tests.unit.rehearsal.talk import Talk, words

GOOD = """
closing = "完了"

[roles.leader]
thread = "main"
tools = ["Agent"]

[[scenes]]
name = "job"
role = "leader"
prompt = "go"

[[scenes.turns]]
text = "look"
takes = 0.5
tokens = { input = 100, cache_read = 50 }
calls = [{ tool = "Read", input = { file_path = "{cwd}/a" } }]
faults = [{ status = 529, times = 2, retry_after = "1" }, { drop = "middle" }, { offline_seconds = 3 }]

[[scenes.turns]]
when = "there"
text = "done"
hold = "before the end"
"""


def write(folder: Path, text: str, name: str = "script.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def complaint(path: Path) -> ScriptError:
    with pytest.raises(ScriptError) as raised:
        load_script(path)
    return raised.value


def test_a_toml_file_becomes_a_script(tmp_path: Path) -> None:
    script = load_script(write(tmp_path, GOOD))

    look, done = script.scenes[0].turns
    assert (script.closing, script.scenes[0].role, look.tokens.cache_read) == ("完了", "leader", 50)
    assert [fault.status or fault.drop or fault.offline_seconds for fault in look.faults] == [
        529,
        "middle",
        3,
    ]
    assert (done.when, done.hold) == ("there", "before the end")


def test_a_json_file_becomes_the_same_script(tmp_path: Path) -> None:
    content = {"scenes": [{"name": "job", "turns": [{"text": "hi"}]}]}

    in_json = load_script(write(tmp_path, json.dumps(content), "script.json"))
    in_toml = load_script(write(tmp_path, '[[scenes]]\nname = "job"\nturns = [{ text = "hi" }]'))

    assert in_json == in_toml


def test_a_path_may_be_text_and_a_bare_word_names_a_script_that_comes_along(tmp_path: Path) -> None:
    assert isinstance(load_script(str(write(tmp_path, GOOD))), Script)
    assert {scene.name for scene in load_script("default").scenes} >= {"first", "highlight", "go-on"}


@pytest.mark.parametrize(
    ("broken", "field", "reason"),
    [
        (GOOD.replace('tool = "Read", ', ""), "scenes[0].turns[0].calls[0]", "tool"),
        (GOOD.replace('name = "job"', 'name = "the job"'), "scenes[0].name", "matching"),
        (GOOD.replace('name = "job"', "name = 3"), "scenes[0].name", "str"),
        (GOOD.replace('role = "leader"', 'role = "lader"'), "", "lader"),
        (GOOD.replace('prompt = "go"', 'prompt = "go("'), "scenes[0]", "prompt"),
        (GOOD.replace('prompt = "go"', 'prompts = "go"'), "scenes[0]", "prompts"),
        (GOOD.replace('when = "there"', 'unless = "["'), "scenes[0].turns[1]", "unless"),
        (GOOD.replace("status = 529", "status = 530"), "scenes[0].turns[0].faults[0].status", "530"),
        (GOOD.replace("status = 529, ", ""), "scenes[0].turns[0].faults[0]", "exactly one"),
        (GOOD.replace("takes = 0.5", "takes = -1"), "scenes[0].turns[0].takes", ">="),
        (GOOD.replace("takes = 0.5", "times = 0"), "scenes[0].turns[0].times", ">= 1"),
        (GOOD.replace('text = "done"', "times = 2"), "scenes[0].turns[1]", "text"),
        (GOOD.replace('text = "look"', 'text = "look"\nwhen = "x"'), "scenes[0]", "first turn"),
        (GOOD.replace('tool = "Read"', 'tool = "Read", optional = true'), "scenes[0].turns[0]", "optional"),
        (GOOD.replace("input = 100", "input = -100"), "scenes[0].turns[0].tokens.input", ">= 0"),
        (GOOD.replace('thread = "main"', 'thread = "side"'), "roles[...].thread", "side"),
        (GOOD + '[[scenes]]\nname = "job"\nturns = [{ text = "again" }]\n', "", "`job`"),
        (GOOD + '[[scenes]]\nname = "empty"\nturns = []\n', "scenes[1].turns", ">= 1"),
        (GOOD + '[[scenes]]\nname = "cut"\ncuts_in = true\nturns = [{ text = "a" }]', "scenes[1]", "prompt"),
        ('closing = "nothing"', "", "scenes"),
        ("scenes = ]", "", "line 1"),
    ],
)
def test_a_wrong_script_is_refused_with_its_file_and_its_field(
    tmp_path: Path, broken: str, field: str, reason: str
) -> None:
    assert broken != GOOD
    path = write(tmp_path, broken)

    error = complaint(path)

    assert (error.source, error.field) == (str(path), field)
    assert reason in error.reason.en
    where = f" 的 {field} 不对" if field else ""
    assert str(error) == f"剧本 {path}{where}: {error.reason.zh}"
    assert not re.search("[A-Za-z]{3,} [a-z]+ ", error.reason.zh), "no English sentence in the Chinese one"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    error = complaint(tmp_path / "none.toml")

    assert (error.source, error.field) == (str(tmp_path / "none.toml"), "")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_bytes(b"\xff\xfe\x00")

    assert complaint(path).field == ""


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    assert complaint(write(tmp_path, GOOD, "script.yaml")).field == "name"


def test_an_unknown_name_is_refused_with_the_place_where_it_was_looked_for() -> None:
    with pytest.raises(ScriptError) as raised:
        load_script("nothing-of-that-name")

    assert raised.value.source.endswith("scripts/nothing-of-that-name.toml")


def test_the_example_of_the_readme_plays_as_it_says(tmp_path: Path) -> None:
    readme = (SCRIPTS.parent / "README.md").read_text(encoding="utf-8")
    script = load_script(write(tmp_path, readme.partition("```toml\n")[2].partition("```")[0]))

    boss, fresh, done = Talk(script), Talk(script, agent="a1"), Talk(script, agent="a2")

    assert [words(reply) for reply in boss.plays("go", "it is there")] == [
        "I send the coder.",
        "He says: it is there",
    ]
    assert [words(reply) for reply in boss.plays("and in colour")] == ["Not in a text file."]
    assert [words(reply) for reply in boss.plays("more?")] == ["That was all."]
    assert [reply.turn for reply in fresh.plays("Write", "nothing")] == [0, 1, 2]
    assert [reply.turn for reply in done.plays("Write", "hello.txt")] == [0, 2]
