"""The newest events of a generation in memory: those that are not on disk yet, and the last ones before them."""

from collections import deque
from itertools import islice


class Tail:
    """Numbered lines; a bounded number of bytes once they are on disk.

    ``written`` is the number of the last event on disk, or given up for it; what comes after it is never dropped
    by `trim`.
    """

    def __init__(self, kept_bytes: int) -> None:
        self.last = 0
        self.written = 0
        self.unwritten_bytes = 0
        self._kept_bytes = kept_bytes
        self._lines: deque[bytes] = deque()
        self._size = 0

    @property
    def first(self) -> int:
        """The number of the oldest event in memory; ``last + 1`` when there is none."""
        return self.last + 1 - len(self._lines)

    def append(self, line: bytes) -> int:
        """Take the next event; returns its number."""
        self._lines.append(line)
        self._size += len(line)
        self.unwritten_bytes += len(line)
        self.last += 1
        self._trim()
        return self.last

    def after(self, number: int, limit: int) -> list[bytes] | None:
        """The lines that follow event ``number``, at most about ``limit`` bytes but at least one; None if dropped."""
        if number + 1 < self.first:
            return None
        size = 0
        found: list[bytes] = []
        for line in islice(self._lines, number + 1 - self.first, None):
            size += len(line)
            if found and size > limit:
                break
            found.append(line)
        return found

    def lines(self) -> list[bytes]:
        """All lines in memory, up to event ``last``."""
        return list(self._lines)

    def wrote(self, number: int) -> None:
        """Everything up to event ``number`` is on disk, or given up."""
        done = islice(self._lines, max(0, self.written + 1 - self.first), max(0, number + 1 - self.first))
        self.unwritten_bytes -= sum(len(line) for line in done)
        self.written = max(self.written, number)
        self._trim()

    def give_up(self, limit: int) -> int:
        """Keep the newest ``limit`` unwritten bytes, count the rest as written; returns how many events that was."""
        number, excess = self.written, self.unwritten_bytes - limit
        for line in islice(self._lines, max(0, self.written + 1 - self.first), None):
            if excess <= 0 or number + 1 >= self.last:
                break
            excess -= len(line)
            number += 1
        lost = number - self.written
        self.wrote(number)
        return lost

    def _trim(self) -> None:
        while self._size > self._kept_bytes and self._lines and self.first <= self.written:
            self._size -= len(self._lines.popleft())
