"""Gives every test a home of its own, and takes the machine's credentials out of its reach."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.daemons import end_daemon
from tests.support.processes import Spawned
from tests.support.terminal import Terminal

# What could lead a test to somebody's account, proxy or service manager.
_FOREIGN_PREFIXES = ("ANTHROPIC_", "CLAUDE", "FLOWER_", "LISTEN_", "XDG_")
_FOREIGN_NAMES = {"IS_SANDBOX", "NOTIFY_SOCKET", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"}
_PROXY_SUFFIX = "_PROXY"


@pytest.fixture(autouse=True)
def isolation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A home, XDG folders, CLAUDE_CONFIG_DIR and TMPDIR for this test alone, and no foreign variable."""
    for name in _foreign(os.environ):
        monkeypatch.delenv(name)
    for name, folder in _own_folders(tmp_path / "home").items():
        monkeypatch.setenv(name, str(_made(folder)))
    short = Path(tempfile.mkdtemp(prefix="fl-", dir="/tmp"))  # sun_path is 104 bytes on macOS
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(_made(short / "run")))
    monkeypatch.setenv("TMPDIR", str(_made(short / "tmp")))
    monkeypatch.setattr(tempfile, "tempdir", None)  # forgets what it read from the outer TMPDIR
    # The real CLI would call home for updates and telemetry; a test talks to loopback alone.
    monkeypatch.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
    yield
    end_daemon(short / "run")
    shutil.rmtree(short, ignore_errors=True)


@pytest.fixture
def spawned(isolation: None) -> Iterator[Spawned]:
    """Starts processes, and ends those it started, by pid, when the test is over."""
    registry = Spawned()
    yield registry
    registry.close()


@pytest.fixture
def terminal(isolation: None) -> Iterator[Callable[..., Terminal]]:
    """Starts a command under a terminal of its own: `terminal([command, …], columns=80, rows=24)`."""
    opened: list[Terminal] = []

    def open_terminal(*args: object, **kwargs: object) -> Terminal:
        opened.append(Terminal(*args, **kwargs))  # type: ignore[arg-type]
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()


def _foreign(environment: os._Environ[str]) -> list[str]:
    return [
        name
        for name in environment
        if name.startswith(_FOREIGN_PREFIXES)
        or name in _FOREIGN_NAMES
        or name.upper().endswith(_PROXY_SUFFIX)
    ]


def _own_folders(home: Path) -> dict[str, Path]:
    return {
        "HOME": home,
        "XDG_CONFIG_HOME": home / ".config",
        "XDG_STATE_HOME": home / ".local" / "state",
        "CLAUDE_CONFIG_DIR": home / ".claude",
    }


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
