"""The real `flowerd`: how it starts, what ends it, and what it keeps to itself."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from flower_protocol.paths import socket_path, state_dir
from tests.support.processes import Spawned, alive, wait_until

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-m", "flowerd"]

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def path() -> Path:
    return socket_path(os.environ)


@pytest.fixture
def start(spawned: Spawned, path: Path) -> Start:
    """Starts `flowerd` and waits until it answers."""

    def started(
        *arguments: str, env: dict[str, str] | None = None, ready: bool = True
    ) -> "subprocess.Popen[bytes]":
        environment = dict(os.environ) | {"PYTHONPATH": f"{ROOT}:{ROOT / 'protocol'}"} | (env or {})
        process = spawned.start(
            [*COMMAND, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        if ready:
            wait_until(lambda: answers(path) or process.poll() is not None, what="flowerd answers")
        return process

    return started


def answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def _curl(path: Path, url: str, *more: str) -> dict[str, object]:
    out = subprocess.run(
        ["curl", "-s", "--unix-socket", str(path), f"http://flower{url}", *more],
        capture_output=True,
        check=True,
        timeout=10,
    )
    answer: dict[str, object] = json.loads(out.stdout)
    return answer


def _log() -> str:
    return (state_dir(os.environ) / "flowerd.log").read_text()


def test_it_serves_logs_and_ends_by_sigterm_taking_its_socket_with_it(start: Start, path: Path) -> None:
    process = start()

    assert _curl(path, "/v1/status")["workspaces"] == []
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    code = process.wait(10)

    assert (code, path.exists()) == (-signal.SIGTERM, False)
    assert time.monotonic() - begun < 5
    assert "serves" in _log() and "ending on SIGTERM" in _log()
    assert (state_dir(os.environ) / "flowerd.log").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_other_ending_signals_are_passed_on_to_whoever_waits(start: Start, number: signal.Signals) -> None:
    process = start()

    process.send_signal(number)

    assert process.wait(10) == -number


def test_a_hangup_that_was_ignored_from_the_start_stays_ignored(start: Start, path: Path) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = start()
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    process.send_signal(signal.SIGHUP)

    assert _curl(path, "/v1/status")["workspaces"] == []
    assert process.poll() is None


def test_a_second_one_says_so_and_is_content(start: Start, path: Path) -> None:
    first = start()

    second = start(ready=False)
    _, said = second.communicate(timeout=20)

    assert (second.returncode, said.decode().strip().count("\n")) == (0, 0)
    assert str(path) in said.decode()
    assert first.poll() is None


def test_thirty_at_the_same_moment_are_one(start: Start, path: Path) -> None:
    processes = [start(ready=False) for _ in range(30)]

    wait_until(lambda: sum(process.poll() is None for process in processes) == 1, timeout=60)

    assert [process.returncode for process in processes].count(0) == 29
    assert _curl(path, "/v1/status")["daemon"]


def test_a_path_that_is_a_file_is_refused_with_the_reason(start: Start, tmp_path: Path) -> None:
    blocked = Path(os.environ["XDG_RUNTIME_DIR"]) / "taken"
    blocked.write_text("precious")

    process = start(env={"FLOWER_SOCKET": str(blocked), "FLOWER_LANG": "en"}, ready=False)
    _, said = process.communicate(timeout=20)

    assert process.returncode == 1
    assert said.decode().strip().endswith("Move it away, or choose another by FLOWER_SOCKET.")
    assert "\n" not in said.decode().strip()
    assert blocked.read_text() == "precious"


@pytest.mark.parametrize(
    "arguments", [["--idle-exit", "0"], ["--idle-exit", "soon"], ["--port", "80"], ["extra"]]
)
def test_a_wrong_use_ends_with_two(start: Start, arguments: list[str]) -> None:
    process = start(*arguments, ready=False)

    process.communicate(timeout=20)

    assert process.returncode == 2


def test_idle_it_ends_by_itself_but_not_while_somebody_asks(start: Start, path: Path) -> None:
    process = start("--idle-exit", "1.5")
    for _ in range(6):
        _curl(path, "/v1/status")
        time.sleep(0.4)  # each request begins the time anew, which is what is shown here

    assert process.poll() is None
    assert process.wait(10) == 0
    assert not path.exists()


def test_it_ends_when_a_client_asks_it_to(start: Start, path: Path) -> None:
    process = start()

    assert _curl(path, "/v1/daemon/stop", "-X", "POST") == {"ok": True}

    assert process.wait(10) == 0


def test_nothing_of_the_first_shells_credentials_stays_with_it() -> None:
    secrets = {
        "ANTHROPIC_API_KEY": "sk-made-up",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "HTTPS_PROXY": "http://user:secret@127.0.0.1:9",
        "GITHUB_TOKEN": "ghp-made-up",
    }

    kept = _kept_environment(secrets)

    assert not secrets.keys() & kept
    assert {"PATH", "HOME", "XDG_STATE_HOME"} <= kept


def _kept_environment(secrets: dict[str, str]) -> set[str]:
    """The names in ``os.environ`` of a process that was prepared as `flowerd` prepares itself."""
    look = (
        "import os, json; from flowerd.environment import scrub; "
        "scrub(os.environ); print(json.dumps(sorted(os.environ)))"
    )
    environment = dict(os.environ) | {"PYTHONPATH": f"{ROOT}:{ROOT / 'protocol'}"} | secrets
    out = subprocess.run(
        [sys.executable, "-c", look], env=environment, capture_output=True, check=True, timeout=20
    )
    return set(json.loads(out.stdout))


def test_without_home_it_finds_its_place() -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}:{ROOT / 'protocol'}"}
    look = "import os; from flower_protocol.paths import state_dir; print(state_dir(os.environ))"

    out = subprocess.run(
        [sys.executable, "-c", look], env=environment, capture_output=True, check=True, timeout=20
    )

    assert out.stdout.decode().startswith("/") and not out.stdout.decode().startswith("/.local")


def test_idle_it_is_small_and_has_not_loaded_the_sdk(start: Start, path: Path, tmp_path: Path) -> None:
    process = start()
    _curl(path, f"/v1/wake?workspace={tmp_path}&run_dir={tmp_path}/runs")

    maps = Path(f"/proc/{process.pid}/maps")
    loaded = maps.read_text() if maps.exists() else ""
    resident = psutil.Process(process.pid).memory_info().rss

    assert resident < 60 * 1024 * 1024
    assert "pydantic" not in loaded  # the SDK's heaviest dependency, with a library of its own


def test_the_library_and_the_sdk_are_loaded_only_by_a_run() -> None:
    look = (
        "import sys, flowerd.main, flowerd.waking; "
        "print([m for m in sys.modules if m.startswith(('claude_agent_sdk', 'mcp'))])"
    )
    environment = dict(os.environ) | {"PYTHONPATH": f"{ROOT}:{ROOT / 'protocol'}"}

    out = subprocess.run(
        [sys.executable, "-c", look], env=environment, capture_output=True, check=True, timeout=20
    )

    assert out.stdout.strip() == b"[]"


def test_a_service_manager_is_told_when_it_is_ready_and_when_it_stops(start: Start, tmp_path: Path) -> None:
    address = str(Path(os.environ["XDG_RUNTIME_DIR"]) / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address)
        manager.settimeout(10)
        process = start(env={"NOTIFY_SOCKET": address})
        ready = manager.recv(1000)
        process.terminate()
        stopping = manager.recv(1000)

    assert ready.startswith(b"READY=1\nSTATUS=")
    assert stopping.startswith(b"STOPPING=1\nSTATUS=")
    process.wait(10)


def test_a_socket_that_was_handed_over_is_served_and_left_where_it_is(spawned: Spawned, path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as handed:
        handed.bind(str(path))
        handed.listen(8)
        launcher = (
            "import os, sys; fd = int(sys.argv[1]); os.dup2(fd, 3); "
            "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid())); "
            "os.execv(sys.executable, [sys.executable, '-m', 'flowerd'])"
        )
        environment = dict(os.environ) | {"PYTHONPATH": f"{ROOT}:{ROOT / 'protocol'}"}
        process = spawned.start(
            [sys.executable, "-c", launcher, str(handed.fileno())],
            env=environment,
            pass_fds=[handed.fileno()],
        )

        assert _curl(path, "/v1/status")["workspaces"] == []
        process.terminate()
        process.wait(10)

    assert path.exists()


def test_a_descriptor_that_is_no_listening_socket_is_refused(spawned: Spawned) -> None:
    launcher = (
        "import os, sys; os.dup2(os.open('/dev/null', os.O_RDONLY), 3); "
        "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()), FLOWER_LANG='en'); "
        "os.execv(sys.executable, [sys.executable, '-m', 'flowerd'])"
    )
    environment = dict(os.environ) | {"PYTHONPATH": f"{ROOT}:{ROOT / 'protocol'}"}
    process = spawned.start([sys.executable, "-c", launcher], env=environment, stderr=subprocess.PIPE)

    _, said = process.communicate(timeout=20)

    assert (process.returncode, b"LISTEN_FDS" in said) == (1, True)


def test_killed_outright_it_leaves_nothing_that_stops_the_next(start: Start, path: Path) -> None:
    first = start()
    first.kill()
    first.wait(10)
    assert path.exists()

    begun = time.monotonic()
    second = start()

    assert answers(path) and second.poll() is None
    assert time.monotonic() - begun < 5
    assert alive(second.pid)


def test_a_successor_waits_for_the_one_that_is_ending(start: Start, path: Path) -> None:
    first = start()
    first.terminate()

    second = start(ready=False)
    wait_until(lambda: first.poll() is not None)
    wait_until(lambda: answers(path))

    assert second.poll() is None
