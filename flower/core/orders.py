"""What a person orders while a step runs: break off and go on, hold, stop, a remark.

An order never acts on the turn's reader: it is noted here, the turn is asked to end, and what comes next is decided
when it has ended. All of it on the event loop's thread.
"""

import asyncio


class Orders:
    """The orders of one step that are not carried out yet."""

    def __init__(self) -> None:
        self.ending: str | None = None
        """Why the step is to end, once it is."""
        self.given = asyncio.Event()
        """Set from an order until it is `taken`."""
        self._held = False
        self._words: str | None = None
        self._remarks: list[str] = []

    def go_on(self, message: str, only_held: bool = False) -> bool:
        """Break off and go on with the words; False when only a held step was meant, and this one isn't."""
        if only_held and not self._held:
            return False
        self._held = False
        self._words = "\n".join(part for part in (self._words, message) if part)
        self.given.set()
        return True

    def hold(self) -> None:
        """Break off and wait for `go_on` or `stop`."""
        self._held = True
        self._words = self._words or ""
        self.given.set()

    def stop(self, reason: str) -> None:
        """Break off and land; the first reason stands."""
        self.ending = self.ending or reason
        self.given.set()

    def remark(self, *texts: str) -> None:
        """Words for the next prompt."""
        self._remarks += texts

    def take_remarks(self) -> list[str]:
        remarks, self._remarks = self._remarks, []
        return remarks

    async def taken(self) -> str | None:
        """The words to go on with if the turn was broken off, None if it ended by itself. Waits while held."""
        while self._held and self.ending is None:
            # No limit: a person is thinking. Whoever leaves a hold behind sends `go_on` (the daemon does).
            self.given.clear()
            await self.given.wait()
        self.given.clear()
        words, self._words = self._words, None
        return words
