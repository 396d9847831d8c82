"""``flower`` as a person types it, under a real terminal, against a daemon that a test plays."""

import json
import os
import re
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flower_protocol.control import Answer, Failure, Interrupt, Resume, Say, Seen, Stop
from flower_protocol.workspaces import State
from tests.support.processes import wait_until
from tests.support.terminal import Terminal
from tests.unit.flowerctl.pretend import PretendDaemon, Pretending

ROOT = Path(__file__).parents[2]
FLOWER = [sys.executable, "-c", "import sys; from flowerctl.attach.main import main; sys.exit(main())"]
NEW = "要做什么? 一句话就够,回车开始(Ctrl-C 退出)"
WAKE = "接着上次? 直接回车 = 接着做;也可以说点新的;/new = 重开一件事(Ctrl-C 退出)"
WORDS = "(直接说 = 加需求,下个检查点送达;? 开头 = 顺便问一句,不打扰它干活) > "


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that flower is typed in."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "protocol")]))
    made = tmp_path / "home" / "proj"
    made.mkdir(parents=True)
    return made.resolve()


@pytest.fixture
def pretend(folder: Path) -> Iterator[Pretending]:
    with Pretending(
        PretendDaemon(Path(os.environ["XDG_RUNTIME_DIR"]) / "flower" / "flowerd.sock", folder)
    ) as one:
        yield one


@pytest.fixture
def flower(pretend: Pretending, terminal: Callable[..., Terminal], folder: Path) -> Callable[..., Terminal]:
    # After the daemon, so that the clients end before it: one that loses its daemon would start a real one.
    def typed(*arguments: str, columns: int = 100) -> Terminal:
        return terminal([*FLOWER, *arguments], cwd=folder, columns=columns)

    return typed


def piped(folder: Path, *arguments: str, text: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*FLOWER, *arguments], cwd=folder, input=text, capture_output=True, text=True, timeout=30
    )


def running(pretend: Pretending, **status: object) -> None:
    pretend.daemon.used = True
    pretend.do(pretend.daemon.stand(state=State.RUNNING, woke=3, **status))
    pretend.do(pretend.daemon.happen("run_started", rehearse=False))


def cooked(screen: Terminal) -> bool:
    return bool(termios.tcgetattr(screen._master)[3] & termios.ICANON)


# -- the three kinds of folder


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


# -- typing while it works


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
    wait_until(lambda: pretend.heard(Resume))

    assert pretend.heard(Resume)[0].text == "改用 B"
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


# -- scripts


