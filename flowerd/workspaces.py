"""All workspaces of the daemon, each under one identity."""

import asyncio
import logging
from functools import partial

import msgspec

from flower_protocol.workspaces import Place
from flowerd.identity import canonical, known_as
from flowerd.shared import Shared
from flowerd.states import Move, after
from flowerd.workspace import Workspace

logger = logging.getLogger(__name__)


class Workspaces:
    """The actors: one for each place that the registry knows, and one for as long as somebody is at a new place."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._workspaces: dict[Place, Workspace] = {}

    def take_over(self) -> None:
        """Make an actor for each record. Runs that were in flight under an earlier daemon died with it.

        They wait for a person: nothing is sent to a model here.
        """
        for record in self._shared.registry.records():
            if record.state.active:
                logger.info("%s was %s when the last flowerd ended", record.workspace, record.state)
                record = msgspec.structs.replace(record, state=after(record.state, Move.CUT_OFF), until=None)
                self._shared.registry.put(record)
            self._workspaces[record.place] = Workspace(record.place, record, self._shared)

    def all(self) -> list[Workspace]:
        return list(self._workspaces.values())

    def known(self) -> list[Workspace]:
        """Those that something has run in, in the order in which they became known."""
        records = self._shared.registry.records()
        return [self._workspaces[each.place] for each in records if each.place in self._workspaces]

    async def at(self, place: Place) -> Workspace:
        """The workspace at ``place``, whatever name it is given by. Raises `Refused` for what is no path."""
        pool, known = self._shared.outside, list(self._workspaces)
        find = partial(_find, place, known)
        found = await asyncio.get_running_loop().run_in_executor(pool, find)
        workspace = self._workspaces.get(found)
        if workspace is None:
            await self._let_go()
            workspace = self._workspaces.setdefault(found, Workspace(found, None, self._shared))
        return workspace

    async def forget(self, place: Place) -> None:
        """Know nothing of ``place`` any more. Raises `Refused` while a run is in flight there."""
        workspace = await self.at(place)
        await workspace.forget()
        await self._let_go()

    async def _let_go(self) -> None:
        """Drop the actors of places where nothing ever ran and nobody is."""
        registry = self._shared.registry
        unused = [
            workspace
            for place, workspace in self._workspaces.items()
            if registry.get(place) is None and not workspace.busy and not workspace.watched
        ]
        for workspace in unused:
            del self._workspaces[workspace.place]
        for workspace in unused:
            await workspace.close()


def _find(place: Place, known: list[Place]) -> Place:
    return known_as(canonical(place), known)
