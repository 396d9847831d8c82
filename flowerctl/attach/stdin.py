"""Standard input, read line by line where there is no screen to type on."""

import asyncio
import os
import select
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_LONGEST_LINE: Final = 1024 * 1024  # more than a person says; the rest of it is left unread


class StandardInput:
    """Reads the descriptor itself: Python's own reader would take more than a line, and hold a lock at exit."""

    def __init__(self, descriptor: int = 0, *, closed: bool = False) -> None:
        self._descriptor = descriptor
        self._pending = b""
        self.ended = closed  # the number may belong to another file by now

    def line(self, timeout: float | None) -> str | None:
        """The next line, without its end; None when there is none within ``timeout`` seconds, or none any more."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while b"\n" not in self._pending and not self.ended and len(self._pending) < _LONGEST_LINE:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not self._readable(left):
                return None
            self._read(1)  # what follows the line is somebody else's: a loop in a script may read on there
        return self._taken()

    def lines_to(self, take: Callable[[str], None], ended: Callable[[], None]) -> Callable[[], None]:
        """Hands each line over as it comes, until what is returned is called. Needs a running loop."""
        loop = asyncio.get_running_loop()

        def ready() -> None:
            self._read()
            while b"\n" in self._pending or (self.ended and self._pending):
                take(self._taken() or "")
            if self.ended:
                stop()
                ended()

        def stop() -> None:
            with suppress(OSError, ValueError):
                loop.remove_reader(self._descriptor)

        # A file or /dev/null can't be watched; it was at its end when the request was looked for.
        with suppress(OSError):
            loop.add_reader(self._descriptor, ready)
        return stop

    def _readable(self, timeout: float | None) -> bool:
        try:
            ready, _, _ = select.select([self._descriptor], [], [], timeout)
        except (OSError, ValueError):  # closed
            self.ended = True
            return True
        return bool(ready)

    def _read(self, most: int = 65536) -> None:
        try:
            data = b"" if self.ended else os.read(self._descriptor, most)
        except OSError:
            data = b""
        self.ended = self.ended or not data
        self._pending += data

    def _taken(self) -> str | None:
        if not self._pending:
            return None
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode("utf-8", "replace").rstrip("\r")