def test_a_script_is_asked_nothing_and_gets_plain_lines(pretend: Pretending, folder: Path) -> None:
    process = subprocess.Popen(
        [*FLOWER],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write("写个脚本\n不归它的下一行\n")
    process.stdin.close()
    wait_until(lambda: pretend.daemon.started)
    pretend.do(pretend.daemon.happen("step", "干活", index=1, total=1))
    pretend.do(pretend.daemon.end_run())
    process.stdin = None
    out, err = process.communicate(timeout=20)

    assert process.returncode == 0
    assert pretend.daemon.started[0].ask == "写个脚本"
    assert err == ""
    assert out.startswith("== 干活 ") and "\x1b" not in out + err


def test_a_flag_that_the_daemon_refuses_is_wrong_usage_in_a_script(pretend: Pretending, folder: Path) -> None:
    pretend.daemon.refusal = Failure(code="not-available", values={"flag": "--timeout"})

    ended = piped(folder, "x", "--timeout", "60")

    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1 and "--timeout" in ended.stderr


def test_nothing_to_do_is_refused_in_one_line(pretend: Pretending, folder: Path) -> None:
    for arguments, text in (((), ""), (("",), ""), (("  ",), "")):
        ended = piped(folder, *arguments, text=text)

        assert ended.returncode == 1
        assert ended.stderr == '诉求是空的。直接 `flower` 然后按提示输入,或者 flower "帮我做一个 X"。\n'


def test_json_is_one_event_a_line_and_nothing_else(pretend: Pretending, folder: Path) -> None:
    process = subprocess.Popen(
        [*FLOWER, "x", "--json", "--rehearse"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: pretend.daemon.started)
    pretend.do(pretend.daemon.happen("text", "一\x1b[31m二"))
    pretend.do(pretend.daemon.end_run())
    out, _ = process.communicate(timeout=20)
    records = [json.loads(line) for line in out.splitlines()]

    assert [record["kind"] for record in records] == ["run_started", "text", "run_ended"]
    assert all(record["rehearsal"] for record in records)
    assert "\x1b" not in out


def test_every_line_of_a_rehearsal_says_so(pretend: Pretending, folder: Path) -> None:
    pretend.daemon.used = True
    process = subprocess.Popen(
        [*FLOWER, "x", "--rehearse"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    wait_until(lambda: pretend.daemon.started)
    pretend.do(pretend.daemon.happen("text", "一段\n两行"))
    pretend.do(pretend.daemon.end_run())
    out, _ = process.communicate(timeout=20)

    assert len(out.splitlines()) >= 4
    assert all(line.startswith("[排练] ") for line in out.splitlines())


def test_detached_it_starts_and_says_how_to_come_back(pretend: Pretending, folder: Path) -> None:
    ended = piped(folder, "x", "-d")

    assert ended.returncode == 0
    assert ended.stdout == f"已在后台开始。接上去:cd {folder} && flower\n"
    assert pretend.daemon.status.state.active


def test_a_run_that_fails_is_one_line_and_exit_1(pretend: Pretending, folder: Path) -> None:
    process = subprocess.Popen(
        [*FLOWER, "x"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: pretend.daemon.started)
    pretend.do(pretend.daemon.end_run("failed", error="凭证被拒"))
    _, err = process.communicate(timeout=20)

    assert process.returncode == 1
    assert err.splitlines()[-1] == "没有跑成:凭证被拒"


def test_flags_that_a_running_run_cannot_heed_are_refused(pretend: Pretending, folder: Path) -> None:
    running(pretend)

    ended = piped(folder, "words", "--rounds", "5", "--new")

    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1 and "--new --rounds" in ended.stderr
    assert pretend.daemon.said == [] and pretend.heard(Say) == []


def test_a_flag_that_the_daemon_cannot_honour_is_wrong_usage(pretend: Pretending, folder: Path) -> None:
    pretend.daemon.refusal = Failure(code="not-available", values={"flag": "--budget"})

    ended = piped(folder, "x", "--budget", "3")

    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1] == "--budget 这一版还不支持,没有启动。去掉它再跑。"


def test_a_path_that_is_a_file_is_refused_in_one_line(pretend: Pretending, folder: Path) -> None:
    (folder / "file").touch()

    ended = piped(folder, "-w", "file", "x")

    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1 and "file" in ended.stderr


def test_another_folder_without_a_run_dir_of_its_own_is_warned_about(
    pretend: Pretending, folder: Path
) -> None:
    (folder / "sub").mkdir()

    ended = piped(folder, "-w", "sub", "x", "-d")

    assert "-r sub/runs" in ended.stderr


def test_a_reader_that_has_gone_ends_the_client_quietly(pretend: Pretending, folder: Path) -> None:
    process = subprocess.Popen(
        [*FLOWER, "x"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: pretend.daemon.started)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    wait_until(lambda: pretend.do(pretend.daemon.happen("text", "x")) and process.poll() is not None)

    assert process.returncode == 0
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    assert pretend.daemon.status.state.active


def test_what_was_shown_is_reported_as_seen(pretend: Pretending, folder: Path) -> None:
    process = subprocess.Popen(
        [*FLOWER, "x"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    wait_until(lambda: pretend.daemon.started)
    pretend.do(pretend.daemon.end_run())

    assert process.wait(20) == 0
    assert pretend.heard(Seen)[-1].seq == len(pretend.daemon.events)


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
