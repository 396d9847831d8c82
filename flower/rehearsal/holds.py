"""Replies that wait until somebody lets them go."""

import threading
import time
from collections.abc import Callable

# A test that forgot its release must end, and say so by its own failure.
_LIMIT_SECONDS = 120.0
# How soon a waiting reply notices that its client has left.
_LOOK_SECONDS = 0.2


class Holds:
    """Named gates, shut from the start. Safe to use from several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._released: set[str] = set()

    def wait(self, name: str, alive: Callable[[], bool]) -> None:
        """Returns when `name` is released, when `alive()` is no longer true, or after 120 s."""
        deadline = time.monotonic() + _LIMIT_SECONDS
        with self._changed:
            while name not in self._released and alive() and time.monotonic() < deadline:
                self._changed.wait(_LOOK_SECONDS)

    def release(self, name: str) -> None:
        """Lets go whoever waits at `name`, and whoever comes later."""
        with self._changed:
            self._released.add(name)
            self._changed.notify_all()

    def hold(self, name: str) -> None:
        """Shuts `name` again for those who come from now on."""
        with self._changed:
            self._released.discard(name)
