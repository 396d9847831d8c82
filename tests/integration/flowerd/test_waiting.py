"""What a run waits for shows in the state of its workspace; what was refused is parked, and goes on by itself."""

import asyncio
import os
from pathlib import Path

import pytest

from flower_protocol.control import At, Done
from flower_protocol.handshake import Hello
from flower_protocol.runs import RunOptions, RunStarted, StartRun
from flower_protocol.workspaces import Place, State, WorkspaceStatus
from flowerd.daemon import Daemon
from flowerd.run import Ending
from tests.integration.flowerd.conftest import StartDaemon
from tests.integration.flowerd.scripted_run import Stage
from tests.integration.flowerd.talk import Talk
from tests.support.processes import eventually

REFUSED = "API Error: 401 invalid x-api-key"


def key_file() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"]) / "flower" / ".env"


def write_key(key: str) -> None:
    key_file().parent.mkdir(parents=True, exist_ok=True)
    key_file().write_text(f"ANTHROPIC_API_KEY={key}\n")


async def start(talk: Talk, place: Place, ask: str | None = "做点什么", **options: object) -> RunStarted:
    """As a client does that brings no key of its own."""
    wanted = StartRun(
        place=place,
        ask=ask,
        options=RunOptions(**options),  # type: ignore[arg-type]
        environment={**os.environ, "PWD": place.workspace},
    )
    return await talk.post("/v1/runs", wanted, RunStarted)


async def status(talk: Talk) -> WorkspaceStatus:
    [only] = (await talk.status()).workspaces
    return only


async def works(stage: Stage, runs: int) -> None:
    await eventually(lambda: len(stage.runs) == runs and stage.run.sink is not None)


async def refuse(stage: Stage) -> None:
    """The run hears that its credentials are no good, and ends."""
    await stage.run.tell("retry", "凭证被拒", step="干活", attempt=1, waiting="login", until=None)
    stage.run.end(Ending.FAILED, step="干活", error=REFUSED)


async def parked(talk: Talk) -> WorkspaceStatus:
    found = await status(talk)
    async with asyncio.timeout(5):
        while found.state.active:
            found = await status(talk)
    assert found.state is State.LOGIN
    return found


