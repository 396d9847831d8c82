"""The watch over a turn: when it probes, what it tells, and when it gives the turn up."""

import asyncio
from collections.abc import Callable

import pytest

from flower.core.events import Event
from flower.core.outage import SILENCE_SECONDS, OutageWatch
from flower.core.resilience import Resilience
from flower.core.result import StepResult
from flower.core.waits import Waits
from tests.support.processes import eventually

ENVIRONMENT = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}


class Turn:
    """A watched turn whose network and local work are switches."""

    def __init__(self, grace: float, interval: float = 0.05) -> None:
        self.network = True
        self.busy = self.agents = False
        self.probes = 0
        self.events: list[Event] = []
        self.watch = OutageWatch(
            Resilience(probe_interval=interval),
            ENVIRONMENT,
            Waits(StepResult(step="step"), "en", self.events.append),
            self._probe,
            lambda: self.busy,
            lambda: self.agents,
            grace=grace,
        )

    async def _probe(self, host: str, port: int) -> bool:
        self.probes += 1
        return self.network

    def told(self) -> list[object]:
        return [event.payload["waiting"] for event in self.events]

    async def until(self, condition: Callable[[], bool]) -> None:
        watching = asyncio.create_task(self.watch.outlast(), name="watch")
        try:
            await eventually(lambda: condition() or watching.done(), timeout=10)
            assert condition()
        finally:
            watching.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.gather(watching, return_exceptions=False)


async def test_a_complaint_of_the_cli_is_looked_into_at_once() -> None:
    turn = Turn(grace=60, interval=60)
    turn.network = False
    turn.watch.complained()
    await turn.until(lambda: turn.told() == ["network"])
    assert "127.0.0.1:9 is unreachable" in turn.events[0].text


async def test_a_complaint_while_the_network_is_there_tells_nothing() -> None:
    turn = Turn(grace=60, interval=60)
    turn.watch.complained()
    await turn.until(lambda: turn.probes == 1)
    assert not turn.events and not turn.watch.gave_up


async def test_silence_is_looked_into_too() -> None:
    turn = Turn(grace=60)
    turn.network = False
    await turn.until(lambda: turn.told() == ["network"])


async def test_silence_while_a_tool_works_is_looked_into_at_leisure_and_while_subagents_do_at_once() -> None:
    turn = Turn(grace=60, interval=3600)
    turn.busy = True
    assert turn.watch._patience() == 3600
    turn.agents = True
    assert turn.watch._patience() == SILENCE_SECONDS < 5
    turn.busy = turn.agents = False
    assert turn.watch._patience() == SILENCE_SECONDS


async def test_an_outage_that_only_a_subagent_can_meet_is_told_too() -> None:
    turn = Turn(grace=0.05)
    turn.busy = turn.agents = True
    turn.network = False
    await turn.until(lambda: turn.told() == ["network"])
    assert not turn.watch.gave_up, "what they did would be lost"


async def test_the_end_of_an_outage_is_told_once() -> None:
    turn = Turn(grace=60)
    turn.network = False
    turn.watch.complained()

    def back_again() -> bool:
        turn.network = turn.network or turn.told() == ["network"]
        return turn.told() == ["network", None]

    await turn.until(back_again)
    assert "is back" in turn.events[1].text


async def test_an_answer_of_the_model_ends_the_outage() -> None:
    turn = Turn(grace=60, interval=60)
    turn.network = False
    turn.watch.complained()

    def answered() -> bool:
        if turn.told() == ["network"]:
            turn.watch.heard(from_model=True)
        return turn.told() == ["network", None]

    await turn.until(answered)


async def test_a_long_outage_gives_the_turn_up() -> None:
    turn = Turn(grace=0.1)
    turn.network = False
    turn.watch.complained()
    await asyncio.wait_for(turn.watch.outlast(), timeout=10)
    assert turn.watch.gave_up and turn.told() == ["network"]


async def test_a_long_outage_does_not_cost_the_work_that_goes_on_without_it() -> None:
    turn = Turn(grace=0.05, interval=0.01)
    turn.network, turn.busy = False, True
    turn.watch.complained()
    watching = asyncio.create_task(turn.watch.outlast(), name="watch")
    await eventually(lambda: turn.probes > 20, timeout=10)
    assert not watching.done()
    turn.busy = False
    await asyncio.wait_for(watching, timeout=10)
    assert turn.watch.gave_up
