"""What a person and a shell get to know of something that was refused."""

from pathlib import Path

import pytest

from flower.rehearsal import ScriptError, load_script
from flower_protocol.control import Failure
from flowerctl.hints import refused
from flowerctl.language import Texts


@pytest.mark.parametrize("code", ["not-available", "bad-value", "too-small", "bad-script", "not-as-root"])
def test_what_was_typed_wrong_is_wrong_usage_whoever_notices(code: str) -> None:
    assert refused(Failure(code=code), Texts("zh")).code == 2


def test_what_only_could_not_be_done_is_a_failure() -> None:
    assert refused(Failure(code="no-credentials"), Texts("zh")).code == 1


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("zh", "剧本 {path}: 没有这个文件。检查 --script。"),
        ("en", "the script {path}: No such file or directory. Check --script."),
    ],
)
def test_a_script_that_is_not_there_is_said_in_one_sentence(tmp_path: Path, language: str, line: str) -> None:
    path = tmp_path / "nope.toml"
    with pytest.raises(ScriptError) as error:
        load_script(path)

    failure = Failure(code="bad-script", values={"detail": error.value.words.spoken(language)})

    assert str(refused(failure, Texts(language))) == line.format(path=path)


def test_a_window_that_is_too_small_is_told_the_least_there_can_be() -> None:
    values = {"flag": "--window", "value": "5", "least": "100000"}

    line = str(refused(Failure(code="too-small", values=values), Texts("zh")))

    assert line == "--window 5 太小了,至少要 100000,没有启动。"
