"""Single requests: status, wake, forget, and every kind of mistake."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from flower_protocol.codec import MAX_FRAME, decode, encode
from flower_protocol.control import At, Done, Failure, SayTo
from flower_protocol.handshake import Hello, Snapshot
from flower_protocol.runs import RunOptions, RunStarted, StartRun
from flower_protocol.version import PROTOCOL
from flower_protocol.workspaces import Place, State
from flowerd.daemon import Daemon
from flowerd.run import Ending
from flowerd.settings import Settings
from tests.integration.flowerd.conftest import StartDaemon
from tests.integration.flowerd.scripted_run import Stage
from tests.integration.flowerd.talk import Refusal, Talk
from tests.support.runs import settle


async def test_the_status_tells_of_the_daemon_and_of_no_place_at_first(daemon: Daemon, talk: Talk) -> None:
    status = await talk.status()

    assert status.daemon is not None
    assert status.daemon.protocol == PROTOCOL and status.daemon.rss_bytes > 1_000_000
    assert status.daemon.uptime_s >= 0 and status.daemon.version
    assert status.workspaces == ()


async def test_the_status_of_a_run_follows_what_it_tells(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    stage.woke = 3
    await _start(talk, place, rehearse=True)
    await stage.run.tell("step", "干活", index=3, total=3, woke=3)
    await stage.run.tell("system", "init", session_id="s-1")
    await stage.run.tell("text", "hm", context=80_200)
    await stage.run.tell("result", "success", session_id="s-1", window=1_000_000)
    _spend(place, 0.25, 0.16, "x", None)

    [status] = (await talk.status()).workspaces

    assert msgspec.to_builtins(status) | {"started_at": 0, "updated_at": 0} == {
        "workspace": place.workspace,
        "run_dir": place.run_dir,
        "state": "running",
        "woke": 3,
        "step": "干活",
        "index": 3,
        "total": 3,
        "round": 0,
        "session_id": "s-1",
        "context": 80_200,
        "window": 1_000_000,
        "cost_usd": 0.41,
        "checks": 0,
        "clients": 0,
        "question": None,
        "keep": False,
        "rehearse": True,
        "until": None,
        "started_at": 0,
        "updated_at": 0,
        "error": None,
    }


async def test_the_context_of_another_step_is_not_told_as_that_of_the_work(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    await _start(talk, place)
    await stage.run.tell("step", "确认需求", index=1, total=3, woke=1)
    await stage.run.tell("text", "hm", context=2_400)

    wake = await talk.wake(place)

    assert (wake.context, wake.status.context) == (0, 2_400)


async def test_what_a_run_spends_is_counted_before_its_rows_are_written_and_not_twice_afterwards(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    _spend(place, 0.25)
    await _start(talk, place)
    await stage.run.tell("result", "success", session_id="s-1", cost_usd=0.5)
    await stage.run.tell("result", "success", session_id="s-1", cost_usd=0.25)

    assert (await talk.status()).workspaces[0].cost_usd == 1.0
    _spend(place, 0.25, 0.75)
    async with await talk.attach(Hello(place=place)) as client:
        stage.run.end(Ending.DONE)
        while client.status is None or client.status.state.active:
            await client.receive()

    assert (await talk.status()).workspaces[0].cost_usd == 1.0


async def test_a_window_that_was_named_stands_over_what_is_reported(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    await _start(talk, place, window=200_000)
    await stage.run.tell("result", "success", window=1_000_000)

    [status] = (await talk.status()).workspaces

    assert status.window == 200_000


async def test_what_was_in_flight_when_a_daemon_died_is_interrupted_under_the_next(
    start_daemon: StartDaemon, settings: Settings, talk: Talk, place: Place, stage: Stage
) -> None:
    first = await start_daemon()
    await _start(talk, place)
    registry = settings.state / "registry.json"
    as_it_ran = registry.read_bytes()
    await first.close()
    registry.write_bytes(as_it_ran)

    await start_daemon()

    [status] = (await talk.status()).workspaces
    assert json.loads(as_it_ran)["workspaces"][0]["state"] == "running"
    assert (status.state, len(stage.runs)) == (State.INTERRUPTED, 1)
    assert not (await _start(talk, place)).joined


async def test_a_damaged_registry_is_set_aside_and_the_daemon_serves(
    start_daemon: StartDaemon, settings: Settings, talk: Talk, place: Place
) -> None:
    settings.state.mkdir(parents=True)
    (settings.state / "registry.json").write_text("{ kaputt")
    await start_daemon()

    await _start(talk, place)

    names = {path.name for path in settings.state.iterdir()}
    assert any(re.fullmatch(r"registry\.json\.unreadable-\d{8}-\d{6}", name) for name in names)
    assert len((await talk.status()).workspaces) == 1


async def test_a_damaged_registry_is_said_once_to_the_first_who_asks(
    start_daemon: StartDaemon, settings: Settings, talk: Talk, place: Place
) -> None:
    settings.state.mkdir(parents=True)
    (settings.state / "registry.json").write_text("{ kaputt")
    await start_daemon()

    first, second = await talk.wake(place), await talk.wake(place)

    assert ("unreadable" in first.notices[0], second.notices) == (True, ())


async def test_a_new_folder_is_not_used_and_looking_writes_nothing(
    daemon: Daemon, talk: Talk, place: Place
) -> None:
    wake = await talk.wake(place)

    assert (wake.used, wake.status.state, wake.last_seq, wake.seen) == (False, State.DORMANT, 0, 0)
    assert list(Path(place.workspace).iterdir()) == []


async def test_a_folder_with_a_lineage_is_used_also_when_no_daemon_saw_it(
    daemon: Daemon, talk: Talk, place: Place
) -> None:
    _lineage(place, woke=4, steps={"干活": "47395075-bec7-466e-80cd-f4d60b360235"})

    wake = await talk.wake(place)

    assert (wake.used, wake.status.woke) == (True, 4)


async def test_what_can_not_be_picked_up_is_said_in_one_line(
    daemon: Daemon, talk: Talk, place: Place
) -> None:
    _lineage(Place(workspace="/anderswo", run_dir=place.run_dir), woke=4, steps={"干活": "s"})

    wake = await talk.wake(place)

    assert not wake.used
    assert ["/anderswo" in notice for notice in wake.notices] == [True]


async def test_after_a_damaged_lineage_nothing_is_told_that_the_next_run_will_not_have(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    stage.woke = 3
    await _start(talk, place)
    await stage.run.tell("step", "干活", index=3, total=3, woke=3)
    await stage.run.tell("text", "hm", context=80_200)
    while_it_runs = await talk.wake(place)
    await talk.post("/v1/stop", At(place=place), Done)
    settle(Path(place.workspace))
    Path(place.run_dir).mkdir(exist_ok=True)
    Path(place.run_dir, "lineage.json").write_text("xx{")

    wake = await talk.wake(place)

    assert while_it_runs.status.woke == 3
    assert (wake.used, wake.confirmed, wake.context, wake.status.woke) == (True, True, 0, 0)
    assert ["lineage.json" in notice for notice in wake.notices] == [True]


async def test_a_forgotten_place_is_gone_and_its_own_files_stay(
    daemon: Daemon, settings: Settings, talk: Talk, place: Place, stage: Stage
) -> None:
    await _start(talk, place)
    _lineage(place, woke=1, steps={"干活": "47395075-bec7-466e-80cd-f4d60b360235"})
    await talk.post("/v1/stop", At(place=place), Done)

    await talk.post("/v1/forget", At(place=place), Done)

    assert (await talk.status()).workspaces == ()
    assert list((settings.state / "journals").iterdir()) == []
    assert (await talk.wake(place)).used


async def test_a_place_where_a_run_is_in_flight_is_not_forgotten(
    daemon: Daemon, talk: Talk, place: Place
) -> None:
    await _start(talk, place)

    with pytest.raises(Refusal) as refusal:
        await talk.post("/v1/forget", At(place=place), Done)

    assert (refusal.value.status, refusal.value.code) == (409, "already-running")


async def test_who_is_attached_to_a_forgotten_place_gets_a_fresh_start(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    await _start(talk, place)
    async with await talk.attach(Hello(place=place)) as client:
        await client.until(Snapshot)
        await talk.post("/v1/stop", At(place=place), Done)
        await client.until_event("run_ended")
        await talk.post("/v1/forget", At(place=place), Done)
        fresh = await client.until(Snapshot)
        await _start(talk, place)
        started = await client.until_event("run_started")

    assert (fresh.events, fresh.last_seq, started.seq) == ((), 0, 1)


@pytest.mark.parametrize(
    ("method", "path", "data", "status", "code"),
    [
        ("POST", "/v1/runs", b"{", 400, "bad-frame"),
        ("POST", "/v1/runs", b'{"place":{"workspace":"/a"}}', 400, "bad-frame"),
        ("POST", "/v1/stop", b"[]", 400, "bad-frame"),
        ("POST", "/v1/stop", b'{"place":{"workspace":"a","run_dir":"/b"}}', 400, "bad-frame"),
        ("GET", "/v1/wake", b"", 400, "bad-frame"),
        ("GET", "/v1/wake?workspace=/a%00b&run_dir=/c", b"", 400, "bad-frame"),
        ("GET", "/v1/attach", b"", 400, "bad-frame"),
        ("GET", "/v1/nothing", b"", 404, "bad-frame"),
        ("GET", "/v1/runs", b"", 405, "bad-frame"),
        ("POST", "/v1/say", b'"' + b"x" * MAX_FRAME + b'"', 413, "too-large"),
    ],
)
async def test_a_mistake_gets_a_failure_of_the_closed_list(
    daemon: Daemon, talk: Talk, method: str, path: str, data: bytes, status: int, code: str
) -> None:
    found, body = await talk.raw(method, path, data)

    assert (found, decode(body, Failure).code) == (status, code)
    assert (await talk.status()).daemon is not None


async def test_a_bug_is_one_code_for_the_client_and_a_whole_story_in_the_log(
    daemon: Daemon,
    talk: Talk,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(daemon.workspaces, "known", broken)

    found, body = await talk.raw("GET", "/v1/status")

    assert (found, decode(body, Failure)) == (500, Failure(code="internal"))
    assert "ZeroDivisionError: a bug of ours" in caplog.text


async def test_an_ending_daemon_says_so(start_daemon: StartDaemon, talk: Talk, place: Place) -> None:
    daemon = await start_daemon()
    await talk.status()  # keeps a connection open
    daemon.ending = True

    with pytest.raises(Refusal) as refusal:
        await _start(talk, place)

    assert (refusal.value.status, refusal.value.code) == (503, "shutting-down")
    daemon.ending = False


async def test_curl_works(daemon: Daemon, settings: Settings, place: Place) -> None:
    import asyncio

    curl = await asyncio.create_subprocess_exec(
        *("curl", "-s", "--unix-socket", str(settings.socket), "http://flower/v1/say", "-d"),
        encode(SayTo(place=place, text="x", id="1")).decode(),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await asyncio.wait_for(curl.communicate(), 10)

    assert decode(out, Failure).code == "not-running"


async def test_a_folder_that_is_not_there_is_told_before_anybody_is_asked_anything(
    daemon: Daemon, talk: Talk, place: Place
) -> None:
    with pytest.raises(Refusal) as refusal:
        await talk.wake(Place(workspace="/fehlt", run_dir="/fehlt/runs"))

    assert (refusal.value.code, refusal.value.values) == ("no-such-folder", {"path": "/fehlt"})


async def test_the_longest_path_there_can_be_is_no_mistake(
    daemon: Daemon, talk: Talk, tmp_path: Path
) -> None:
    long = "/".join(["长" * 80] * 16)  # 3,855 bytes, 11,553 characters in a query

    with pytest.raises(Refusal) as refusal:
        await talk.wake(Place(workspace=f"/{long}", run_dir=f"/{long}"))

    assert refusal.value.code == "no-such-folder"


async def _start(talk: Talk, place: Place, **options: object) -> RunStarted:
    wanted = StartRun(place=place, ask="开始", options=RunOptions(**options))  # type: ignore[arg-type]
    return await talk.post("/v1/runs", wanted, RunStarted)


def _spend(place: Place, *costs: object) -> None:
    folder = Path(place.run_dir)
    folder.mkdir(exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps([{"cost_usd": cost} for cost in costs]))


def _lineage(place: Place, **content: object) -> None:
    folder = Path(place.run_dir)
    folder.mkdir(exist_ok=True)
    (folder / "lineage.json").write_text(json.dumps({"workspace": place.workspace, **content}))
