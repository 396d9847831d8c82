"""Being attached: what comes first, what comes again, what is never told twice."""

import asyncio
import json
from dataclasses import replace

import aiohttp
import pytest

from flower_protocol.codec import MAX_FRAME, encode
from flower_protocol.control import Changed, Failure, Happened, Say, Seen
from flower_protocol.handshake import Hello, Snapshot, Welcome
from flower_protocol.runs import RunOptions, RunStarted, StartRun
from flower_protocol.workspaces import Place, State
from flowerd.daemon import Daemon
from flowerd.journal import Limits
from flowerd.settings import Settings
from flowerd.wire import CUT_NOTE
from tests.integration.flowerd.conftest import StartDaemon
from tests.integration.flowerd.scripted_run import Stage
from tests.integration.flowerd.talk import Attached, Talk
from tests.support.processes import eventually


@pytest.fixture
async def started(daemon: Daemon, talk: Talk, place: Place) -> RunStarted:
    return await talk.post("/v1/runs", StartRun(place=place, ask="开始"), RunStarted)


def _texts(client: Attached) -> list[str]:
    return [event.text for event in client.events if event.kind == "text"]


async def _reads(client: Attached, count: int) -> list[str]:
    while len(_texts(client)) < count:
        assert await client.receive() is not None
    return _texts(client)


async def test_welcome_comes_first_then_a_snapshot_then_what_happens(
    started: RunStarted, talk: Talk, place: Place, stage: Stage
) -> None:
    async with await talk.attach(Hello(place=place)) as client:
        welcome, snapshot = await client.receive(), await client.receive()
        await stage.run.tell("text", "你好")
        happened = await client.until(Happened)

    assert isinstance(welcome, Welcome) and welcome.status.state is State.RUNNING
    assert welcome.generation == started.generation
    assert isinstance(snapshot, Snapshot)
    assert [event.kind for event in snapshot.events] == ["run_started"]
    assert [event.text for event in happened.events] == ["你好"]


async def test_a_cursor_that_can_be_met_is_met_without_a_snapshot(
    started: RunStarted, talk: Talk, place: Place, stage: Stage
) -> None:
    for number in range(10):
        await stage.run.tell("text", str(number))

    async with await talk.attach(Hello(place=place, generation=started.generation, cursor=6)) as client:
        await _reads(client, 5)

    assert _texts(client) == ["5", "6", "7", "8", "9"]
    assert not any(isinstance(message, Snapshot) for message in client.messages)


@pytest.mark.parametrize(("generation", "cursor"), [("of-another-life", 3), ("", 999), ("", None)])
async def test_a_cursor_that_can_not_be_met_gets_a_snapshot(
    started: RunStarted, talk: Talk, place: Place, stage: Stage, generation: str, cursor: int | None
) -> None:
    for number in range(10):
        await stage.run.tell("text", str(number))

    hello = Hello(place=place, generation=generation or started.generation, cursor=cursor, tail=3)
    async with await talk.attach(hello) as client:
        snapshot = await client.until(Snapshot)

    assert [event.text for event in snapshot.events] == ["7", "8", "9"]
    assert snapshot.last_seq == 11


async def test_two_clients_see_the_same_and_each_knows_of_both(
    started: RunStarted, talk: Talk, place: Place, stage: Stage
) -> None:
    async with await talk.attach(Hello(place=place)) as one, await talk.attach(Hello(place=place)) as two:
        while one.status is None or one.status.clients != 2:
            await one.receive()
        await one.send(Say(text="看看日志", id="r1"))

        seen = [await each.until_event("remark") for each in (one, two)]

    assert [event.text for event in seen] == ["看看日志", "看看日志"]


async def test_the_one_who_said_it_is_named_to_the_others(
    started: RunStarted, talk: Talk, place: Place
) -> None:
    hello = Hello(place=place, who="tty1")
    async with await talk.attach(hello) as one, await talk.attach(Hello(place=place)) as two:
        await one.send(Say(text="停一下", id="r1"))
        remark = await two.until_event("remark")

    assert remark.payload == {"id": "r1", "who": "tty1"}


