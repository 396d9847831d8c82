import pytest

from flower_protocol.runs import RunOnce
from flower_protocol.workspaces import Place
from flowerctl.attach.arguments import command_of
from flowerctl.attach.flags import GLOBAL
from flowerctl.language import Texts
from flowerctl.once.arguments import OnceInvocation, once_parser, parse

PLACE = Place(workspace="/w", run_dir="/w/runs")


def parsed(*arguments: str) -> OnceInvocation:
    return parse(arguments, Texts("zh"))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as left:
        parsed(*arguments)
    assert left.value.code == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    return message


@pytest.mark.parametrize(
    ("typed", "rest"),
    [
        (["once", "hi"], ["hi"]),
        (["-v", "once", "hi"], ["-v", "hi"]),
        (["-w", "once", "once", "hi"], ["-w", "once", "hi"]),
        (
            ["--run-dir=x", "--lang", "en", "once", "hi", "once"],
            ["--run-dir=x", "--lang", "en", "hi", "once"],
        ),
        (["-wD", "once"], ["-wD"]),
    ],
)
def test_the_word_may_stand_behind_flags_for_everywhere(typed: list[str], rest: list[str]) -> None:
    assert command_of(typed) == ("once", rest)


@pytest.mark.parametrize(
    "typed", [["fix", "once"], ["--", "once"], ["-w", "once"], ["once again"], ["-v"], []]
)
def test_the_word_elsewhere_is_part_of_a_request(typed: list[str]) -> None:
    assert command_of(typed) == (None, typed)


def test_a_prompt_alone_asks_for_an_agent_that_only_looks() -> None:
    assert parsed("hi").request(PLACE, "zh") == RunOnce(place=PLACE, prompt="hi")


def test_every_flag_arrives() -> None:
    found = parsed(
        *["do", "it", "-i", "be brief", "-t", " Read, Bash,,Read", "-p", "plan", "-b", "0.5"],
        *["--resume", "abc", "--fork", "--rehearse", "--script", "s", "-v", "--json", "-w", "D", "-r", "R"],
    )

    assert found.request(PLACE, "en") == RunOnce(
        place=PLACE,
        prompt="do it",
        instructions="be brief",
        tools=("Read", "Bash"),
        permission_mode="plan",
        budget_usd=0.5,
        resume="abc",
        fork=True,
        rehearse=True,
        script="s",
        language="en",
    )
    assert (found.workspace, found.run_dir, found.run_dir_given) == ("D", "R", True)
    assert found.verbose and found.json


def test_no_tools_at_all_can_be_asked_for() -> None:
    assert parsed("hi", "-t", "").tools == ()


def test_what_stands_behind_two_dashes_is_the_prompt() -> None:
    assert parsed("-v", "--", "--fork", "me").prompt == "--fork me"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("x", "--fork"),
        ("x", "--budget", "0"),
        ("x", "-b", "-1"),
        ("x", "-b", "nan"),
        ("x", "-b", "much"),
        ("x", "--resume", " "),
        ("x", "-t", "Bash(git *)"),
        ("x", "-p", "yolo"),
        ("x", "-w", ""),
        ("x", "-r", " "),
        ("x", "--script", "s"),
        ("x", "--new"),
        ("x", "--detach"),
        ("x", "--resum", "abc"),
    ],
)
def test_what_makes_no_sense_or_has_no_effect_is_refused_in_one_line(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, *arguments).startswith("flower once: ")


def test_the_help_names_the_flags_for_everywhere_too() -> None:
    text = once_parser(Texts("en")).format_help()

    assert all(name in text for flag in GLOBAL for name in flag.names)
