"""The probe that all runs share: who costs a handshake, and when who gets an answer."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable

from flowerd.probe import Probe
from tests.support.processes import eventually

INTERVAL = 0.3


class Gateway:
    """An endpoint that a test opens and closes, and that counts the handshakes."""

    def __init__(self, up: bool = False, takes: float = 0.0) -> None:
        self.up = up
        self.handshakes = 0
        self._takes = takes

    async def shake(self, host: str, port: int) -> bool:
        self.handshakes += 1
        await asyncio.sleep(self._takes)
        return self.up


def probe_of(gateway: Gateway, **options: float) -> Probe:
    return Probe(shake=gateway.shake, **({"interval": INTERVAL, "fresh": 0.05} | options))


async def until_back(ask: Callable[[str, int], Awaitable[bool]], pause: float) -> float:
    """Waits as the library does: asks, sleeps, asks again; returns when it was told that the endpoint is back."""
    while True:
        if await ask("gate", 443):
            return time.monotonic()
        await asyncio.sleep(pause)


async def test_who_asks_at_the_same_time_shares_one_handshake() -> None:
    gateway = Gateway(up=True, takes=0.05)
    probe = probe_of(gateway)

    answers = await asyncio.gather(*(probe.for_run()("gate", 443) for _ in range(10)))

    assert (answers, gateway.handshakes) == ([True] * 10, 1)


async def test_an_answer_is_given_again_only_while_it_is_fresh() -> None:
    gateway = Gateway(up=True)
    moment = 100.0
    probe = Probe(shake=gateway.shake, fresh=1.5, now=lambda: moment)
    await probe.for_run()("gate", 443)
    gateway.up = False

    moment = 101.4
    assert await probe.for_run()("gate", 443) is True
    moment = 101.6
    assert await probe.for_run()("gate", 443) is False


async def test_two_endpoints_are_two_handshakes() -> None:
    gateway = Gateway(up=True)
    ask = probe_of(gateway).for_run()

    assert await ask("gate", 443) and await ask("gate", 8443)
    assert gateway.handshakes == 2


async def test_ten_runs_that_wait_cost_one_handshake_an_interval_and_wake_together() -> None:
    gateway = Gateway()
    probe = probe_of(gateway)
    began = time.monotonic()
    waiting = []
    for _ in range(10):
        waiting.append(asyncio.create_task(until_back(probe.for_run(), INTERVAL)))
        await asyncio.sleep(INTERVAL / 20)
    await eventually(lambda: time.monotonic() - began > 3 * INTERVAL)
    before, began = gateway.handshakes, time.monotonic()
    await asyncio.sleep(2 * INTERVAL)
    assert gateway.handshakes - before <= (time.monotonic() - began) / INTERVAL + 1

    gateway.up = True
    woken = await asyncio.gather(*waiting)

    assert max(woken) - min(woken) < INTERVAL / 2


async def test_a_newcomer_is_answered_at_once_and_wakes_those_that_wait() -> None:
    gateway = Gateway()
    probe = probe_of(gateway, interval=60.0)
    waiting = probe.for_run()
    assert await waiting("gate", 443) is False
    await asyncio.sleep(0.06)
    again = asyncio.ensure_future(waiting("gate", 443))
    await asyncio.sleep(0.05)
    assert not again.done()

    gateway.up = True

    assert await probe.for_run()("gate", 443) is True
    async with asyncio.timeout(1):
        assert await again is True


async def test_who_is_cancelled_takes_nothing_from_the_others() -> None:
    gateway = Gateway(up=True, takes=0.1)
    probe = probe_of(gateway)
    impatient = asyncio.ensure_future(probe.for_run()("gate", 443))
    patient = asyncio.ensure_future(probe.for_run()("gate", 443))
    await eventually(lambda: gateway.handshakes)

    impatient.cancel()

    assert await patient is True
    assert (impatient.cancelled(), gateway.handshakes) == (True, 1)


async def test_runs_ask_from_threads_and_loops_of_their_own() -> None:
    gateway = Gateway(up=True, takes=0.05)
    probe = probe_of(gateway)
    answers: list[bool] = []

    def run(ask: Callable[[str, int], Awaitable[bool]]) -> None:
        async def work() -> None:
            answers.append(await ask("gate", 443))

        asyncio.run(work())

    threads = [threading.Thread(target=run, args=(probe.for_run(),)) for _ in range(5)]
    for thread in threads:
        thread.start()
    await eventually(lambda: len(answers) == 5)
    for thread in threads:
        thread.join()

    assert (answers, gateway.handshakes) == ([True] * 5, 1)


async def test_what_is_under_way_ends_with_the_probe() -> None:
    gateway = Gateway(takes=60)
    probe = probe_of(gateway)
    asking = asyncio.ensure_future(probe.for_run()("gate", 443))
    await eventually(lambda: gateway.handshakes)

    await probe.close()

    await asyncio.wait({asking}, timeout=1)
    assert asking.done()
