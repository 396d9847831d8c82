import pytest

from flower_protocol.workspaces import Question
from flowerctl.attach.commands import (
    Aside,
    Command,
    GoOn,
    Leave,
    Mistyped,
    Nothing,
    Remark,
    Reply,
    ShowHelp,
    ShowStatus,
    StartOver,
    StopRun,
    understood,
)
from flowerctl.attach.keys import Effect, Stage, pressed

OPEN = Question(id="q1", text="?", options=("大的", "小的"))


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("顺便支持表格", Remark("顺便支持表格")),
        ("  spaces ", Remark("spaces")),
        ("", Nothing()),
        ("?为什么", Aside("?为什么")),
        ("？为什么", Aside("？为什么")),
        ("/detach", Leave()),
        ("/new", StartOver("")),
        ("/new 另一件事", StartOver("另一件事")),
        ("/status", ShowStatus()),
        ("/stop", StopRun()),
        ("/help", ShowHelp()),
        ("/stpo", Mistyped("/stpo")),
        ("/etc/hosts 也看看", Remark("/etc/hosts 也看看")),
        ("2", Remark("2")),
    ],
)
def test_a_line_while_it_works(line: str, command: Command) -> None:
    assert understood(line, None, on_hold=False) == command


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("2", Reply("q1", "小的")),
        ("3", Reply("q1", "3")),
        ("0", Reply("q1", "0")),
        ("都行", Reply("q1", "都行")),
        ("", Reply("q1", "")),
        ("/tmp", Reply("q1", "/tmp")),
        ("？先问问", Aside("？先问问")),
        ("/detach", Leave()),
    ],
)
def test_a_line_while_a_question_is_open(line: str, command: Command) -> None:
    assert understood(line, OPEN, on_hold=False) == command


@pytest.mark.parametrize(("line", "command"), [("", GoOn("")), ("改用 B", GoOn("改用 B")), ("2", GoOn("2"))])
def test_a_line_while_the_run_is_on_hold_goes_to_the_run(line: str, command: Command) -> None:
    assert understood(line, OPEN, on_hold=True) == command


def test_ctrl_c_interrupts_then_stops_then_no_longer_waits() -> None:
    stage, effects = Stage.CALM, []
    for _ in range(4):
        stage, effect = pressed(stage)
        effects.append(effect)

    assert effects == [Effect.INTERRUPT, Effect.STOP, Effect.GIVE_UP_WAITING, Effect.GIVE_UP_WAITING]
