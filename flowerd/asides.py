"""The side questions that are under way beside one run, each with what happened in the run lately."""

import asyncio
import logging
from typing import Final

from flowerd.journal import Journal
from flowerd.oracle import SideQuestion
from flowerd.refusal import Refused
from flowerd.run import Run
from flowerd.scene import LOOKED_AT, scene_of
from flowerd.snapshot import Position
from flowerd.wire import Draft

logger = logging.getLogger(__name__)

MOST_ASIDES: Final = 3


class Asides:
    """Those of the run that began after event ``began``; no more than `MOST_ASIDES` at once."""

    def __init__(self, run: Run, journal: Journal, began: int) -> None:
        self._run = run
        self._journal = journal
        self._began = Position(journal.generation, began)
        self._under_way: set[str] = set()
        self._over = False

    async def ask(self, text: str, identity: str, who: str) -> bool:
        """Have it looked into; asked again under ``identity`` meanwhile, it counts once.

        False when the run has ended first. Raises `Refused` when there are too many.
        """
        if identity in self._under_way:
            return True
        if len(self._under_way) >= MOST_ASIDES:
            raise Refused("too-many-asides", most=str(MOST_ASIDES))
        self._under_way.add(identity)
        scene = await self._scene()
        if not self._over:
            self._run.aside(SideQuestion(identity, text, who, scene))
        return not self._over

    def take(self, draft: Draft) -> None:
        """An event of the run, which may tell what came of a question."""
        if draft.kind == "aside":
            self._under_way.discard(str(draft.payload.get("id")))

    def end(self) -> None:
        """The run has ended, and all its questions with it."""
        self._over = True

    async def _scene(self) -> str:
        try:
            fresh = await self._journal.snapshot(since=self._began, seen=None, tail=LOOKED_AT)
        except OSError as error:
            logger.warning("what happened can't be read in %s: %s", self._journal.folder, error)
            return ""
        return await asyncio.to_thread(scene_of, fresh.lines)
