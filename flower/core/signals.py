"""SIGTERM and SIGHUP in a script of one's own: write what is in flight, then really go."""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator

_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextlib.contextmanager
def rescued(wanted: bool, rescue: Callable[[], None]) -> Iterator[None]:
    """While inside, a signal that ends the process calls ``rescue`` first.

    Only in the main thread, and only for signals that nobody has taken: a program that handles them itself goes
    on doing so. The handler runs as a callback of the event loop, not in the middle of whatever the thread
    does, which may be the very write that ``rescue`` wants to make.
    """
    taken: list[signal.Signals] = []
    if wanted and threading.current_thread() is threading.main_thread():
        loop = asyncio.get_running_loop()
        for number in _ENDING:
            if signal.getsignal(number) is signal.SIG_DFL:
                with contextlib.suppress(NotImplementedError):  # the event loop of Windows has none
                    loop.add_signal_handler(number, _end, number, rescue)
                    taken.append(number)
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)


def _end(number: signal.Signals, rescue: Callable[[], None]) -> None:
    rescue()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