async def test_a_client_that_leaves_changes_nothing_for_another(
    started: RunStarted, talk: Talk, place: Place, stage: Stage
) -> None:
    async with await talk.attach(Hello(place=place)) as stays:
        leaves = await talk.attach(Hello(place=place))
        await leaves.receive()
        await leaves.close()
        await stage.run.tell("text", "还在")

        assert await _reads(stays, 1) == ["还在"]
    assert stage.run.orders == []


async def test_many_changes_of_the_status_are_told_as_few(
    started: RunStarted, talk: Talk, place: Place, stage: Stage
) -> None:
    async with await talk.attach(Hello(place=place)) as client:
        await client.until(Snapshot)
        for context in range(1, 301):
            await stage.run.tell("text", "x", context=context)
        while client.status is None or client.status.context != 300:
            await client.receive()

    changes = [message for message in client.messages if isinstance(message, Changed)]
    assert len(changes) < 50


async def test_the_end_is_told_after_the_last_event_however_far_behind_a_client_is(
    started: RunStarted, talk: Talk, place: Place, stage: Stage
) -> None:
    for number in range(2_000):
        await stage.run.tell("text", str(number))
    stage.run.end()

    async with await talk.attach(Hello(place=place, generation=started.generation, cursor=0)) as client:
        await client.until(Welcome)
        while not any(event.kind == "run_ended" for event in client.events):
            message = await client.receive()
            if isinstance(message, Changed):
                assert message.status.state.active or client.events[-1].kind == "run_ended"
    assert len(_texts(client)) == 2_000


async def test_a_text_of_three_megabytes_passes_whole(
    started: RunStarted, talk: Talk, place: Place, stage: Stage
) -> None:
    text = "三" * 1_000_000

    async with await talk.attach(Hello(place=place)) as client:
        await stage.run.tell("text", text)
        assert await _reads(client, 1) == [text]


async def test_a_text_that_no_message_could_hold_is_cut_with_a_note(
    started: RunStarted, talk: Talk, place: Place, stage: Stage
) -> None:
    async with await talk.attach(Hello(place=place)) as client:
        await stage.run.tell("text", "长" * 4_000_000)
        [text] = await _reads(client, 1)

    assert text.endswith(CUT_NOTE) and 2_000_000 < len(text) < 4_000_000


async def test_control_characters_and_odd_payloads_pass_as_they_are(
    started: RunStarted, talk: Talk, place: Place, stage: Stage
) -> None:
    text = "\x1b[31m红\r\n\x00\x07 \ud800"

    async with await talk.attach(Hello(place=place)) as client:
        await stage.run.tell("text", text, odd={1, 2}, big=2**80)
        [shown] = await _reads(client, 1)

    assert shown == text.replace("\ud800", "?")


async def test_a_client_that_reconnects_again_and_again_sees_each_event_once(
    started: RunStarted, talk: Talk, place: Place, stage: Stage
) -> None:
    async def tell() -> None:
        for number in range(3_000):
            await stage.run.tell("text", str(number))
            if number % 10 == 0:
                await asyncio.sleep(0)

    telling = asyncio.create_task(tell())
    shown: list[str] = []
    cursor, rounds = started.seq, 0
    while len(shown) < 3_000:
        rounds += 1
        hello = Hello(place=place, generation=started.generation, cursor=cursor)
        client = await talk.attach(hello)
        for _ in range(1 + rounds % 7):
            if len(shown) + len(_texts(client)) < 3_000:
                await client.receive()
        shown += _texts(client)
        cursor = client.cursor
        await client.close()
    await telling

    assert shown == [str(number) for number in range(3_000)]


