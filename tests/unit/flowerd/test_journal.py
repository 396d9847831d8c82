"""The journal: numbered at once, on disk soon, read from any point, and honest about what is no longer kept."""

import asyncio
import json
import os
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from flowerd.journal import Journal, Limits, NotSaved
from flowerd.snapshot import Position
from tests.support.processes import eventually

SMALL = Limits(segment_bytes=2_000, retained_bytes=40_000, tail_bytes=1_500, backlog_bytes=8_000)

Open = Callable[..., Journal]


@pytest.fixture
def open_journal(tmp_path: Path) -> Iterator[Open]:
    with ThreadPoolExecutor(4) as pool:

        def opened(generation: str = "g1", limits: Limits = SMALL) -> Journal:
            return Journal(tmp_path / "journal", generation, limits=limits, pool=pool, clock=lambda: 1.5)

        yield opened


def _events(lines: list[bytes] | None) -> list[tuple[int, str]]:
    assert lines is not None
    return [(event["seq"], event["text"]) for event in map(json.loads, lines)]


async def _filled(journal: Journal, count: int, prefix: str = "") -> None:
    for number in range(1, count + 1):
        journal.append("text", f"{prefix}{number}")
        await journal.room()


async def _read_all(journal: Journal, after: int = 0) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    while part := _events(await journal.read(after, 700)):
        found += part
        after = part[-1][0]
    return found


async def test_events_are_numbered_from_one_without_gaps(open_journal: Open) -> None:
    journal = open_journal()

    await _filled(journal, 200)

    assert await _read_all(journal) == [(number, str(number)) for number in range(1, 201)]
    await journal.close()


async def test_memory_keeps_no_more_than_its_share_of_what_is_on_disk(open_journal: Open) -> None:
    journal = open_journal()

    await _filled(journal, 400)
    await journal.durable(journal.last_seq)

    assert sum(map(len, journal._tail.lines())) <= SMALL.tail_bytes
    await journal.close()


