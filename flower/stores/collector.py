"""Millions of new objects that all stay: the garbage collector would look through them again and again in vain."""

import contextlib
import gc
import threading
from collections.abc import Iterator

_lock = threading.Lock()
_holders = 0
_was_enabled = False


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """No collection while anybody is inside, in the whole process; for work of seconds that makes no garbage."""
    global _holders, _was_enabled
    with _lock:
        _holders += 1
        if _holders == 1:
            _was_enabled = gc.isenabled()
            gc.disable()
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0 and _was_enabled:
                gc.enable()