async def test_a_new_daemon_gives_a_client_of_the_old_one_the_rest_exactly_once(
    start_daemon: StartDaemon, talk: Talk, place: Place, stage: Stage
) -> None:
    old = await start_daemon()
    started = await talk.post("/v1/runs", StartRun(place=place, ask="开始"), RunStarted)
    for number in range(40):
        await stage.run.tell("text", f"old {number}")
    async with await talk.attach(Hello(place=place, generation=started.generation, cursor=0)) as before:
        await _reads(before, 40)
        cursor = 31
    stage.run.end()
    await old.close()
    await start_daemon()
    await talk.post("/v1/runs", StartRun(place=place), RunStarted)
    await stage.run.tell("text", "new 0")

    async with await talk.attach(
        Hello(place=place, generation=started.generation, cursor=cursor, tail=1)
    ) as after:
        snapshot = await after.until(Snapshot)
        await stage.run.tell("text", "new 1")
        await after.until(Happened)

    assert _texts(after) == [f"old {number}" for number in range(30, 40)] + ["new 0", "new 1"]
    assert snapshot.omitted == 0
    assert [event.seq for event in after.events] == list(range(-10, 4))


async def test_a_client_so_slow_that_the_journal_has_moved_on_gets_a_fresh_start(
    start_daemon: StartDaemon, settings: Settings, talk: Talk, place: Place, stage: Stage
) -> None:
    small = Limits(segment_bytes=64_000, retained_bytes=300_000, tail_bytes=64_000)
    await start_daemon(replace(settings, journal=small))
    started = await talk.post("/v1/runs", StartRun(place=place, ask="开始"), RunStarted)
    client = await talk.attach(Hello(place=place, generation=started.generation, cursor=0, tail=5))
    await client.until(Welcome)

    for number in range(9_000):
        await stage.run.tell("text", f"{number} " + "x" * 2_000)

    await stage.run.tell("text", "live")
    async with client:
        while not _texts(client) or _texts(client)[-1] != "live":
            await client.receive()

    omitted = [message.omitted for message in client.messages if isinstance(message, Snapshot)]
    assert sum(omitted) > 1_000
    assert len(client.events) + sum(omitted) == client.cursor == 9_002


async def test_a_hello_to_a_place_where_nothing_ran_is_dormant_and_leaves_no_trace(
    daemon: Daemon, talk: Talk, place: Place
) -> None:
    async with await talk.attach(Hello(place=place)) as client:
        welcome = await client.until(Welcome)
        snapshot = await client.until(Snapshot)
        await client.send(Seen(seq=0))

    assert (welcome.status.state, snapshot.events, snapshot.last_seq) == (State.DORMANT, (), 0)
    assert (await talk.status()).workspaces == ()


@pytest.mark.parametrize(("protocol", "code"), [(0, "client-older"), (99, "daemon-older")])
async def test_a_version_that_is_not_spoken_is_told_who_is_older(
    daemon: Daemon, talk: Talk, place: Place, protocol: int, code: str
) -> None:
    client = await talk.attach(Hello(place=place, protocol=protocol))

    failure = await client.until(Failure)
    await client.until_closed()

    assert (failure.code, failure.values) == (code, {"client": str(protocol), "daemon": "1"})


@pytest.mark.parametrize(
    "frame", [b"", b"{", b"[1]", b'{"type":"of-tomorrow"}', b"\xff\xfe\x00", b'{"type":"say"}', b"null"]
)
async def test_a_frame_that_is_no_message_gets_a_failure_and_the_line_is_closed_and_nobody_else_notices(
    started: RunStarted, talk: Talk, place: Place, stage: Stage, frame: bytes
) -> None:
    async with await talk.attach(Hello(place=place)) as other:
        client = await talk.attach(Hello(place=place))
        await client.until(Snapshot)
        await client.line.send_bytes(frame)
        failure = await client.until(Failure)
        await client.until_closed()
        await stage.run.tell("text", "weiter")

        assert await _reads(other, 1) == ["weiter"]
    assert failure.code == "bad-frame"