async def test_whoever_produces_waits_while_too_much_is_not_yet_on_disk(
    open_journal: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, release = open_journal(), _held_writes(monkeypatch)
    while journal._tail.unwritten_bytes <= SMALL.backlog_bytes:
        journal.append("text", "x" * 500)

    waiting = asyncio.create_task(journal.room())
    done, _ = await asyncio.wait({waiting}, timeout=0.2)
    assert not done
    release()

    await asyncio.wait_for(waiting, 5)
    await journal.close()


async def test_reading_goes_on_while_the_disk_is_slow(
    open_journal: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, release = open_journal(), _held_writes(monkeypatch)

    for number in range(1, 11):
        journal.append("text", str(number))

    assert [text for _, text in await _read_all(journal)] == [str(number) for number in range(1, 11)]
    release()
    await journal.close()


async def test_durable_returns_when_the_event_is_in_the_file(open_journal: Open, tmp_path: Path) -> None:
    journal = open_journal()

    await journal.durable(journal.append("remark", "记住这句"))

    [path] = (tmp_path / "journal").rglob("*.jsonl")
    assert "记住这句" in path.read_text()
    await journal.close()


async def test_a_refusing_disk_is_told_to_who_waits_and_stops_nobody_else(
    open_journal: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = open_journal()
    full = _full_disk(monkeypatch)

    with pytest.raises(NotSaved, match="No space left"):
        await journal.durable(journal.append("remark", "hello"))
    for _ in range(500):
        journal.append("text", "x" * 100)
        await asyncio.wait_for(journal.room(), 1)

    assert journal._tail.unwritten_bytes <= SMALL.backlog_bytes + 1_000
    full()
    await journal.close()


async def test_writing_is_taken_up_again_and_says_how_much_is_missing(
    open_journal: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = open_journal()
    await _filled(journal, 3)
    await journal.durable(3)
    full = _full_disk(monkeypatch)
    for _ in range(300):
        journal.append("text", "x" * 100)
        await asyncio.sleep(0)
    await eventually(lambda: journal._trouble is not None)

    full()
    await eventually(lambda: journal._trouble is None)

    latest = await journal.snapshot(since=None, seen=None, tail=1)
    [notice] = map(json.loads, latest.lines)
    lost = notice["payload"]["en"].split()[-6]
    assert (notice["kind"], int(lost) > 0) == ("notice", True)
    assert await journal.read(3, 1000) is None
    await journal.close()


async def test_a_reader_that_fell_behind_what_is_kept_is_told_so(open_journal: Open) -> None:
    journal = open_journal()
    for _ in range(200):
        journal.append("text", "x" * 500)
        await journal.room()
    await journal.durable(journal.last_seq)

    behind = await journal.read(0, 1000)
    fresh = await journal.snapshot(since=Position("g1", 5), seen=None, tail=10)

    assert behind is None
    assert [seq for seq, _ in _events(fresh.lines)] == list(range(191, 201))
    assert (fresh.last_seq, fresh.omitted) == (200, 185)
    await journal.close()


async def test_a_cursor_that_was_never_there_is_not_met(open_journal: Open) -> None:
    journal = open_journal()
    await _filled(journal, 3)

    assert await journal.read(4, 1000) is None
    assert await journal.read(3, 1000) == []
    await journal.close()


async def test_a_client_of_an_earlier_life_gets_the_rest_of_it_and_all_of_this_one(
    open_journal: Open,
) -> None:
    first = open_journal("g1")
    await _filled(first, 30, "old ")
    await first.close()
    second = open_journal("g2")
    await _filled(second, 3, "new ")

    fresh = await second.snapshot(since=Position("g1", 20), seen=None, tail=2)

    texts = [text for _, text in _events(fresh.lines)]
    assert texts == [f"old {number}" for number in range(21, 31)] + ["new 1", "new 2", "new 3"]
    assert [seq for seq, _ in _events(fresh.lines)] == list(range(-9, 4))
    assert (fresh.last_seq, fresh.omitted) == (3, 0)
    await second.close()


async def test_a_life_that_recorded_nothing_leaves_no_trace(open_journal: Open, tmp_path: Path) -> None:
    first = open_journal("g1")
    await _filled(first, 5)
    await first.close()
    await open_journal("g2").close()

    fresh = await open_journal("g3").snapshot(since=Position("g1", 4), seen=None, tail=200)

    assert _events(fresh.lines) == [(0, "5")]
    assert len(list((tmp_path / "journal").iterdir())) == 1


async def test_a_client_that_stands_nowhere_gets_the_tail_and_learns_what_nobody_saw(
    open_journal: Open,
) -> None:
    first = open_journal("g1")
    await _filled(first, 30)
    await first.close()
    second = open_journal("g2")
    await _filled(second, 5)

    fresh = await second.snapshot(since=None, seen=Position("g1", 10), tail=8)

    assert [seq for seq, _ in _events(fresh.lines)] == list(range(-2, 6))
    assert fresh.omitted == 20 + 5 - 8
    await second.close()


async def test_what_nobody_has_seen_is_found_in_the_life_where_it_lies(open_journal: Open) -> None:
    first = open_journal("g1")
    await _filled(first, 30)
    await first.close()
    second = open_journal("g2")

    assert await second.standing(Position("g1", 10)) == (Position("g1", 10), 30)
    assert await second.standing(Position("g1", 30)) == (Position("g1", 30), 30)
    await _filled(second, 5)
    assert await second.standing(Position("g1", 30)) == (Position("g2", 0), 5)
    assert await second.standing(Position("g2", 5)) == (Position("g2", 5), 5)
    assert await second.standing(None) == (Position("g1", 0), 30)
    await second.close()


async def test_a_reader_that_comes_and_goes_at_random_sees_each_event_once_and_in_order(
    open_journal: Open,
) -> None:
    chance = random.Random(7)
    shown: list[str] = []
    generation, cursor = "", 0
    told = 0
    for life in range(12):
        journal = open_journal(f"g{life}")
        for _ in range(chance.randrange(6)):
            for _ in range(chance.randrange(30)):
                told += 1
                journal.append("text", str(told) + "x" * chance.randrange(40))
            if chance.random() < 0.5:
                await journal.durable(journal.last_seq) if journal.last_seq else None
            if generation != f"g{life}":
                fresh = await journal.snapshot(since=Position(generation, cursor), seen=None, tail=100_000)
                assert fresh.omitted == 0
                shown += [text for _, text in _events(fresh.lines)]
                generation, cursor = f"g{life}", fresh.last_seq
            for _ in range(chance.randrange(4)):
                part = _events(await journal.read(cursor, 500))
                shown += [text for _, text in part]
                cursor = part[-1][0] if part else cursor
        await journal.close()

    last = open_journal("last")
    fresh = await last.snapshot(since=Position(generation, cursor), seen=None, tail=0)
    shown += [text for _, text in _events(fresh.lines)]

    assert [int(text.rstrip("x")) for text in shown] == list(range(1, told + 1))


def _held_writes(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Keeps every write waiting until what this returns is called."""
    import threading

    gate, real = threading.Event(), os.pwrite

    def held(descriptor: int, data: Any, offset: int) -> int:
        gate.wait(10)
        return real(descriptor, data, offset)

    monkeypatch.setattr(os, "pwrite", held)
    return gate.set


def _full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes every write fail until what this returns is called."""
    refusing, real = [True], os.pwrite

    def refuse(descriptor: int, data: Any, offset: int) -> int:
        if refusing:
            raise OSError(28, "No space left on device")
        return real(descriptor, data, offset)

    monkeypatch.setattr(os, "pwrite", refuse)
    return refusing.clear
