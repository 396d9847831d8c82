"""The daemon that a test's commands have started by themselves: it ends with the test."""

import contextlib
import os
import signal
import socket
import struct
import sys
from pathlib import Path

from tests.support.processes import alive, wait_until


def end_daemon(runtime: Path) -> None:
    """End whoever listens on the socket in this test's own runtime folder; nobody else can."""
    path = runtime / "flower" / "flowerd.sock"
    pid = _listener(path) if path.exists() else None
    if pid is None or pid == os.getpid():
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not alive(pid), timeout=12, what="the test's daemon to end")


def _listener(path: Path) -> int | None:
    """The pid of the process at the other end, as the kernel has it; None where nobody listens."""
    if sys.platform != "linux":
        return None
    with socket.socket(socket.AF_UNIX) as line:
        try:
            line.connect(str(path))
        except OSError:
            return None
        return int(struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])
