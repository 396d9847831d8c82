"""A run whose credentials were refused: parked, and started again when there are others.

What is needed for that, its request with the environment, is in memory alone: the next daemon leaves it to a person.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from flower_protocol.runs import StartRun
from flowerd.logins import Access, Logins

# Starts a run again; False when that could not be done.
Again = Callable[[StartRun], Awaitable[bool]]


@dataclass(eq=False, slots=True)
class _Run:
    request: StartRun
    access: Access
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Parking:
    """The place of one workspace's run; at most one is in it. ``again`` is called when it should go on."""

    def __init__(self, logins: Logins, again: Again) -> None:
        self._logins = logins
        self._again = again
        self._run: _Run | None = None
        self._stay: asyncio.Task[None] | None = None

    @property
    def occupied(self) -> bool:
        """Whether a run is parked, or about to be."""
        return self._stay is not None and not self._stay.done()

    def begin(self, request: StartRun, access: Access) -> None:
        """A run begins, let in by ``access``; whatever was parked has gone on with it."""
        self.leave()
        self._run = _Run(request, access)

    def refuse(self) -> None:
        """The credentials of the run have just been refused."""
        if self._run is not None and not self.occupied:
            self._stay = asyncio.create_task(self._wait(self._run), name="parked until a new login")

    def end(self, *, refused: bool) -> bool:
        """The run has ended, of that refusal or otherwise; True when it stays parked from now on."""
        if refused:
            self.refuse()
        run, self._run = self._run, None
        if run is None or not refused:
            self.leave()
            return False
        run.ended.set()
        return True

    def leave(self) -> None:
        """Nothing is parked any more."""
        self._run = None
        if self._stay is not None:
            self._stay.cancel()

    async def close(self) -> None:
        """`leave`, and wait for that."""
        self.leave()
        if self._stay is not None:
            await asyncio.gather(self._stay, return_exceptions=True)

    async def _wait(self, run: _Run) -> None:
        environment = run.request.environment
        # Its keys are those it was started with, whatever has become of them since; the login is looked up anew.
        used = run.access.with_login(await self._logins.look(environment))
        await run.ended.wait()
        again = msgspec.structs.replace(
            run.request, ask=None, options=msgspec.structs.replace(run.request.options, new=False)
        )
        while True:
            used = await self._logins.changed(environment, used)
            if await self._again(again):
                return
