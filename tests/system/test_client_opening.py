"""``flower`` in a folder that is new, used, or has a run already: what it asks, and what it starts."""

import re
from collections.abc import Callable

import pytest

from flower_protocol.control import Failure, Say
from tests.support.processes import wait_until
from tests.support.terminal import Terminal
from tests.system.client import NEW, WAKE, cooked, running
from tests.unit.flowerctl.pretend import Pretending


def test_a_new_folder_asks_what_to_do_and_starts(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    screen = flower()
    screen.read_until(re.escape(NEW))
    screen.read_until("> ")
    screen.line("写个脚本")
    wait_until(lambda: pretend.daemon.started)
    pretend.do(pretend.daemon.happen("text", "干完了"))
    pretend.do(pretend.daemon.end_run(cost_usd=1.2345))

    assert screen.wait() == 0
    assert pretend.daemon.started[0].ask == "写个脚本"
    assert f"总花费 $1.2345 · 清单 {pretend.daemon.status.run_dir}/manifest.json" in screen.text().replace(
        "\n", ""
    )
    assert cooked(screen)


def test_what_is_in_the_way_is_said_before_the_question(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    pretend.daemon.objection = Failure(code="no-credentials", values={"text": "缺少凭证"})
    screen = flower()

    assert screen.wait() == 1
    assert "缺少凭证" in screen.text() and NEW not in screen.text()


def test_a_daemon_that_can_not_tell_beforehand_is_asked_to_start(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    pretend.daemon.objection = Failure(code="bad-frame", values={"detail": "no such route"})
    screen = flower()
    screen.read_until("> ")
    screen.line("写个脚本")

    wait_until(lambda: pretend.daemon.started)


def test_a_used_folder_shows_its_banner_and_goes_on_at_enter(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    pretend.daemon.used, pretend.daemon.context = True, 80200
    pretend.do(pretend.daemon.stand(checks=15, woke=2))
    screen = flower(columns=110)
    screen.read_until("<- 在 ~/proj 接上上次  需求已确认 · 目标 15 条 · 干活上下文 80.2K · 第 3 次唤醒")
    screen.read_until("接着上次")
    screen.line()
    wait_until(lambda: pretend.daemon.started)

    assert WAKE in screen.text()
    assert pretend.daemon.started[0].ask is None
    assert pretend.daemon.started[0].options.new is False


def test_words_at_the_wake_prompt_are_the_remark(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    pretend.daemon.used = True
    screen = flower()
    screen.read_until("接着上次")
    screen.line("顺便支持代码块高亮")
    wait_until(lambda: pretend.daemon.started)

    assert pretend.daemon.started[0].ask == "顺便支持代码块高亮"


@pytest.mark.parametrize(
    ("typed", "shown"), [("/clear", "/clear"), ("/help", "一行话 = 加需求"), ("?怎么样", "旁路")]
)
def test_a_command_at_the_opening_question_starts_nothing(
    typed: str, shown: str, flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    screen = flower()
    screen.read_until("> ")

    screen.line(typed)

    screen.wait_for_screen(lambda text: shown in text and text.count("要做什么?") == 2)
    assert not pretend.daemon.started
    screen.line("/stop")
    assert screen.wait(20) == 1
    assert not pretend.daemon.started


def test_slash_new_at_the_wake_prompt_asks_again_and_starts_over(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    pretend.daemon.used = True
    screen = flower()
    screen.read_until("接着上次")
    screen.line("/new")
    screen.read_until("要做什么")
    screen.line("另一件事")
    wait_until(lambda: pretend.daemon.started)

    assert NEW in screen.text()
    assert pretend.daemon.started[0].options.new is True
    assert pretend.daemon.started[0].ask == "另一件事"


def test_a_running_folder_is_attached_to_and_not_started_twice(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    running(pretend)
    pretend.do(pretend.daemon.happen("text", "刚才说的"))
    screen = flower("再快一点")
    screen.read_until("第 3 次唤醒")
    screen.read_until("刚才说的")
    screen.read_until("收到")

    assert pretend.daemon.started == []
    assert [said.text for said in pretend.heard(Say)] == ["再快一点"]


def test_ctrl_c_at_the_first_question_starts_nothing(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    screen = flower()
    screen.read_until("要做什么")
    screen.read_until("> ")
    wait_until(lambda: not cooked(screen))
    screen.send("\x03")

    assert screen.wait() == 1
    assert "已取消" in screen.text()
    assert "Traceback" not in screen.text()
    assert pretend.daemon.started == []
    assert cooked(screen)


def test_what_was_missed_comes_before_the_question(
    flower: Callable[..., Terminal], pretend: Pretending
) -> None:
    pretend.daemon.used = True
    pretend.do(pretend.daemon.happen("text", "看过的"))
    pretend.do(pretend.daemon.happen("text", "没看过的"))
    pretend.daemon.seen = 1
    screen = flower()
    screen.read_until(r"你不在的时候\(1 条\)")
    screen.read_until("没看过的")
    screen.read_until("接着上次")

    assert "\n  看过的" not in screen.text()
    assert pretend.daemon.seen == 2