@pytest.mark.parametrize(
    "first", [b"rubbish", encode(Seen(seq=1)), b'{"type":"hello","place":{"workspace":1}}']
)
async def test_whoever_does_not_begin_with_a_hello_is_sent_away(
    daemon: Daemon, talk: Talk, first: bytes
) -> None:
    client = await talk.attach(first)

    failure = await client.until(Failure)
    await client.until_closed()

    assert failure.code == "bad-frame"


async def test_a_hello_with_a_path_that_is_none_is_sent_away(daemon: Daemon, talk: Talk) -> None:
    client = await talk.attach(Hello(place=Place(workspace="relative", run_dir="/x")))

    failure = await client.until(Failure)

    assert failure.code == "bad-frame"
    await client.close()


async def test_a_frame_over_the_limit_gets_a_failure_that_says_so(
    started: RunStarted, talk: Talk, place: Place
) -> None:
    client = await talk.attach(Hello(place=place))
    await client.until(Snapshot)

    await client.send(Say(text="x" * MAX_FRAME, id="r"))
    failure = await client.until(Failure)
    await client.until_closed()

    assert (failure.code, client.closed_with) == ("too-large", aiohttp.WSCloseCode.MESSAGE_TOO_BIG)


async def test_a_client_that_does_not_answer_pings_is_let_go(
    start_daemon: StartDaemon, settings: Settings, place: Place
) -> None:
    daemon = await start_daemon(replace(settings, heartbeat_seconds=0.2))
    reader, writer = await asyncio.open_unix_connection(str(settings.socket))
    writer.write(
        b"GET /v1/attach HTTP/1.1\r\nHost: f\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    hello = encode(Hello(place=place))
    writer.write(bytes([0x82, 0x80 | 126, *len(hello).to_bytes(2, "big"), 0, 0, 0, 0]) + hello)
    await writer.drain()
    await eventually(lambda: daemon.in_use)

    await eventually(lambda: not daemon.in_use, timeout=5)

    await asyncio.wait_for(reader.read(), 5)
    writer.close()


async def test_what_a_client_has_shown_is_known_to_the_next_daemon(
    start_daemon: StartDaemon, talk: Talk, place: Place, stage: Stage
) -> None:
    first = await start_daemon()
    await talk.post("/v1/runs", StartRun(place=place, ask="开始"), RunStarted)
    for number in range(10):
        await stage.run.tell("text", str(number))
    async with await talk.attach(Hello(place=place)) as client:
        await _reads(client, 10)
        await client.send(Seen(seq=7))
        await client.send(Say(text="ja", id="r"))
        await client.until_event("remark")
    await first.close()
    await start_daemon()

    wake = await talk.wake(place)
    async with await talk.attach(Hello(place=place, generation=wake.generation, cursor=wake.seen)) as again:
        snapshot = await again.until(Snapshot)

    assert (wake.generation, wake.seen) == (client.generation, 7)
    assert wake.last_seq - wake.seen == len(snapshot.events) == 6
    assert [event.text for event in snapshot.events][:4] == ["6", "7", "8", "9"]


async def test_the_environment_of_a_run_is_in_no_event_status_or_file(
    daemon: Daemon, settings: Settings, talk: Talk, place: Place, stage: Stage
) -> None:
    secret = "sk-made-up-4711"
    start = StartRun(
        place=place, ask="x", environment={"ANTHROPIC_API_KEY": secret}, options=RunOptions(rehearse=True)
    )
    await talk.post("/v1/runs", start, RunStarted)
    async with await talk.attach(Hello(place=place)) as client:
        stage.run.end()
        await client.until_event("run_ended")

    said = json.dumps([encode(message).decode() for message in client.messages])
    files = b"".join(path.read_bytes() for path in settings.state.rglob("*") if path.is_file())
    assert secret not in said
    assert secret.encode() not in files and files
