"""``flower`` while a run goes on, under a real terminal, against a daemon that a test plays."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from flower_protocol.control import Answer, Interrupt, Say, Stop
from tests.support.processes import wait_until
from tests.support.terminal import Terminal
from tests.system.client import WORDS, cooked, running
from tests.unit.flowerctl.pretend import Pretending


def test_half_typed_words_stay_while_events_scroll_by(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    running(pretend)
    screen = flower()
    screen.read_until("直接说")
    screen.send("半截话")
    screen.wait_for_screen(lambda text: "半截话" in text)
    for number in range(40):
        pretend.do(pretend.daemon.happen("text", f"第 {number} 段"))

    def kept(text: str) -> bool:
        return "第 39 段" in text and text.rstrip().endswith("\n" + WORDS + "半截话")

    screen.wait_for_screen(kept)
    screen.line("说完了")
    wait_until(lambda: pretend.heard(Say))
    assert pretend.heard(Say)[0].text == "半截话说完了"


def test_a_question_changes_the_prompt_and_a_number_answers_it(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    running(pretend)
    screen = flower()
    screen.read_until("直接说")
    pretend.do(pretend.daemon.ask("q1", "要哪种?", "大的", "小的"))
    screen.wait_for_screen(lambda text: "你的回答 (回车=跳过,让它自己判断) >" in text)
    screen.line("2")
    wait_until(lambda: pretend.heard(Answer))

    assert pretend.heard(Answer)[0].text == "小的"
    screen.wait_for_screen(lambda text: "+ 小的" in text and WORDS.rstrip() in text)


def test_words_begun_before_a_question_opened_are_no_answer_to_it(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    running(pretend)
    screen = flower()
    screen.read_until("直接说")
    screen.send("半截话")
    screen.wait_for_screen(lambda text: "半截话" in text)
    pretend.do(pretend.daemon.ask("q1", "要哪种?", "大的", "小的"))
    screen.wait_for_screen(lambda text: "要哪种?" in text and text.rstrip().endswith("\n" + WORDS + "半截话"))

    screen.line("说完了")

    screen.wait_for_screen(lambda text: text.rstrip().endswith("你的回答 (回车=跳过,让它自己判断) >"))
    wait_until(lambda: pretend.heard(Say))
    assert [said.text for said in pretend.heard(Say)] == ["半截话说完了"] and not pretend.heard(Answer)
    screen.line("2")
    wait_until(lambda: pretend.heard(Answer))
    assert pretend.heard(Answer)[0].text == "小的"


def test_ctrl_c_interrupts_and_words_let_it_go_on(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    running(pretend)
    screen = flower()
    screen.read_until("直接说")
    screen.send("\x03")
    screen.read_until("! 已打断这一轮。正在跑的 subagent 会丢掉半成品。", timeout=5)
    screen.read_until(r"要说什么\?\(直接回车 = 什么都不说,接着跑;再按一次 Ctrl\+C = 退出\)")
    wait_until(lambda: pretend.heard(Interrupt))
    screen.line("改用 B")
    wait_until(lambda: pretend.heard(Say))

    assert pretend.heard(Say)[0].text == "改用 B"
    assert pretend.heard(Stop) == []


def test_ctrl_c_twice_stops_the_run_and_leaves_a_clean_terminal(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    running(pretend)
    screen = flower()
    screen.read_until("直接说")
    screen.send("\x03")
    screen.read_until("已打断")
    screen.send("\x03")

    assert screen.wait() == 130
    assert pretend.heard(Stop)
    assert "Traceback" not in screen.text()
    assert screen.text().rstrip().splitlines()[-1] == "已停下。下次在这里敲 flower 就接着干。"
    assert cooked(screen)


@pytest.mark.parametrize("typed", ["\x04", "/detach\r"])
def test_leaving_lets_the_run_go_on(typed: str, flower: Callable[..., Terminal], pretend: Pretending) -> None:
    running(pretend)
    screen = flower()
    screen.read_until("直接说")
    screen.send(typed)

    assert screen.wait() == 0
    assert "已离开,活还在后台跑。回来:" in screen.text()
    assert pretend.daemon.status.state.active
    assert pretend.heard(Stop) == [] and pretend.heard(Interrupt) == []
    assert cooked(screen)


def test_closing_the_window_is_leaving(flower: Callable[..., Terminal], pretend: Pretending) -> None:
    running(pretend)
    screen = flower()
    screen.read_until("直接说")
    screen.hang_up()

    assert screen.process.wait(10) in (0, -signal.SIGHUP)
    assert pretend.daemon.status.state.active
    assert pretend.heard(Stop) == []


def test_slash_new_while_it_runs_stops_it_only_once_the_new_request_is_there(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    running(pretend)
    screen = flower()
    screen.read_until("直接说")
    screen.line("/new")
    screen.read_until("要做什么")
    assert pretend.daemon.status.state.active
    screen.line("另一件事")
    wait_until(lambda: pretend.daemon.started)

    assert "stop" in pretend.daemon.heard
    assert pretend.daemon.started[0].options.new is True


def test_control_sequences_of_a_tool_never_reach_the_terminal(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    running(pretend)
    screen = flower()
    screen.read_until("直接说")
    pretend.do(pretend.daemon.happen("text", "a\x1b[2Jb\x1b]0;pwned\x07c\x9b31md\re\x1bPq\x1b\\f\u202eg"))
    screen.read_until("  abcdefg")

    assert "pwned" not in screen.raw
    assert "\x1b[2J" not in screen.raw and "\u202e" not in screen.raw


def test_what_was_typed_is_kept_for_the_person_alone(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    running(pretend)
    screen = flower()
    screen.read_until("直接说")
    screen.line("记住我")
    screen.read_until("收到")

    kept = Path(os.environ["XDG_STATE_HOME"]) / "flower" / "history"
    assert "记住我" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("attached", [True, False])
def test_a_terminated_client_puts_the_terminal_back(
    attached: bool, flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    if attached:
        running(pretend)
    screen = flower()
    screen.read_until("直接说" if attached else "要做什么")
    wait_until(lambda: not cooked(screen))

    screen.process.terminate()
    screen.process.wait(10)

    assert cooked(screen)
    assert "Traceback" not in screen.text()
    assert pretend.heard(Stop) == [] and pretend.daemon.started == []


def test_a_window_that_is_made_narrow_gets_narrow_lines(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    running(pretend)
    screen = flower(columns=100)
    screen.read_until("直接说")
    screen.resize(50, 30)
    pretend.do(pretend.daemon.happen("text", "字" * 60))
    screen.read_until("字" * 10)
    pretend.do(pretend.daemon.happen("text", "末了"))
    screen.read_until("末了")

    lines = [line for line in screen.text().splitlines() if set(line.strip()) == {"字"}]
    assert len(lines) == 3
    assert all(len(line.strip()) <= 24 for line in lines)
