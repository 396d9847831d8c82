import pytest

from flowerctl.attach.arguments import Invocation, parse
from flowerctl.language import Texts, chosen


def parsed(*arguments: str) -> Invocation:
    return parse(arguments, Texts("zh"))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as left:
        parsed(*arguments)
    assert left.value.code == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    return message


def test_nothing_typed_means_nothing_said() -> None:
    found = parsed()

    assert found.ask is None
    assert (found.workspace, found.run_dir, found.given) == (".", "runs", ())


@pytest.mark.parametrize(
    "arguments",
    [
        ("X", "-v"),
        ("-v", "X"),
        ("-w", "D", "X"),
        ("X", "--workspace=D"),
        ("X", "--timeout", "0"),
        ("--timeout", "0", "X"),
        ("--asks", "12", "X", "--isolate"),
    ],
)
def test_flags_may_stand_before_and_after_the_request(arguments: tuple[str, ...]) -> None:
    assert parsed(*arguments).ask == "X"


def test_words_without_quotes_are_one_request() -> None:
    assert parsed("do", "--new", "it").ask == "do it"


def test_what_stands_behind_two_dashes_is_the_request() -> None:
    assert parsed("--", "-x", "once").ask == "-x once"
    assert parsed("-v", "--", "once").ask == "once"


@pytest.mark.parametrize("word", ["run", "setup"])
def test_a_command_of_another_version_is_never_a_request(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert word in refused(capsys, word, "hi", "-t", "Read")
    assert word in refused(capsys, "-r", "x", word)


def test_an_unknown_word_is_the_request() -> None:
    assert parsed("fix").ask == "fix"
    assert parsed("run the tests").ask == "run the tests"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--window", "0"),
        ("--window", "-5"),
        ("--window", "99999"),
        ("--rounds", "0"),
        ("--rounds", "x"),
        ("--budget", "-1"),
        ("--budget", "0"),
        ("--budget", "nan"),
        ("--asks", "-2"),
        ("--timeout", "-1"),
        ("--timeout", "nan"),
        ("--lang", "de"),
        ("--no-daemon",),
        ("--keep", "--no-daemon"),
        ("-d", "--json"),
        ("--script", "s.json"),
        ("--no-goal", "--judge-can-run"),
        ("--no-goal", "--rounds", "3"),
        ("--clarify-only", "--no-goal"),
        ("--clarify-only", "--rounds", "2"),
        ("--nonsense",),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, "X", *arguments)


def test_documented_special_values_stand() -> None:
    assert parsed("--asks", "-1", "--timeout", "0").options.asks == -1
    assert parsed("--asks", "0").options.asks == 0
    assert parsed("--timeout", "inf").options.timeout_s is None


def test_the_flags_of_a_run_arrive() -> None:
    options = parsed(
        *[
            "--new",
            "--rounds",
            "5",
            "--judge-can-run",
            "--asks",
            "2",
            "--timeout",
            "9",
            "--isolate",
            "--window",
            "123456",
            "--no-handoff",
        ],
        *["--no-trim", "--budget", "1.5", "--keep", "--rehearse", "--script", "s"],
    ).options

    assert (options.new, options.rounds, options.judge_can_run, options.asks, options.timeout_s) == (
        True,
        5,
        True,
        2,
        9,
    )
    alone = parsed("--clarify-only").options, parsed("--no-goal").options
    assert (alone[0].clarify_only, alone[1].goal) == (True, False)
    assert (options.isolate, options.window, options.handoff) == (True, 123456, False)
    assert (options.trim, options.budget_usd, options.keep, options.rehearse) == (False, 1.5, True, True)
    assert options.script == "s"


def test_flags_that_were_typed_are_remembered_even_with_their_default() -> None:
    assert parsed("--rounds", "3", "--keep").given == ("--rounds", "--keep")


def test_the_language_is_known_before_the_arguments_are_parsed() -> None:
    assert chosen([], {}) == "zh"
    assert chosen([], {"FLOWER_LANG": "en"}) == "en"
    assert chosen(["x", "--lang", "en"], {"FLOWER_LANG": "zh"}) == "en"
    assert chosen(["--lang=zh"], {"FLOWER_LANG": "en"}) == "zh"
    assert chosen(["--", "--lang", "en"], {}) == "zh"
