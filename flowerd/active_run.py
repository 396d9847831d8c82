"""The run in flight of a workspace, and what lasts as long as it: the hold on it, its side questions, its stop."""

import asyncio
import logging
from collections.abc import Awaitable
from typing import Final

from flower_protocol.workspaces import Place
from flowerd.asides import Asides
from flowerd.hold import Hold
from flowerd.journal import Journal
from flowerd.run import Run

logger = logging.getLogger(__name__)

STOP_SECONDS: Final = 15.0
STOP_AGAIN_SECONDS: Final = 1.0  # between two steps there is nothing to stop yet


class ActiveRun:
    """``run``, which begins after the newest event of ``journal``."""

    def __init__(self, place: Place, run: Run, journal: Journal) -> None:
        self.run = run
        self.began = journal.last_seq
        self.hold = Hold(run, journal)
        self.asides = Asides(run, journal, self.began)
        self._place = place
        self._over = False
        self._stopping: asyncio.Task[None] | None = None

    def deliver(self, text: str) -> Awaitable[bool | None] | None:
        """Words of a person, which end a hold. What comes back is that of `Run.say`; None once the run has ended."""
        if self._over:
            return None  # it ended while the words were written; the mailbox keeps them for the next
        # The words first: held, they are in the very prompt that goes on.
        adding = self.run.say(text)
        if self.hold.held:
            self.hold.end()
        return adding

    async def stop(self, driving: "asyncio.Task[None]", *, wait_seconds: float) -> None:
        """Stop it, by force after `STOP_SECONDS`; returns when ``driving`` is over, or after ``wait_seconds``."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop(driving), name=f"stop {self._place.workspace}")
        await asyncio.wait({self._stopping}, timeout=wait_seconds)

    def end(self) -> None:
        """The run has ended."""
        self._over = True
        self.asides.end()

    async def close(self) -> None:
        """`end`, and nothing tries to stop it any more."""
        self.end()
        if self._stopping is not None:
            self._stopping.cancel()
            await asyncio.gather(self._stopping, return_exceptions=True)

    async def _stop(self, driving: "asyncio.Task[None]") -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + STOP_SECONDS
        while not driving.done() and loop.time() < deadline:
            self.run.stop()
            await asyncio.wait({driving}, timeout=STOP_AGAIN_SECONDS)
        if not driving.done():
            logger.warning("the run in %s does not stop; ending its children", self._place.workspace)
            self.run.terminate("stopped-by-human")
