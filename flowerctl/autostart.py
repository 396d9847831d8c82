"""Finds the daemon, or starts it: once, however many terminals want it at the same moment."""

import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flower_protocol.paths import socket_path, state_dir
from flowerctl.client import Client

if TYPE_CHECKING:
    import subprocess  # loaded when a daemon has to be started: most commands find one

IDLE_EXIT_SECONDS: Final = 3600  # started by a client it ends by itself; under a service manager it stays
PATIENCE_SECONDS: Final = 15.0
_FIRST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 0.25
# What the daemon itself needs. Keys, proxies and settings of a run come with the run that they are for.
_KEPT: Final = frozenset(
    {"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "FLOWER_SOCKET"}
    | {"FLOWER_LANG", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT"}
)
_KEPT_PREFIXES: Final = ("LC_", "XDG_", "PYTHON")

_started: "list[subprocess.Popen[bytes]]" = []


class CannotStart(Exception):
    """No daemon answers and none could be started; the text is the reason, ``log`` where there is more."""

    def __init__(self, reason: str, log: Path) -> None:
        super().__init__(reason)
        self.log = log


def log_path(environment: Mapping[str, str]) -> Path:
    """The daemon's log."""
    return state_dir(environment) / "flowerd.log"


def ensure(
    environment: Mapping[str, str],
    *,
    starting: Callable[[], None] = lambda: None,
    patience: float = PATIENCE_SECONDS,
) -> None:
    """Returns when a daemon takes connections; ``starting`` is called once if that needs a new one.

    Raises `CannotStart` after ``patience`` seconds or as soon as the one it started has failed, and `NotOurs`.
    """
    client = Client(socket_path(environment))
    _reap()
    if client.listens():
        return
    starting()
    deadline = time.monotonic() + patience
    while not client.listens():
        # Who gets the lock starts the daemon; the others wait for it, or for the lock of one that failed.
        with _start_lock(environment) as ours:
            if ours and not client.listens():
                _start(client, environment, deadline)
                return
        if time.monotonic() > deadline:
            raise CannotStart(f"{patience:g} s", log_path(environment))
        time.sleep(_LONGEST_PAUSE / 5)


def _start(client: Client, environment: Mapping[str, str], deadline: float) -> None:
    log = log_path(environment)
    before = _size(log)
    process = _spawn(environment)
    pause = _FIRST_PAUSE
    while not client.listens():
        # One that ends well has found another daemon at work, which will answer in a moment.
        if process.poll() and not client.listens():
            raise CannotStart(_last_words(log, before) or _import_error(environment), log)
        if time.monotonic() > deadline:
            raise CannotStart("no answer", log)
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _spawn(environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    import subprocess

    command = [sys.executable, "-m", "flowerd", "--idle-exit", str(IDLE_EXIT_SECONDS)]
    try:
        process = subprocess.Popen(
            command,
            cwd="/",
            env=_environment(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # it keeps a log of its own
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a Ctrl-C or a hang-up in this terminal is not meant for it
        )
    except OSError as error:
        raise CannotStart(str(error.strerror), log_path(environment)) from error
    _started.append(process)
    return process


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value for name, value in environment.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)
    }
    if "PYTHONPATH" in kept:  # the daemon's folder is another one
        parts = kept["PYTHONPATH"].split(os.pathsep)
        kept["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in parts if part)
    return kept


@contextmanager
def _start_lock(environment: Mapping[str, str]) -> Iterator[bool]:
    folder = state_dir(environment)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(folder / "flowerd.start.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CannotStart(f"{error.strerror}: {folder}", log_path(environment)) from error
    try:
        yield _locked(handle)
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another terminal starts it
        return False
    return True


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return 0


def _last_words(log: Path, since: int) -> str:
    # What a daemon that could not start has said last: one line, its reason.
    with suppress(OSError), log.open("rb") as file:
        file.seek(since)
        lines = file.read(65536).decode(errors="replace").strip().splitlines()
        return lines[-1].split(": ", 1)[-1].strip()[:300] if lines else ""  # without date and logger
    return ""


def _import_error(environment: Mapping[str, str]) -> str:
    import subprocess

    # It died before it had a log: its own stderr went nowhere, so it is asked once more.
    command = [sys.executable, "-c", "import flowerd.main"]
    try:
        asked = subprocess.run(
            command, cwd="/", env=_environment(environment), capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return "?"
    lines = asked.stderr.strip().splitlines()
    return lines[-1][:300] if lines else "?"


def _reap() -> None:
    # A daemon that this very client started and that has died is our zombie until we look.
    _started[:] = [process for process in _started if process.poll() is None]
