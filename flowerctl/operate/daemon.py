"""``flowerctl daemon start|stop|restart|status``."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from flower_protocol.control import Done
from flower_protocol.workspaces import DaemonStatus, Status
from flowerctl.autostart import ensure, log_path
from flowerctl.client import NoDaemon
from flowerctl.hints import OK, Failed
from flowerctl.operate.context import Context
from flowerctl.operate.status import daemon_line

STOP_SECONDS: Final = 15.0  # it gives its runs five seconds; a slow disk may need more
_POLL_SECONDS: Final = 0.05


def daemon(context: Context, action: str) -> int:
    return _ACTIONS[action](context)


def _start(context: Context) -> int:
    ensure(context.environment)
    return _status(context)


def _stop(context: Context) -> int:
    running = _running(context)
    if running is None:
        context.say(context.texts("daemon_down"), Done())
        return OK
    _end(context, running)
    context.say(context.texts("daemon_stopped"), Done())
    return OK


def _restart(context: Context) -> int:
    running = _running(context)
    if running is not None:
        _end(context, running)
    return _start(context)


def _status(context: Context) -> int:
    running = _running(context)
    if context.json:
        context.object(Status(daemon=running))
        return OK
    if running is None:
        raise Failed(context.texts("daemon_down"))
    context.say(daemon_line(running, context.texts))
    return OK


_ACTIONS: Final[dict[str, Callable[[Context], int]]] = {
    "start": _start,
    "stop": _stop,
    "restart": _restart,
    "status": _status,
}


def _running(context: Context) -> DaemonStatus | None:
    try:
        return context.client.status().daemon
    except NoDaemon:
        return None


def _end(context: Context, running: DaemonStatus) -> None:
    context.client.stop_daemon()
    deadline = time.monotonic() + STOP_SECONDS
    while not _gone(running.pid):
        if time.monotonic() > deadline:
            log = log_path(context.environment)
            raise Failed(context.texts("daemon_still", pid=running.pid, log=log))
        time.sleep(_POLL_SECONDS)


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):  # the latter: the number is somebody else's by now
        return True
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except OSError:  # no such folder on macOS
        return False
    return after_name.split()[0] in "ZX"  # ended; its parent hasn't looked yet
