"""Many at once: thirty terminals from cold, and someone who has no business here."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from flower_protocol.paths import socket_path
from tests.support.household import HouseholdFactory
from tests.support.processes import wait_until

pytestmark = pytest.mark.long


@pytest.mark.xdist_group("heavy")
def test_thirty_cold_starts_make_one_daemon_and_thirty_runs_that_end_well(
    household: HouseholdFactory,
) -> None:
    home = household()
    folders = [home.settled_folder(f"job-{number}") for number in range(30)]
    line = ["-d", "--rehearse", "--no-goal", "写个 md 转 html 的脚本"]

    clients = [home.start(*line, folder=folder) for folder in folders]
    outputs = [client.communicate(timeout=120)[0] for client in clients]

    assert [client.returncode for client in clients] == [0] * 30, "\n".join(outputs)
    daemon = home.daemon()
    assert _daemons_of(home.environment["HOME"]) == [daemon]
    wait_until(
        lambda: {each["state"] for each in home.status()["workspaces"]} <= {"dormant", "failed"},
        timeout=240,
        what="thirty runs to end",
    )
    status = home.status()["workspaces"]
    assert len(status) == 30 and {each["state"] for each in status} == {"dormant"}
    for folder in folders:
        made = subprocess.run(
            [sys.executable, "md2html.py", "sample.md", "again.html"],
            cwd=folder,
            capture_output=True,
            timeout=30,
        )
        assert made.returncode == 0, made.stderr
        assert "<h1" in (folder / "again.html").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take on another user id")
def test_another_users_connection_is_refused(household: HouseholdFactory) -> None:
    home = household()
    assert home.flowerctl("daemon", "start").returncode == 0
    home.daemon()
    path = socket_path(home.environment)
    # The folders keep others out already. Opened wide, the daemon itself must refuse.
    for folder in [path, *path.parents]:
        if folder in (Path("/tmp"), Path("/")):
            break
        folder.chmod(0o777)

    try:
        answer = _ask_as(12345, path)
    finally:
        path.parent.chmod(0o700)

    assert b"200 OK" not in answer and b"pid" not in answer
    assert b"200 OK" in _ask_as(0, path)


def _ask_as(uid: int, path: Path) -> bytes:
    """What the daemon says to a process of another user; empty when it just hangs up."""
    # The interpreter itself may lie where the other user can't go: it changes over when it runs.
    talk = """
        import os, socket, sys
        line = socket.socket(socket.AF_UNIX)
        line.settimeout(10)
        os.setgid(int(sys.argv[2]))
        os.setuid(int(sys.argv[2]))
        line.connect(sys.argv[1])
        try:
            line.sendall(b"GET /v1/status HTTP/1.1\\r\\nHost: flowerd\\r\\nConnection: close\\r\\n\\r\\n")
            while chunk := line.recv(65536):
                sys.stdout.buffer.write(chunk)
        except (ConnectionError, TimeoutError):
            pass
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(talk), str(path), str(uid)], capture_output=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _daemons_of(home: str) -> list[int]:
    found = []
    for process in psutil.process_iter():
        try:
            if "flowerd" in process.cmdline()[:4] and process.environ().get("HOME") == home:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found
