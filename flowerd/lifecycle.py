"""The process around the daemon: what ends it, and how it goes.

SIGTERM, SIGHUP and SIGINT end it in order, within five seconds; it then goes by the signal's default action, which
every service manager takes for what it is. A second signal ends it at once, after the rows of the steps in flight
are written.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
from typing import Final, NoReturn

from flowerd.daemon import Daemon
from flowerd.service_manager import Notifier
from flowerd.settings import Settings

logger = logging.getLogger(__name__)

ENDING: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
KILLED: Final = "killed-by-signal"
STOPPED: Final = "daemon-stopped"


async def live(settings: Settings, notifier: Notifier, inherited: socket.socket | None) -> NoReturn:
    """Start, serve, end; the process is gone afterwards. Raises `AlreadyServed` or `SocketRefused` at the start."""
    daemon = Daemon(settings)
    await daemon.start(inherited)
    signals = Signals(daemon)
    notifier.ready("serving")
    await daemon.wait_until_asked()
    notifier.stopping()
    await daemon.close(KILLED if signals.first is not None else STOPPED)
    leave(signals.first)


class Signals:
    """Takes the signals that end a process, from when it is made on."""

    def __init__(self, daemon: Daemon) -> None:
        self.first: signal.Signals | None = None
        self._daemon = daemon
        loop = asyncio.get_running_loop()
        for number in ENDING:
            # Ignored from the start (nohup) means that somebody wants it so.
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._take, number)

    def _take(self, number: signal.Signals) -> None:
        if self.first is None:
            self.first = number
            self._daemon.ask_to_stop(f"on {number.name}")
            return
        logger.warning("%s again: ending at once", number.name)
        self._daemon.rescue_now(KILLED)
        leave(number)


def leave(number: signal.Signals | None) -> NoReturn:
    """End this process now: by the signal, or with exit code 0.

    Not by returning: the interpreter would wait for every thread, and one may hang in a dead file system.
    """
    logging.shutdown()
    sys.stdout.flush()
    if number is not None:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(0)