async def test_the_state_follows_what_a_run_waits_for(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    await start(talk, place)
    await works(stage, 1)
    seen = []
    for waiting, until in [
        ("network", None),
        (None, None),
        ("limit", 1766502000.0),
        ("limit", 1766509000.0),
        ("overload", None),
        ("network", None),
    ]:
        await stage.run.tell("retry", "一行话", step="干活", attempt=1, waiting=waiting, until=until)
        now = await status(talk)
        seen.append((now.state, now.until))
    stage.run.end()

    assert seen == [
        (State.OFFLINE, None),
        (State.RUNNING, None),
        (State.LIMITED, 1766502000.0),
        (State.LIMITED, 1766509000.0),
        (State.RUNNING, None),
        (State.OFFLINE, None),
    ]
    await eventually(lambda: not daemon.in_use)
    assert (await status(talk)).state is State.DORMANT


async def test_who_watches_is_told_of_a_wait_at_once(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    await start(talk, place)
    await works(stage, 1)
    async with await talk.attach(Hello(place=place)) as client:
        await client.until_event("run_started")
        await stage.run.tell("retry", "到上限了", waiting="limit", until=1766502000.0)

        while client.status is None or client.status.state is not State.LIMITED:
            await client.receive(2)
    assert client.status.until == 1766502000.0


async def test_a_run_that_waits_takes_words_and_a_stop(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    await start(talk, place)
    await works(stage, 1)
    await stage.run.tell("retry", "断网", waiting="network")

    assert (await start(talk, place, "顺便加个测试")).joined
    await talk.post("/v1/stop", At(place=place), Done)

    assert stage.run.orders == ["say 顺便加个测试", "stop"]
    assert (await status(talk)).state is State.DORMANT


async def test_a_refused_run_is_parked_with_its_reason_and_the_daemon_stays_for_it(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    write_key("made-up-1")
    await start(talk, place)
    await works(stage, 1)
    async with await talk.attach(Hello(place=place)) as client:
        await refuse(stage)
        ended = await client.until_event("run_ended")

    assert (ended.payload["outcome"], ended.payload["error"]) == ("login", REFUSED)
    assert (await parked(talk)).error == REFUSED
    assert daemon.in_use


async def test_a_failure_of_something_else_is_one_still_also_after_a_refusal_that_passed(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    await start(talk, place)
    await works(stage, 1)
    await stage.run.tell("retry", "凭证被拒", waiting="login")
    stage.run.end(Ending.FAILED, error="没钱了")

    await eventually(lambda: not daemon.in_use)
    assert (await status(talk)).state is State.FAILED


async def test_a_parked_run_goes_on_with_another_key_and_a_second_refusal_parks_it_again(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    write_key("made-up-1")
    await start(talk, place, new=True)
    await works(stage, 1)
    first = stage.run.request
    await refuse(stage)
    await parked(talk)

    write_key("made-up-2")
    await works(stage, 2)
    again = stage.run.request
    await refuse(stage)
    await parked(talk)
    key_file().write_text(key_file().read_text() + "# no other key\n")
    await asyncio.sleep(1.0)
    assert len(stage.runs) == 2

    write_key("made-up-3")
    await works(stage, 3)
    assert (again.ask, again.options.new, again.environment) == (None, False, first.environment)
    assert (await status(talk)).state is State.RUNNING
    stage.run.end()
    await eventually(lambda: not daemon.in_use)


async def test_a_key_that_was_changed_before_it_was_refused_is_tried_at_once(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    write_key("made-up-1")
    await start(talk, place)
    await works(stage, 1)
    write_key("made-up-2")

    await refuse(stage)

    await works(stage, 2)
    stage.run.end()


async def test_a_person_is_not_waited_for_twice(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    write_key("made-up-1")
    await start(talk, place)
    await works(stage, 1)
    await refuse(stage)
    await parked(talk)

    await start(talk, place, None)
    await works(stage, 2)
    write_key("made-up-2")
    stage.run.end()

    await eventually(lambda: not daemon.in_use)
    assert (len(stage.runs), (await status(talk)).state) == (2, State.DORMANT)


async def test_what_could_not_be_started_stays_parked(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    write_key("made-up-1")
    await start(talk, place)
    await works(stage, 1)
    await refuse(stage)
    await parked(talk)
    os.rename(place.workspace, f"{place.workspace} elsewhere")
    write_key("made-up-2")
    await asyncio.sleep(1.0)

    os.rename(f"{place.workspace} elsewhere", place.workspace)
    write_key("made-up-3")

    await works(stage, 2)
    stage.run.end()


@pytest.mark.parametrize("path", ["/v1/stop", "/v1/forget"])
async def test_a_parked_run_that_is_stopped_or_forgotten_goes_on_no_more(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage, path: str
) -> None:
    write_key("made-up-1")
    await start(talk, place)
    await works(stage, 1)
    await refuse(stage)
    await parked(talk)

    await talk.post(path, At(place=place), Done)

    assert not daemon.in_use
    assert [each.state for each in (await talk.status()).workspaces] == (
        [State.DORMANT] if path == "/v1/stop" else []
    )


async def test_the_next_daemon_leaves_a_parked_run_to_a_person(
    start_daemon: StartDaemon, talk: Talk, place: Place, stage: Stage
) -> None:
    first = await start_daemon()
    write_key("made-up-1")
    await start(talk, place)
    await works(stage, 1)
    await refuse(stage)
    await parked(talk)
    await first.close()
    assert stage.run.orders == []

    second = await start_daemon()
    write_key("made-up-2")

    found = await status(talk)
    assert (found.state, found.error, second.in_use) == (State.LOGIN, REFUSED, False)
    await start(talk, place, None)
    await works(stage, 2)
    stage.run.end()


async def test_what_waited_when_a_daemon_ended_is_interrupted_and_waits_for_nothing(
    start_daemon: StartDaemon, talk: Talk, place: Place, stage: Stage
) -> None:
    first = await start_daemon()
    await start(talk, place)
    await works(stage, 1)
    await stage.run.tell("retry", "到上限了", waiting="limit", until=1766502000.0)
    await first.close()

    await start_daemon()

    found = await status(talk)
    assert (found.state, found.until) == (State.INTERRUPTED, None)


async def test_the_environment_of_a_parked_run_is_in_no_file(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    write_key("made-up-1")
    os.environ["MADE_UP_SECRET"] = "made-up-and-secret"
    try:
        await start(talk, place)
    finally:
        del os.environ["MADE_UP_SECRET"]
    await works(stage, 1)
    await refuse(stage)
    await parked(talk)
    await daemon.close()

    state = Path(os.environ["XDG_STATE_HOME"])
    files = [path for path in state.rglob("*") if path.is_file()]
    assert files and not any(b"made-up-and-secret" in path.read_bytes() for path in files)
