"""What is wrong with a command line is said in the person's language, in one line, with what to do."""

import pytest

from flowerctl.language import Texts
from flowerctl.usage import UsageParser


@pytest.mark.parametrize(
    ("arguments", "chinese", "english"),
    [
        (["go", "--bogus"], "f: 不认识 --bogus。看 f --help。", "f: --bogus is not known; see `f --help`."),
        (
            ["--asks", "x y"],
            "f: --asks x y 不行:要一个整数",
            "f: --asks x y won't do: a whole number is needed",
        ),
        (["--wait", "x"], "f: --wait x 不行:要一个数", "f: --wait x won't do: a number is needed"),
        (["go", "--asks"], "f: --asks 后面要跟一个值", "f: --asks needs a value"),
        (["--json=1"], "f: --json 不带值,去掉 1", "f: --json takes no value; leave out 1"),
        (
            ["--lang", "fr"],
            "f: --lang fr 不行:要这里面的一个:zh, en",
            "f: --lang fr won't do: one of these is needed: zh, en",
        ),
        ([], "f: 还缺 verb。看 f --help。", "f: verb is missing; see `f --help`."),
    ],
)
def test_what_is_wrong_is_said_in_both_languages(
    capsys: pytest.CaptureFixture[str], arguments: list[str], chinese: str, english: str
) -> None:
    for language, line in (("zh", chinese), ("en", english)):
        parser = UsageParser(prog="f", texts=Texts(language))
        parser.add_argument("--asks", type=int)
        parser.add_argument("--wait", type=float)
        parser.add_argument("--json", action="store_true")
        parser.add_argument("--lang", choices=("zh", "en"))
        parser.add_argument("verb")

        with pytest.raises(SystemExit) as left:
            parser.parse_args(arguments)

        assert left.value.code == 2
        assert capsys.readouterr().err == f"{line}\n"
