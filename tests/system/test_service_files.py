"""The unit files are accepted by the service managers they are for, and promise what their README says."""

import configparser
import plistlib
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SYSTEMD = ROOT / "systemd"
LAUNCHD = ROOT / "launchd"
PLACEHOLDER = "%h/.local/bin/flowerd"


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # systemd's keys have capitals
    parser.read(SYSTEMD / name, encoding="utf-8")
    return parser


def agent() -> dict[str, Any]:
    loaded: dict[str, Any] = plistlib.loads((LAUNCHD / "io.flower.flowerd.plist").read_bytes())
    return loaded


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed here")
def test_systemd_accepts_both_units_without_a_word(tmp_path: Path) -> None:
    flowerd = executable(tmp_path / "bin" / "flowerd", "#!/bin/sh\n")
    for name in ("flowerd.service", "flowerd.socket"):
        text = (SYSTEMD / name).read_text(encoding="utf-8").replace(PLACEHOLDER, str(flowerd))
        (tmp_path / name).write_text(text, encoding="utf-8")

    verdict = subprocess.run(
        ["systemd-analyze", "--user", "verify", tmp_path / "flowerd.service", tmp_path / "flowerd.socket"],
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (verdict.returncode, verdict.stdout, verdict.stderr) == (0, "", "")


def test_the_service_names_flowerd_by_a_whole_path() -> None:
    assert unit("flowerd.service")["Service"]["ExecStart"] == PLACEHOLDER
    assert "~/.local/bin/flowerd" in (SYSTEMD / "README.md").read_text(encoding="utf-8")


def test_the_service_comes_back_but_not_for_ever() -> None:
    service = unit("flowerd.service")

    assert service["Service"]["Restart"] == "always"
    # Were the limit out of reach at this pace, a broken daemon would be started until the battery is empty.
    burst, pause = int(service["Unit"]["StartLimitBurst"]), int(service["Service"]["RestartSec"])
    assert burst * pause < int(service["Unit"]["StartLimitIntervalSec"])


def test_the_service_ends_with_time_for_the_last_rows_and_leaves_no_child() -> None:
    service = unit("flowerd.service")["Service"]

    assert service["Type"] == "notify"
    assert service["KillMode"] == "mixed"
    assert int(service["TimeoutStopSec"]) > 5  # flowerd promises to be done in under five
    assert service["OOMPolicy"] == "continue"


def test_the_service_waits_for_no_target_of_the_system() -> None:
    section = unit("flowerd.service")["Unit"]
    ordered = " ".join(section.get(key, "") for key in ("After", "Before", "Requires", "Wants", "BindsTo"))

    assert set(ordered.split()) == {"flowerd.socket"}
    assert unit("flowerd.service")["Install"]["WantedBy"] == "default.target"


def test_the_socket_is_at_the_default_path_and_for_its_owner_alone() -> None:
    socket = unit("flowerd.socket")["Socket"]

    assert dict(socket) == {
        "ListenStream": "%t/flower/flowerd.sock",
        "SocketMode": "0600",
        "DirectoryMode": "0700",
    }


def test_the_agent_starts_at_login_and_comes_back_at_a_bounded_pace() -> None:
    keys = agent()

    assert keys["Label"] == "io.flower.flowerd"
    assert keys["RunAtLoad"] is True
    assert keys["KeepAlive"] is True
    assert keys["ThrottleInterval"] >= 10
    assert keys["ExitTimeOut"] > 5
    assert keys["LimitLoadToSessionType"] == "Aqua"
    assert keys["Umask"] == 0o077


def test_the_agent_becomes_flowerd_of_its_own_user_and_logs_into_the_state_folder(tmp_path: Path) -> None:
    executable(tmp_path / ".local/bin/flowerd", '#!/bin/sh\necho "pid $$"\n')

    # With nothing but the two variables that launchd gives a user's agent.
    process = subprocess.Popen(
        agent()["ProgramArguments"], env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    )

    assert process.wait(10) == 0
    log = tmp_path / ".local/state/flower/launchd.log"
    assert log.read_text() == f"pid {process.pid}\n"


@pytest.mark.parametrize(
    ("folder", "commands"),
    [
        (SYSTEMD, ["systemctl --user link", "systemctl --user enable --now", "loginctl enable-linger"]),
        (LAUNCHD, ["cp launchd/io.flower.flowerd.plist ~/Library/LaunchAgents/", "launchctl bootstrap gui/"]),
    ],
    ids=["systemd", "launchd"],
)
def test_the_readme_says_how_to_install_and_start(folder: Path, commands: list[str]) -> None:
    text = (folder / "README.md").read_text(encoding="utf-8")

    for command in commands:
        assert command in text
