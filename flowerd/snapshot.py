"""What a client gets that has no place in the journal: the latest events, out of all generations that are kept.

Pure but for reading files; it blocks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from flowerd.segments import Segments, cost, newest
from flowerd.wire import LONGEST_LINE, renumbered

SNAPSHOT_BYTES: Final = LONGEST_LINE + 1  # the longest event there can be fits, and the whole fits a frame
_NO_LIMIT: Final = 2**62


@dataclass(frozen=True, slots=True)
class Position:
    """The last event that somebody has seen, of a generation."""

    generation: str
    seq: int


@dataclass(frozen=True, slots=True)
class Shelf:
    """The events of one generation: those in files, and after them those in memory, up to number ``last``."""

    generation: str
    last: int
    files: Segments | None
    memory: Sequence[bytes] = ()

    def latest(self, count: int, limit: int, *, after: int) -> list[bytes]:
        """As `Segments.latest`, of files and memory together."""
        in_memory = self.memory[max(0, after + 1 - self._memory_first) :]
        found = newest(in_memory, count, limit)
        if len(found) < len(in_memory) or self.files is None:
            return found
        count, limit = count - len(found), limit - cost(found)
        return self.files.latest(count, limit, after=after, before=self._memory_first) + found

    def lines(self) -> Iterator[bytes]:
        """All lines, oldest first. Raises `OSError`."""
        if self.files is not None:
            yield from self.files.lines(before=self._memory_first)
        yield from self.memory

    @property
    def _memory_first(self) -> int:
        return self.last + 1 - len(self.memory)


@dataclass(frozen=True, slots=True)
class Fresh:
    """The makings of a `Snapshot`: the events, and how many unseen ones lie before them."""

    last_seq: int
    lines: list[bytes]
    omitted: int


def gather(shelves: Sequence[Shelf], *, since: Position | None, seen: Position | None, tail: int) -> Fresh:
    """A fresh start from ``shelves``, oldest generation first, the present one last.

    ``since`` is where the client stands: it gets what came after, at most ``tail`` events if it stood in the
    present generation, as far as `SNAPSHOT_BYTES` go if in an earlier one. A client that stands nowhere gets the
    latest ``tail``, and learns how many before those lie after ``seen``, which is where any client last stood.
    """
    index, after = _found(shelves, since) or (0, 0)
    standing = _found(shelves, since) is not None
    count = _NO_LIMIT if standing and index < len(shelves) - 1 else tail
    lines = _collected(shelves[index:], after, count)
    start, cursor = (index, after) if standing else _found(shelves, seen) or (0, 0)
    unseen = sum(shelf.last for shelf in shelves[start:]) - cursor
    return Fresh(shelves[-1].last, lines, max(0, unseen - len(lines)))


def standing(shelves: Sequence[Shelf], seen: Position | None) -> tuple[Position, int]:
    """Where a client should name itself to get all that nobody has seen, and the last number of that generation.

    That is the oldest generation with something unseen; the present one's end if there is nothing.
    """
    index, cursor = _found(shelves, seen) or (0, 0)
    for shelf in shelves[index:]:
        if shelf.last > cursor:
            return Position(shelf.generation, cursor), shelf.last
        cursor = 0
    newest = next((shelf for shelf in reversed(shelves) if shelf.last), shelves[-1])
    return Position(newest.generation, newest.last), newest.last


def _found(shelves: Sequence[Shelf], position: Position | None) -> tuple[int, int] | None:
    for index, shelf in enumerate(shelves):
        if position is None or shelf.generation != position.generation:
            continue
        if position.seq > shelf.last and shelf is shelves[-1]:
            return None  # it never was there
        # In an earlier life it may have been: shown by a client, and lost with the machine.
        return index, min(max(0, position.seq), shelf.last)
    return None


def _collected(shelves: Sequence[Shelf], after: int, count: int) -> list[bytes]:
    """The newest lines of all ``shelves``, without a hole, numbered backwards from 0 before the newest shelf's."""
    lines: list[bytes] = []
    limit, number = SNAPSHOT_BYTES, 0
    for depth, shelf in enumerate(reversed(shelves)):
        bound = after if depth == len(shelves) - 1 else 0
        part = shelf.latest(count - len(lines), limit, after=bound)
        complete = len(part) == shelf.last - bound
        limit -= cost(part)
        if depth:
            number -= len(part)
            part = [renumbered(line, seq) for seq, line in enumerate(part, start=number + 1)]
        lines = part + lines
        if not complete:
            break
    return lines
