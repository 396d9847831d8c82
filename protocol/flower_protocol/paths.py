"""Where the daemon lives: computed the same way by both sides, from the environment alone."""

import os
from collections.abc import Mapping
from pathlib import Path
from pwd import getpwuid
from typing import Final

# sun_path is 104 bytes on macOS (108 on Linux), the closing NUL included; the shorter one serves both.
LONGEST_SOCKET_PATH: Final = 103


def home(environment: Mapping[str, str]) -> Path:
    """The user's home: $HOME, else the password database (a service manager may give no HOME)."""
    named = environment.get("HOME", "")
    return Path(named) if named.startswith("/") else Path(getpwuid(os.getuid()).pw_dir)


def state_dir(environment: Mapping[str, str]) -> Path:
    """``$XDG_STATE_HOME/flower``, else ``~/.local/state/flower``: registry, journals, log."""
    return _xdg(environment, "XDG_STATE_HOME", ".local/state") / "flower"


def socket_path(environment: Mapping[str, str]) -> Path:
    """Where the daemon listens.

    ``FLOWER_SOCKET`` wins. Then ``$XDG_RUNTIME_DIR/flower/flowerd.sock``; without that variable, or when it
    names a folder that isn't there or isn't ours (left over from ``su``), a folder under the state folder. A
    path over the platform's limit gives way to a folder of the user's own under the temporary folder.
    """
    override = environment.get("FLOWER_SOCKET")
    if override:
        return Path(override)
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/") and _ours(Path(runtime)):
        wanted = Path(runtime) / "flower" / "flowerd.sock"
    else:
        wanted = state_dir(environment) / "run" / "flowerd.sock"
    if fits(wanted):
        return wanted
    for base in (environment.get("TMPDIR", ""), "/tmp"):
        short = Path(base) / f"flower-{os.getuid()}" / _short(wanted) / "flowerd.sock"
        if base.startswith("/") and fits(short):
            break
    return short


def lock_path(socket: Path) -> Path:
    """The file whose lock a daemon holds for as long as it serves ``socket``."""
    return socket.with_name(socket.name + ".lock")


def fits(socket: Path) -> bool:
    """Whether the platform can bind this path."""
    return len(os.fsencode(socket)) <= LONGEST_SOCKET_PATH


def _xdg(environment: Mapping[str, str], name: str, default: str) -> Path:
    named = environment.get(name, "")
    # The XDG specification: a relative path is to be ignored.
    return Path(named) if named.startswith("/") else home(environment) / default


def _ours(folder: Path) -> bool:
    try:
        return folder.stat().st_uid == os.getuid()
    except OSError:
        return False


def _short(wanted: Path) -> str:
    # Two homes of one user (tests, containers) must not share a daemon because their paths are long.
    from hashlib import sha256  # rarely needed, and a client's first line waits for its imports

    return sha256(os.fsencode(wanted)).hexdigest()[:12]
