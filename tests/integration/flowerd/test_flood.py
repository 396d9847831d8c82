"""More events than anybody can hold: they pass fast, and a client that stands still costs nothing."""

import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from flower_protocol.control import Done
from flower_protocol.handshake import Hello, Snapshot, Welcome
from flower_protocol.paths import socket_path
from flower_protocol.runs import RunStarted, StartRun
from flower_protocol.workspaces import Place
from tests.integration.flowerd.talk import Attached, Talk
from tests.support.processes import Spawned, eventually

ROOT = Path(__file__).parents[3]
MEGABYTES = 200


@pytest.fixture
async def talk(spawned: Spawned) -> AsyncIterator[Talk]:
    environment = dict(os.environ) | {"PYTHONPATH": f"{ROOT}:{ROOT / 'protocol'}"}
    script = Path(__file__).with_name("flood.py")
    spawned.start([sys.executable, script, str(MEGABYTES)], env=environment)
    path = socket_path(os.environ)
    await eventually(path.exists)
    async with Talk(path) as opened:
        yield opened
        await opened.post("/v1/daemon/stop", None, Done)


async def test_a_stopped_client_costs_no_memory_and_slows_nobody(talk: Talk, place: Place) -> None:
    stopped = await talk.attach(Hello(place=place, tail=10))
    await stopped.until(Welcome)
    stopped.stand_still()
    before = await _resident(talk)
    begun = time.monotonic()

    started = await talk.post("/v1/runs", StartRun(place=place, ask="los"), RunStarted)
    async with await talk.attach(
        Hello(place=place, generation=started.generation, cursor=started.seq)
    ) as reads:
        highest, seen = before, 0
        while not any(event.kind == "run_ended" for event in reads.events):
            await reads.receive(30)
            seen += len(reads.events)
            if seen > 5_000:
                seen, highest = 0, max(highest, await _resident(talk))
            reads.events, reads.messages = reads.events[-1:], []
    took = time.monotonic() - begun
    stopped.go_on()
    fresh = await _caught_up(stopped, reads.cursor)

    assert highest - before < 20 * 1024 * 1024
    assert took < 60
    assert fresh.omitted > 0


async def _resident(talk: Talk) -> int:
    status = await talk.status()
    assert status.daemon is not None
    return status.daemon.rss_bytes


async def _caught_up(client: Attached, last: int) -> Snapshot:
    snapshot = None
    while client.cursor < last:
        message = await client.receive()
        snapshot = message if isinstance(message, Snapshot) else snapshot
    assert snapshot is not None
    return snapshot
