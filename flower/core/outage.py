"""Sees that the network is gone while a turn waits for the model, and says so within seconds.

The CLI tries again by itself for three minutes and mentions it in passing, and a connection that went dead says
nothing at all. So a turn that hears nothing is looked after: when the CLI complains, or after some silence, the
endpoint is probed. A short outage is left to the CLI, which loses nothing by it. A longer one ends the turn, unless
something still works here without the network, a build in a subagent's shell say: that must not be lost to it.
"""

import asyncio
import time
from collections.abc import Callable, Mapping

from flower.core.resilience import Probe, Resilience
from flower.core.waits import Waits

# The CLI's own pauses are longer from its fifth try on, and would outlast the outage by as much.
GRACE_SECONDS = 20.0
# Of subagents' tries the CLI says nothing, and a person is to be told within five seconds.
SILENCE_SECONDS = 4.0


class OutageWatch:
    """Watches over one turn.

    ``busy`` tells whether something works here that may need no network; what a long outage would cost is left
    alone then. ``agents`` tells whether subagents are among it, which do need it.
    """

    def __init__(
        self,
        resilience: Resilience,
        environment: Mapping[str, str],
        waits: Waits,
        probe: Probe | None,
        busy: Callable[[], bool],
        agents: Callable[[], bool] = lambda: False,
        *,
        grace: float = GRACE_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.gave_up = False
        self._resilience = resilience
        self._environment = environment
        self._waits = waits
        self._probe = probe
        self._busy = busy
        self._agents = agents
        self._grace = grace
        self._now = now
        self._heard_at = now()
        self._gone_since: float | None = None
        self._complaint = asyncio.Event()

    def heard(self, from_model: bool) -> None:
        """A message came; one from the model proves that the network is there."""
        self._heard_at = self._now()
        if from_model:
            self._gone_since = None
            self._waits.over()

    def complained(self) -> None:
        """The CLI said that a request did not get through."""
        self._complaint.set()

    async def outlast(self) -> None:
        """Watch until the outage has lasted too long for the turn; `gave_up` is set then."""
        while not self.gave_up:
            complained = await self._suspicion()
            if self._gone_since is None and not complained and not self._silent():
                continue
            await self._look()

    async def _suspicion(self) -> bool:
        """Wait for a complaint, True, or for the time to look again, False."""
        pause = self._patience()
        left = 0.0 if self._gone_since is None else self._gone_since + self._grace - self._now()
        if left > 0:
            pause = min(self._resilience.probe_interval, left)
        try:
            async with asyncio.timeout(pause):
                await self._complaint.wait()
        except TimeoutError:
            return False
        self._complaint.clear()
        return True

    def _silent(self) -> bool:
        return self._now() - self._heard_at >= self._patience()

    def _patience(self) -> float:
        """For how long silence means nothing: a command may take its time, the model and subagents speak soon."""
        interval = self._resilience.probe_interval
        return interval if self._busy() and not self._agents() else min(interval, SILENCE_SECONDS)

    async def _look(self) -> None:
        lost, back = self._resilience.outage_words(self._environment)
        if await self._resilience.online(self._environment, self._probe):
            self._gone_since = None
            if self._waits.reason == "network":
                self._waits.over(back)
            return
        if self._gone_since is None:
            self._gone_since = self._now()
        self._waits.begin("network", lost)
        self.gave_up = self._now() - self._gone_since >= self._grace and not self._busy()
