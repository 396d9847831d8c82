"""From the moment an event has its number to its line on a screen, against a bare round trip of the same bytes."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from flower.rehearsal import Call, Turn
from flower_protocol.codec import encode
from flower_protocol.control import Happened
from flower_protocol.events import EventRecord
from flower_protocol.handshake import Hello, Snapshot
from flower_protocol.paths import socket_path
from flower_protocol.workspaces import Place
from flowerctl.attach.screen import BATCH_SECONDS
from flowerctl.attachment import attach
from tests.bench.clock import percentile
from tests.bench.quarters import own_quarters
from tests.bench.report import Report, milliseconds
from tests.bench.stamped import StampedTerminal
from tests.bench.standing import FIRST_WORDS, HOLD, standing_script, start_standing
from tests.support.household import COMMANDS, Household
from tests.support.processes import Spawned
from tests.support.runs import bash

SINGLE, AT_ONCE, BURSTS = 30, 5, 6
_SECONDS = 40.0
_ECHO = """
import asyncio, sys

async def echo(reader, writer):
    while size := await reader.read(4):
        writer.write(await reader.readexactly(int.from_bytes(size)))

async def main():
    async with await asyncio.start_unix_server(echo, sys.argv[1]) as server:
        print("ready", flush=True)
        await server.serve_forever()

asyncio.run(main())
"""


def measure(report: Report) -> None:
    with own_quarters() as (open_household, spawned):
        household = open_household(standing_script(*_single_calls(), *_bursts()))
        folder = household.folder()
        start_standing(household, folder)
        household.daemon()
        terminal = StampedTerminal([COMMANDS / "flower"], env=household.environment, cwd=folder)
        with terminal:
            terminal.wait_for_time(FIRST_WORDS, _SECONDS)
            _play_to_the_end(household, terminal)
            delays = _delays(household, folder, terminal)
        echo = household.root / "echo"
        _start_echo(echo, spawned)
        floors = asyncio.run(_round_trips([event for event, _ in delays], echo))
        _print([delay for _, delay in delays], floors, report)


def _single_calls() -> list[Turn]:
    """Turns far enough apart for each line to find the screen at rest."""
    return [Turn(text="one thing", takes=0.15, calls=[_marked(number)]) for number in range(SINGLE)]


def _bursts() -> list[Turn]:
    """Turns that call several tools at once: their events come together."""
    return [
        Turn(
            text="several things", calls=[_marked(SINGLE + burst * AT_ONCE + each) for each in range(AT_ONCE)]
        )
        for burst in range(BURSTS)
    ]


def _marked(number: int) -> Call:
    return bash(f"echo {_mark(number)}")


def _mark(number: int) -> str:
    return f"event-{number:04}"


def _play_to_the_end(household: Household, terminal: StampedTerminal) -> None:
    assert household.model is not None, "opened with a script"
    household.model.release(HOLD)
    terminal.wait(_SECONDS)


def _delays(household: Household, folder: Path, terminal: StampedTerminal) -> list[tuple[EventRecord, float]]:
    """The marked events, and how many seconds after its own time each was on the screen."""
    found = []
    events = asyncio.run(_events(household, folder))
    for number in range(SINGLE + BURSTS * AT_ONCE):
        event = next(each for each in events if each.kind == "tool_call" and _mark(number) in each.text)
        shown = terminal.shown_at(_mark(number))
        if shown is None:
            raise RuntimeError(f"{_mark(number)} was never shown")
        found.append((event, shown - event.at))
    return found


async def _events(household: Household, folder: Path) -> list[EventRecord]:
    place = Place(workspace=str(folder), run_dir=str(household.run_in(folder)))
    hello = Hello(place=place, tail=10_000)
    async with (
        attach(socket_path(household.environment), hello) as (attachment, _),
        asyncio.timeout(_SECONDS),
    ):
        while True:
            message = await attachment.receive()
            if isinstance(message, Snapshot):
                return list(message.events)


def _start_echo(path: Path, spawned: Spawned) -> None:
    process: subprocess.Popen[Any] = spawned.start(
        [sys.executable, "-c", _ECHO, path], stdout=subprocess.PIPE
    )
    assert process.stdout is not None, "a pipe was asked for"
    if process.stdout.readline() != b"ready\n":
        raise RuntimeError("the echo did not start")


async def _round_trips(events: list[EventRecord], path: Path) -> list[float]:
    """Seconds, for the frames in which the daemon would send ``events`` one by one."""
    reader, writer = await asyncio.open_unix_connection(path)
    taken = []
    for event in events:
        frame = encode(Happened(events=(event,)))
        begin = time.perf_counter()
        writer.write(len(frame).to_bytes(4) + frame)
        if await reader.readexactly(len(frame)) != frame:
            raise RuntimeError("the echo gave other bytes back")
        taken.append(time.perf_counter() - begin)
    writer.close()
    await writer.wait_closed()
    return taken


def _print(delays: list[float], floors: list[float], report: Report) -> None:
    def row(name: str, ours: float, floor: float) -> None:
        report.row(name, milliseconds(ours), "round trip, asyncio echo", milliseconds(floor))

    row("all events, median", median(delays), median(floors))
    row("all events, 95 of 100", percentile(delays, 95), percentile(floors, 95))
    row("those that come alone, median", median(delays[:SINGLE]), median(floors))
    row(f"those that come by {AT_ONCE}, median", median(delays[SINGLE:]), median(floors))
    pause = milliseconds(BATCH_SECONDS)
    report.note(f"the client writes one batch in {pause} at most; what comes in between waits for the next")
