"""How far a client has read: where its next connection begins, and what the daemon is told of it."""

from flower_protocol.control import Seen


class Bookmark:
    """At event ``cursor`` of the daemon's life ``generation``; without a cursor the daemon begins where it likes."""

    def __init__(self, generation: str | None, cursor: int | None) -> None:
        self.cursor = cursor
        self._generation = generation
        self._reported = cursor or 0

    @property
    def generation(self) -> str | None:
        """Which life the cursor is of; None without one."""
        return self._generation if self.cursor is not None else None

    def shown_of(self, generation: str) -> int | None:
        """The last event of that life that was shown; None if none was."""
        return self.cursor if generation == self._generation else None

    def begin(self, generation: str) -> None:
        """A life goes on, or another one begins, and with it the counting."""
        if generation != self._generation:
            self._generation, self.cursor, self._reported = generation, 0, 0

    def move(self, seq: int) -> None:
        """All up to ``seq`` is shown; in an earlier life, with numbers below 1, that is the beginning of this one."""
        self.cursor = max(self.cursor or 0, seq)

    def unreported(self) -> Seen | None:
        """What the daemon is to be told now; it counts as told."""
        if self.cursor is None or self.cursor <= self._reported:
            return None
        self._reported = self.cursor
        return Seen(seq=self.cursor)
