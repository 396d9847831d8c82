"""A person's words in one workspace: on disk before they are accepted, counted once, lost to no crash.

What reached nobody (the run ended first, the daemon died in between) waits for the next run, which is told.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from flowerd.journal import Journal, NotSaved
from flowerd.refusal import Refused
from flowerd.remarks import said

logger = logging.getLogger(__name__)

# A disk that takes longer holds up nobody: the words are safe, and nothing is claimed of the brief.
BRIEF_SECONDS: Final = 3.0

# Gives words to the run; see `flowerd.active_run.ActiveRun.deliver`.
Deliver = Callable[[], Awaitable[bool | None] | None]


class Mailbox:
    """The words said so far, of this life and of those that the journal still has."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._ids: set[str] | None = None
        self._unheard: tuple[str, ...] = ()
        self._accepting: dict[str, asyncio.Task[None]] = {}
        self._under_way: dict[str, str] = {}
        self._in_brief: dict[str, bool | None] = {}

    async def has(self, identity: str) -> bool:
        """Whether the words of this identity are on disk. Waits for those that are on their way there."""
        accepting = self._accepting.get(identity)
        if accepting is not None:
            await asyncio.wait({accepting})
        return identity in await self._known()

    def in_brief(self, identity: str) -> bool | None:
        """Whether the brief has the words of this identity; None when that isn't known."""
        return self._in_brief.get(identity)

    async def accept(self, text: str, identity: str, who: str, deliver: Deliver) -> None:
        """Have the words on disk, ``deliver`` them, and have them in the brief, even if the caller is cancelled.

        Raises `Refused` when the disk refuses: then they don't count.
        """
        writing = asyncio.create_task(self._write(text, identity, who, deliver), name="accept a remark")
        self._accepting[identity] = writing
        writing.add_done_callback(lambda _: self._accepting.pop(identity, None))
        await asyncio.shield(writing)

    async def unheard(self) -> tuple[str, ...]:
        """The words that no run has heard yet."""
        await self._known()
        return self._unheard

    def hand_over(self) -> None:
        """A run was started that is told all that was unheard."""
        self._unheard = ()

    def left_over(self, unheard: Iterable[str]) -> list[str]:
        """A run has ended, and did not hear this, nor what is just being written; returns all of it."""
        self._unheard = (*unheard, *self._under_way.values())
        return list(self._unheard)

    async def _write(self, text: str, identity: str, who: str, deliver: Deliver) -> None:
        ids = await self._known()
        seq = self._journal.append("remark", text, payload={"id": identity, "who": who})
        self._under_way[identity] = text
        try:
            await self._journal.durable(seq)
            ids.add(identity)
            adding = deliver()
        except NotSaved as error:
            raise Refused("not-writable", path=str(error.path), detail=error.detail) from error
        finally:
            del self._under_way[identity]
        if adding is not None:
            self._in_brief[identity] = await self._added(adding)

    async def _added(self, adding: Awaitable[bool | None]) -> bool | None:
        try:
            return await asyncio.wait_for(asyncio.shield(adding), BRIEF_SECONDS)
        except TimeoutError:
            logger.warning("the brief takes no words so far in %s", self._journal.folder)
            return None

    async def _known(self) -> set[str]:
        if self._ids is None:
            try:
                found = await self._journal.fold(said)
            except OSError as error:
                logger.warning("what was said before can't be read in %s: %s", self._journal.folder, error)
                return set()
            if self._ids is None:  # two may have come for it at once
                self._ids, self._unheard = set(found.ids), found.unheard
        return self._ids
