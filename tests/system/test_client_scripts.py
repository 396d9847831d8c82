"""``flower`` without a person at it: what it asks, prints and exits with in a script."""

import json
import subprocess
from pathlib import Path

from flower_protocol.control import Failure, Say, Seen
from tests.support.processes import wait_until
from tests.system.client import FLOWER, piped, running
from tests.unit.flowerctl.pretend import Pretending


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


def test_a_run_that_goes_cannot_become_a_rehearsal(pretend: Pretending, folder: Path) -> None:
    running(pretend)

    ended = piped(folder, "words", "--rehearse")

    assert (ended.returncode, pretend.daemon.said) == (2, [])
    assert ended.stderr.count("\n") == 1 and "--rehearse" in ended.stderr


def test_each_line_about_a_rehearsal_is_marked_whoever_looks_at_it(pretend: Pretending, folder: Path) -> None:
    running(pretend, rehearse=True)
    process = subprocess.Popen(
        [*FLOWER], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    wait_until(lambda: pretend.daemon.seen)
    pretend.do(pretend.daemon.happen("text", "在干"))
    pretend.do(pretend.daemon.end_run())
    out, _ = process.communicate(timeout=20)

    assert "接上" in out.splitlines()[0]
    assert all(line.startswith("[排练] ") for line in out.splitlines())


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
