"""Who holds a run: those who interrupted it. It goes on after the first words, or when all of them have let go."""

from flowerd.journal import Journal
from flowerd.run import Run


class Hold:
    """The hold on one run, which nobody has at first."""

    def __init__(self, run: Run, journal: Journal) -> None:
        self._run = run
        self._journal = journal
        self._holders: set[object] = set()

    @property
    def held(self) -> bool:
        return bool(self._holders)

    def take(self, who: str, holder: object) -> None:
        """``holder`` holds the run; the first one, called ``who``, breaks off what runs."""
        if not self._holders:
            self._journal.append("interrupted", payload={"who": who})
            self._run.pause()
        self._holders.add(holder)

    def leave(self, holder: object) -> None:
        """``holder``, if it was one, does so no longer; the last one to leave lets the run go on without words."""
        if holder in self._holders:
            self._holders.discard(holder)
            if not self._holders:
                self.end()

    def end(self) -> None:
        """Nobody holds the run any more; it goes on."""
        self._holders.clear()
        self._journal.append("resumed")
        self._run.resume()
