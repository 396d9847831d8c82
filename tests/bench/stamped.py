"""A terminal that remembers when each piece of output came."""

import time
from typing import Any

from tests.support.terminal import Terminal

READY = "(ready)"
# The clock begins here: the terminal's own helper has made way, and the shell becomes the command.
_ANNOUNCE = ["/bin/sh", "-c", f'echo "{READY}"; exec "$@"', "sh"]


class StampedTerminal(Terminal):
    """A `Terminal` that says ``READY`` right before its command begins. Times are epoch seconds."""

    def __init__(self, command: list[Any], **options: Any) -> None:
        self._stamps: list[tuple[int, float]] = []
        self._taken = 0
        super().__init__([*_ANNOUNCE, *command], **options)

    def shown_at(self, text: str) -> float | None:
        """When ``text`` was complete for the first time; None while it isn't."""
        raw = self.raw
        found = raw.find(text)
        if found < 0:
            return None
        return next(at for length, at in self._stamps if length >= found + len(text))

    def wait_for_time(self, text: str, timeout: float) -> float:
        """`shown_at`, as soon as it is there."""
        self._wait(lambda: text in self._raw, timeout, f"{text!r} in the output")
        at = self.shown_at(text)
        assert at is not None, "it was waited for"
        return at

    def _take(self, text: str) -> None:
        # Before the screen is brought up to date, which takes a moment of its own.
        self._taken += len(text)
        self._stamps.append((self._taken, time.time()))
        super()._take(text)
