"""Whether an endpoint can be reached, asked once for all runs of the daemon.

Ten runs that wait for one gateway cost one handshake an interval, and all learn at the same moment that it is back:
whoever was told that it is gone and asks again gets the answer of the next handshake, which is the same for all.
Whoever asks for the first time gets an answer at once, and one that is fresh.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from flower.core.resilience import reachable

INTERVAL_SECONDS: Final = 15.0  # between two handshakes with an endpoint that is gone
FRESH_SECONDS: Final = 1.5  # who looks at a screen is told of an outage within five
FORGOTTEN_SECONDS: Final = 600.0  # an endpoint that nobody asked for

Address = tuple[str, int]
Ask = Callable[[str, int], Awaitable[bool]]


@dataclass(slots=True)
class _Endpoint:
    """What is known of one address. ``handshake`` is the one under way; ``answered`` is set anew at each."""

    up: bool = False
    asked_at: float = float("-inf")
    handshake: "asyncio.Task[bool] | None" = None
    answered: asyncio.Event = field(default_factory=asyncio.Event)


class Probe:
    """One for the daemon, on its loop. `for_run` gives a run what it asks by, from any thread and loop."""

    def __init__(
        self,
        *,
        shake: Ask = reachable,
        interval: float = INTERVAL_SECONDS,
        fresh: float = FRESH_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._shake = shake
        self._interval = interval
        self._fresh = fresh
        self._now = now
        self._endpoints: dict[Address, _Endpoint] = {}

    def for_run(self) -> Ask:
        """What one run asks by; to be called on the daemon's loop, and the answer on the run's own.

        Once it was told that an endpoint is gone, it waits for the next handshake, an interval at most.
        """
        loop = asyncio.get_running_loop()
        gone: set[Address] = set()

        async def ask(host: str, port: int) -> bool:
            address = host, port
            up = await _on(loop, self._next(address) if address in gone else self._present(address))
            (gone.discard if up else gone.add)(address)
            return up

        return ask

    async def close(self) -> None:
        """Ends what is under way."""
        handshakes = [each.handshake for each in self._endpoints.values() if each.handshake is not None]
        for handshake in handshakes:
            handshake.cancel()
        await asyncio.gather(*handshakes, return_exceptions=True)

    # On the daemon's loop

    async def _present(self, address: Address) -> bool:
        endpoint = self._endpoint(address)
        if self._age(endpoint) <= self._fresh:
            return endpoint.up
        return await self._answer(address, endpoint)

    async def _next(self, address: Address) -> bool:
        endpoint = self._endpoint(address)
        while self._fresh < self._age(endpoint) < self._interval:
            # Somebody new may ask before the interval is over, and the answer is for all.
            try:
                async with asyncio.timeout(self._interval - self._age(endpoint)):
                    await endpoint.answered.wait()
            except TimeoutError:
                break
        return await self._present(address)

    async def _answer(self, address: Address, endpoint: _Endpoint) -> bool:
        if endpoint.handshake is None:
            work = self._handshake(address, endpoint)
            endpoint.handshake = asyncio.create_task(work, name=f"probe {address[0]}:{address[1]}")
        # Others wait for the same one: whoever is cancelled takes nothing from them.
        return await asyncio.shield(endpoint.handshake)

    async def _handshake(self, address: Address, endpoint: _Endpoint) -> bool:
        try:
            endpoint.up = await self._shake(*address)
            endpoint.asked_at = self._now()
            return endpoint.up
        finally:
            endpoint.handshake = None
            endpoint.answered.set()
            endpoint.answered = asyncio.Event()

    def _age(self, endpoint: _Endpoint) -> float:
        return self._now() - endpoint.asked_at

    def _endpoint(self, address: Address) -> _Endpoint:
        if address not in self._endpoints:
            self._endpoints = {
                known: each
                for known, each in self._endpoints.items()
                if each.handshake is not None or self._age(each) < FORGOTTEN_SECONDS
            }
            self._endpoints[address] = _Endpoint()
        return self._endpoints[address]


async def _on(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, bool]) -> bool:
    """The result of ``work``, done on ``loop``, for a caller on another one; cancelled with it."""
    try:
        waiting = asyncio.run_coroutine_threadsafe(work, loop)
    except RuntimeError:  # the daemon's loop has ended, and this run with it
        work.close()
        return False
    return await asyncio.wrap_future(waiting)
