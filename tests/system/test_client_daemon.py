"""The client and a real daemon: who starts it, what is said when it dies, what is asked without it."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from flower.rehearsal import Scene, Script, Turn
from flower_protocol.paths import socket_path
from tests.support.household import COMMANDS, Household, HouseholdFactory
from tests.support.processes import alive, wait_until
from tests.support.runs import BRIEF, play, told


def thinking(seconds: float) -> Script:
    """One long thought, then the end; once more after each word of a person."""
    return Script(
        scenes=[
            Scene(name="only", role="main", again=True, turns=[Turn(text="thought it over", takes=seconds)])
        ]
    )


def begun(home: Household, folder: Path) -> None:
    done = home.flower("-d", "--no-goal", "想清楚", folder=folder)
    assert done.returncode == 0, done.stderr
    wait_until(lambda: home.workspace(folder).get("session_id"), timeout=30, what="a session")


def test_many_terminals_at_once_start_one_daemon(household: HouseholdFactory) -> None:
    home = household(thinking(0))
    folders = [home.settled_folder(f"w{number}") for number in range(6)]

    started = [home.start("-d", "--no-goal", "做点事", folder=folder) for folder in folders]

    assert [process.wait(60) for process in started] == [0] * len(folders)
    pids = {home.daemon()}
    log = Path(os.environ["XDG_STATE_HOME"]) / "flower" / "flowerd.log"
    assert log.read_text().count("serves") == len(pids) == 1


def test_a_socket_that_nobody_listens_on_is_no_obstacle(household: HouseholdFactory) -> None:
    home = household(thinking(0))
    path = socket_path(home.environment)
    path.parent.mkdir(mode=0o700, parents=True)
    left_over = socket.socket(socket.AF_UNIX)
    left_over.bind(str(path))
    left_over.close()

    done = home.flower("--no-goal", "做点事", folder=home.settled_folder())

    assert done.returncode == 0, done.stderr
    assert "flowerd" not in done.stderr


def test_a_daemon_that_cannot_start_is_one_line_that_names_its_log(household: HouseholdFactory) -> None:
    home = household(thinking(0))
    path = socket_path(home.environment)
    path.parent.mkdir(mode=0o700, parents=True)
    path.write_text("not a socket")

    done = home.flower("--no-goal", "做点事", folder=home.settled_folder())

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "flowerd 起不来" in done.stderr and "flowerd.log" in done.stderr
    assert path.read_text() == "not a socket"


def test_the_daemons_death_is_said_within_a_second_and_the_next_flower_goes_on(
    household: HouseholdFactory,
) -> None:
    home = household(thinking(30))
    folder = home.settled_folder()
    begun(home, folder)
    with home.terminal(folder=folder) as screen:
        screen.read_until("== 干活", timeout=20)
        screen.send("还没说完的话")
        screen.wait_for_screen(lambda text: "还没说完的话" in text)
        daemon = home.daemon()

        os.kill(daemon, signal.SIGKILL)
        screen.read_until("flowerd 没了,正在重新接上…", timeout=1.5)
        code = screen.wait(30)

        assert code == 1
        assert "再跑一次 flower 就接着干" in screen.text()
        assert "还没说完的话" in screen.text().replace("\n", "")
    assert home.daemon() != daemon
    assert not alive(daemon)
    assert home.workspace(folder)["state"] == "interrupted"


def test_a_daemon_that_is_told_to_end_is_not_started_again_by_its_clients(
    household: HouseholdFactory,
) -> None:
    home = household(thinking(30))
    folder = home.settled_folder()
    begun(home, folder)
    with home.terminal(folder=folder) as screen:
        screen.read_until("== 干活", timeout=20)

        stopped = home.flowerctl("daemon", "stop")

        assert stopped.returncode == 0, stopped.stderr
        assert screen.wait(30) == 1
        assert "flowerd 退出了" in screen.text()
    assert json.loads(home.flowerctl("daemon", "status", "--json").stdout)["daemon"] is None


def test_status_without_a_daemon_answers_from_the_files_and_starts_none(household: HouseholdFactory) -> None:
    home = household(thinking(30))
    folder = home.settled_folder()
    begun(home, folder)
    os.kill(home.daemon(), signal.SIGKILL)

    found = home.status()

    assert found["daemon"] is None
    assert [(each["workspace"], each["state"]) for each in found["workspaces"]] == [
        (str(folder), "interrupted")
    ]
    assert "flowerd 没在跑" in home.flowerctl("status").stdout
    assert home.status()["daemon"] is None


def test_ctrl_c_twice_stops_a_real_run(household: HouseholdFactory) -> None:
    home = household(thinking(30))
    folder = home.settled_folder()
    begun(home, folder)
    with home.terminal(folder=folder) as screen:
        screen.read_until("直接说", timeout=20)
        screen.send("\x03")
        screen.read_until("已打断", timeout=5)
        screen.send("\x03")

        assert screen.wait(20) == 130
        assert "Traceback" not in screen.text()
    assert home.wait_for_state(folder, "dormant")["error"] is None


def test_words_after_an_interrupt_reach_the_model(household: HouseholdFactory) -> None:
    home = household(thinking(3))
    folder = home.settled_folder()
    with home.terminal("--no-goal", "想清楚", folder=folder) as screen:
        screen.read_until("直接说", timeout=30)
        wait_until(lambda: home.model and home.model.requests, timeout=30)
        screen.send("\x03")
        screen.read_until("要说什么", timeout=5)
        screen.line("改用 B 方案")
        screen.read_until("总花费", timeout=40)

        assert screen.wait(20) == 0
    assert home.model is not None
    assert "改用 B 方案" in json.dumps(home.model.requests[-1].messages, ensure_ascii=False)


@pytest.mark.parametrize("verb", ["stop", "interrupt"])
def test_a_verb_for_a_folder_where_nothing_runs_is_one_line(verb: str, household: HouseholdFactory) -> None:
    home = household(thinking(0))
    folder = home.settled_folder()
    assert home.flowerctl("daemon", "start").returncode == 0

    done = home.flowerctl(verb, str(folder))

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "没有正在跑的活" in done.stderr


def test_a_remark_and_a_stop_need_no_attachment(household: HouseholdFactory) -> None:
    home = household(thinking(30))
    folder = home.settled_folder()
    begun(home, folder)

    assert home.flowerctl("say", "work", "顺便支持表格").returncode == 0
    assert home.flowerctl("stop", "work").returncode == 0

    assert home.workspace(folder)["state"] == "dormant"


def test_asking_for_the_status_loads_nothing_heavy() -> None:
    heavy = {"asyncio", "aiohttp", "prompt_toolkit", "wcwidth", "flower", "flowerd", "claude_agent_sdk"}
    script = (
        "import sys; from flowerctl.operate.main import main; code = main(['status', '--json']);"
        f"print(sorted({heavy!r} & set(sys.modules)), code, file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20)

    assert done.stderr.strip() == "[] 0"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_daemon_gets_no_credential_of_the_shell_that_started_it(household: HouseholdFactory) -> None:
    home = household(thinking(0))
    home.environment |= {"SECRET_X": "made-up-secret", "HTTPS_PROXY": "http://127.0.0.1:9"}

    done = home.flower("--no-goal", "做点事", folder=home.settled_folder())

    assert done.returncode == 0, done.stderr
    environment = Path(f"/proc/{home.daemon()}/environ").read_bytes()
    assert b"HOME=" in environment
    for name in (b"SECRET_X", b"ANTHROPIC_", b"PROXY"):
        assert name not in environment


@pytest.mark.skipif(os.getuid() != 0, reason="needs to be two users")
def test_a_socket_of_another_user_is_not_spoken_to(household: HouseholdFactory) -> None:
    home = household()
    folder = Path(os.environ["TMPDIR"])
    for each in (folder.parent, folder):
        each.chmod(0o777)
    path = folder / "stranger.sock"
    stranger = (
        "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]);"
        "os.chmod(sys.argv[1], 0o777); s.listen(); c, _ = s.accept(); print(c.recv(1000)); sys.stdout.flush()"
    )
    listening = home.spawned.start(
        [sys.executable, "-c", stranger, path], stdout=subprocess.PIPE, text=True, cwd=Path("/")
    )
    wait_until(path.exists)
    home.environment["FLOWER_SOCKET"] = str(path)

    done = home.flower("--no-goal", "做点事", folder=home.settled_folder())

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "别的用户" in done.stderr
    assert listening.communicate(timeout=10)[0] == "b''\n"


def test_a_folder_can_be_shown_and_the_log_read(household: HouseholdFactory) -> None:
    home = household(thinking(0))
    folder = home.settled_folder()
    assert home.flower("--no-goal", "做点事", folder=folder).returncode == 0

    shown = home.flowerctl("show", "work")
    as_json = json.loads(home.flowerctl("show", "work", "--json").stdout)

    assert str(folder) in shown.stdout and "睡着" in shown.stdout
    assert as_json == home.workspace(folder)
    assert "serves" in home.flowerctl("logs").stdout


def test_the_log_is_followed_until_ctrl_c(household: HouseholdFactory) -> None:
    home = household(thinking(0))
    assert home.flowerctl("daemon", "start").returncode == 0
    log = Path(os.environ["XDG_STATE_HOME"]) / "flower" / "flowerd.log"
    following = home.spawned.start(
        [COMMANDS / "flowerctl", "logs", "-f"], env=home.environment, stdout=subprocess.PIPE, text=True
    )
    assert following.stdout is not None
    assert "serves" in following.stdout.readline()

    with log.open("a") as more:
        more.write("a \x1b[31mnew line\n")

    assert following.stdout.readline() == "a new line\n"
    following.send_signal(signal.SIGINT)
    assert following.wait(10) == 0


def test_forgetting_a_folder_touches_none_of_its_files(household: HouseholdFactory) -> None:
    home = household(thinking(0))
    folder = home.settled_folder()
    assert home.flower("--no-goal", "做点事", folder=folder).returncode == 0

    assert home.flowerctl("forget", str(folder)).returncode == 0

    assert home.workspace(folder) == {}
    assert (folder / "runs" / "manifest.json").exists()


def test_a_restart_leaves_a_daemon_that_answers(household: HouseholdFactory) -> None:
    home = household(thinking(0))
    assert home.flowerctl("daemon", "start").returncode == 0
    first = home.daemon()

    restarted = home.flowerctl("daemon", "restart")

    assert restarted.returncode == 0, restarted.stderr
    assert home.daemon() != first and not alive(first)


def test_a_request_that_was_stopped_before_it_was_heard_is_not_lost(household: HouseholdFactory) -> None:
    home = household(play(Turn(text=BRIEF, takes=3.0), again=True))  # it must not be over before the stop
    folder = home.folder()
    assert home.flower("-d", "--clarify-only", "my precious request", folder=folder).returncode == 0
    assert home.flowerctl("stop", str(folder)).returncode == 0
    assert home.model is not None

    again = home.flower("--clarify-only", folder=folder)

    assert again.returncode == 0, again.stderr
    assert "my precious request" in told(home.model.requests[-1])
