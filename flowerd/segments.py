"""The events of one generation on disk: numbered lines in files of bounded size, of which the oldest go first.

One file a segment, named by the number of its first event; one line an event, in order, JSON. A segment is read
whole (it is about a megabyte), so no index is kept that could disagree with the files. What a crash left behind
at the end (half a line, zeros) is not counted.

Everything here blocks and is called from worker threads: `append` by one at a time, the readers by any number
meanwhile. They work on an immutable tuple of segments, which `append` replaces.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flower.core.durable import private_folder

SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class Segment:
    """One file: it holds the events ``first`` to ``last`` in its first ``size`` bytes."""

    path: Path
    first: int
    last: int
    size: int


class Segments:
    """The files of one generation. ``last`` is the number of the last event there is, 0 when there is none."""

    def __init__(self, folder: Path, *, segment_bytes: int, retained_bytes: int) -> None:
        self.folder = folder
        self._segment_bytes = segment_bytes
        self._retained_bytes = retained_bytes
        self._segments: tuple[Segment, ...] = ()
        self._descriptor: int | None = None
        self._unsynced: set[Path] = set()

    @classmethod
    def load(cls, folder: Path) -> "Segments":
        """What an earlier life left in ``folder``, for reading. Raises `OSError`."""
        segments = cls(folder, segment_bytes=0, retained_bytes=0)
        segments._segments = tuple(_scanned(folder))
        return segments

    @property
    def first(self) -> int:
        """The number of the first event that is still there; ``last + 1`` when there is none."""
        return self._segments[0].first if self._segments else 1

    @property
    def last(self) -> int:
        return self._segments[-1].last if self._segments else 0

    def append(self, first: int, lines: Sequence[bytes], *, sync: bool) -> None:
        """Write ``lines``, the events from number ``first`` on; with ``sync`` they survive the machine's end.

        Raises `OSError`; then nothing of them is counted, and the same call may be made again.
        """
        if lines:
            self._make_room(first)
            self._write(lines)
            self._let_go()
        if sync:
            self._sync()

    def read(self, after: int, limit: int) -> list[bytes] | None:
        """The lines that follow event ``after``: at least one if there is one, at most about ``limit`` bytes.

        None when they are no longer there. Raises `OSError`.
        """
        segment = next((each for each in self._segments if each.last > after), None)
        if segment is None:
            return []
        if segment.first > after + 1:
            return None
        try:
            lines = _lines(segment)
        except FileNotFoundError:
            return None
        return _bounded(lines[after + 1 - segment.first :], limit)

    def latest(self, count: int, limit: int, *, after: int, before: int) -> list[bytes]:
        """The last lines of those between two events (both excluded), oldest first.

        At most ``count``, and at most ``limit`` bytes with one byte between each two. Raises `OSError`.
        """
        found: list[bytes] = []
        for segment in reversed(self._segments):
            if segment.last <= after:
                break
            between = _lines_between(segment, after, before)
            part = newest(between, count - len(found), limit)
            found = part + found
            limit -= cost(part)
            if len(part) < len(between):
                break
        return found

    def lines(self, *, before: int) -> Iterator[bytes]:
        """All lines up to event ``before``, that one excluded, oldest first. Raises `OSError`."""
        for segment in self._segments:
            yield from _lines_between(segment, 0, before)

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _make_room(self, first: int) -> None:
        """Have a segment open in which event ``first`` comes next."""
        current = self._segments[-1] if self._segments else None
        if (
            current is not None
            and self._descriptor is not None
            and current.last + 1 == first
            and current.size < self._segment_bytes
        ):
            return
        self.close()
        path = private_folder(self.folder) / f"{first:012d}{SUFFIX}"
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._unsynced |= {path, self.folder, self.folder.parent}  # a new name is on disk when its folder is
        kept = tuple(each for each in self._segments if each.path != path)
        self._segments = (*kept, Segment(path, first, first - 1, 0))

    def _write(self, lines: Sequence[bytes]) -> None:
        current, descriptor = self._segments[-1], self._descriptor
        assert descriptor is not None, "_make_room opened it"
        data = memoryview(b"".join(lines))
        try:
            offset = current.size
            while data:
                written = os.pwrite(descriptor, data, offset)
                data, offset = data[written:], offset + written
        except OSError:
            # Half a line must not stay: what is written next begins where this began.
            os.ftruncate(descriptor, current.size)
            raise
        self._unsynced.add(current.path)
        grown = replace(current, last=current.last + len(lines), size=offset)
        self._segments = (*self._segments[:-1], grown)

    def _sync(self) -> None:
        for path in sorted(self._unsynced):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        self._unsynced.clear()

    def _let_go(self) -> None:
        total = sum(each.size for each in self._segments)
        while total > self._retained_bytes and len(self._segments) > 1:
            oldest, *rest = self._segments
            self._segments = tuple(rest)
            oldest.path.unlink(missing_ok=True)
            self._unsynced.discard(oldest.path)
            total -= oldest.size


def newest(lines: Sequence[bytes], count: int, limit: int) -> list[bytes]:
    """The end of ``lines``: at most ``count`` of them, and at most ``limit`` bytes by `cost`."""
    start, left = len(lines), limit
    while start > 0 and len(lines) - start < count:
        left -= len(lines[start - 1]) + 1
        if left < 0:
            break
        start -= 1
    return list(lines[start:])


def cost(lines: Sequence[bytes]) -> int:
    """The bytes that ``lines`` take in a frame."""
    return sum(map(len, lines)) + len(lines)


def _scanned(folder: Path) -> Iterable[Segment]:
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        count, size = _sound(path.read_bytes()) if path.stem.isdigit() else (0, 0)
        if count:
            first = int(path.stem)
            yield Segment(path, first, first + count - 1, size)


def _sound(data: bytes) -> tuple[int, int]:
    """How many whole lines ``data`` begins with, and their bytes."""
    count = size = 0
    for line in data.split(b"\n")[:-1]:
        if not (line.startswith(b"{") and line.endswith(b"}")):
            break
        count += 1
        size += len(line) + 1
    return count, size


def _lines(segment: Segment) -> list[bytes]:
    with segment.path.open("rb") as file:
        return file.read(segment.size).splitlines(keepends=True)


def _lines_between(segment: Segment, after: int, before: int) -> list[bytes]:
    try:
        lines = _lines(segment)
    except FileNotFoundError:
        return []
    return lines[max(0, after + 1 - segment.first) : max(0, before - segment.first)]


def _bounded(lines: list[bytes], limit: int) -> list[bytes]:
    """The beginning of ``lines``, up to ``limit`` bytes, at least one."""
    size = 0
    for index, line in enumerate(lines):
        size += len(line)
        if size > limit and index:
            return lines[:index]
    return lines
