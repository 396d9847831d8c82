"""Starting, joining, ending a run."""

import asyncio
from typing import Any

import pytest

from flower_protocol.control import At, Done, Failure
from flower_protocol.handshake import Hello
from flower_protocol.runs import LEAST_WINDOW, RunOptions, RunStarted, StartRun
from flower_protocol.workspaces import Place, State
from flowerd.daemon import Daemon
from flowerd.run import Ending
from tests.integration.flowerd.scripted_run import Stage
from tests.integration.flowerd.talk import Refusal, Talk


async def _start(talk: Talk, place: Place, ask: str | None = "做点什么", **options: object) -> RunStarted:
    wanted = StartRun(place=place, ask=ask, options=RunOptions(**options))  # type: ignore[arg-type]
    return await talk.post("/v1/runs", wanted, RunStarted)


async def test_a_start_begins_a_run_and_tells_where_its_events_begin(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    started = await _start(talk, place)

    async with await talk.attach(
        Hello(place=place, generation=started.generation, cursor=started.seq)
    ) as client:
        event = await client.until_event("run_started")
    assert (event.seq, event.text, event.payload["woke"]) == (started.seq + 1, "做点什么", 1)
    assert (started.joined, stage.run.request.ask) == (False, "做点什么")


async def test_a_second_start_joins_and_its_words_become_a_remark(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    first = await _start(talk, place)

    second = await _start(talk, place, "顺便加个测试")

    assert (second.joined, second.seq, len(stage.runs)) == (True, first.seq, 1)
    assert stage.run.orders == ["say 顺便加个测试"]


async def test_two_starts_at_the_same_moment_are_one_run(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    stage.gate.clear()
    starts = [asyncio.create_task(_start(talk, place, f"第 {n} 个")) for n in range(5)]
    await asyncio.sleep(0.1)
    stage.gate.set()

    started = await asyncio.gather(*starts)

    assert [each.joined for each in started].count(False) == 1
    assert (len(stage.runs), len(stage.run.orders)) == (1, 4)


async def test_a_run_that_can_not_be_set_up_is_refused_and_leaves_nothing(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    stage.refusal = Failure(code="no-credentials", values={"text": "四行字"})

    with pytest.raises(Refusal) as refusal:
        await _start(talk, place)

    assert (refusal.value.status, refusal.value.code) == (400, "no-credentials")
    assert (await talk.status()).workspaces == ()


@pytest.mark.parametrize("ask", ["", "  \n\t "])
async def test_blank_words_are_no_request(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage, ask: str
) -> None:
    with pytest.raises(Refusal) as refusal:
        await _start(talk, place, ask)

    assert (refusal.value.code, stage.runs) == ("no-request", [])


async def test_a_folder_that_is_not_there_is_named(daemon: Daemon, talk: Talk, place: Place) -> None:
    missing = Place(workspace=place.workspace + "/fehlt", run_dir=place.run_dir)

    with pytest.raises(Refusal) as refusal:
        await _start(talk, missing)

    assert refusal.value.code == "no-such-folder"
    assert refusal.value.values == {"path": missing.workspace}


@pytest.mark.parametrize(
    ("options", "flag"),
    [
        ({"keep": True}, "--keep"),
        ({"script": "x"}, "--script (without --rehearse)"),
        ({"goal": False, "rounds": 2}, "--rounds (--no-goal)"),
        ({"clarify_only": True, "judge_can_run": True}, "--judge-can-run (--clarify-only)"),
    ],
)
async def test_a_flag_that_can_not_take_effect_is_refused_by_its_name(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage, options: dict[str, Any], flag: str
) -> None:
    with pytest.raises(Refusal) as refusal:
        await _start(talk, place, **options)

    assert (refusal.value.status, refusal.value.code, refusal.value.values) == (
        501,
        "not-available",
        {"flag": flag},
    )
    assert stage.runs == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rounds": 0}, "--rounds 0"),
        ({"asks": -2}, "--asks -2"),
        ({"timeout_s": -1.0}, "--timeout -1.0"),
        ({"budget_usd": 0.0}, "--budget 0.0"),
    ],
)
async def test_a_value_without_a_meaning_is_refused(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(Refusal) as refusal:
        await _start(talk, place, **options)

    assert (refusal.value.status, refusal.value.code) == (400, "bad-value")
    assert " ".join(refusal.value.values.values()) == said
    assert stage.runs == []


@pytest.mark.parametrize("window", [0, LEAST_WINDOW - 1])
async def test_a_window_that_is_too_small_is_refused_with_the_least_there_can_be(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage, window: int
) -> None:
    with pytest.raises(Refusal) as refusal:
        await _start(talk, place, window=window)
    await _start(talk, place, window=LEAST_WINDOW)

    least = {"flag": "--window", "value": str(window), "least": "100000"}
    assert (refusal.value.status, refusal.value.code, refusal.value.values) == (400, "too-small", least)
    assert len(stage.runs) == 1


async def test_an_isolated_folder_stays_so_until_a_new_start(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    for options in ({"isolate": True}, {}, {"new": True}):
        await _start(talk, place, **options)
        async with await talk.attach(Hello(place=place)) as client:
            stage.run.end()
            await client.until_event("run_ended")
            while client.status is None or client.status.state.active:
                await client.receive()

    assert [run.request.options.isolate for run in stage.runs] == [True, True, False]


@pytest.mark.parametrize(
    ("ending", "state"),
    [(Ending.DONE, State.DORMANT), (Ending.STOPPED, State.DORMANT), (Ending.FAILED, State.FAILED)],
)
async def test_how_a_run_ended_is_told_and_then_where_the_place_stands(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage, ending: Ending, state: State
) -> None:
    await _start(talk, place)
    async with await talk.attach(Hello(place=place)) as client:
        await client.until_event("run_started")

        error = "没钱了" if ending is Ending.FAILED else None
        stage.run.end(ending, step="干活", error=error, cost_usd=0.5)

        ended = await client.until_event("run_ended")
        while client.status is None or client.status.state.active:
            await client.receive()
    assert (ended.payload["outcome"], ended.payload["cost_usd"]) == (ending.value, 0.5)
    assert (client.status.state, client.status.error) == (state, error)


async def test_a_run_that_breaks_off_fails_alone(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    await _start(talk, place)

    stage.run.break_off(ZeroDivisionError("a bug"))

    async with await talk.attach(Hello(place=place)) as client:
        ended = await client.until_event("run_ended")
    assert (ended.payload["outcome"], ended.payload["error"]) == ("failed", "internal")
    [status] = (await talk.status()).workspaces
    assert status.state is State.FAILED


async def test_a_place_can_be_woken_again_after_any_end(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    for ending in (Ending.DONE, Ending.STOPPED, Ending.FAILED):
        started = await _start(talk, place)
        async with await talk.attach(
            Hello(place=place, generation=started.generation, cursor=started.seq)
        ) as client:
            stage.run.end(ending)
            await client.until_event("run_ended")

    assert not (await _start(talk, place)).joined


async def test_a_stop_returns_when_the_run_has_ended(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    await _start(talk, place)

    await talk.post("/v1/stop", At(place=place), Done)

    [status] = (await talk.status()).workspaces
    assert status.state is State.DORMANT


async def test_without_a_run_orders_say_that_there_is_none(daemon: Daemon, talk: Talk, place: Place) -> None:
    for path in ("/v1/stop", "/v1/interrupt"):
        with pytest.raises(Refusal) as refusal:
            await talk.post(path, At(place=place), Done)

        assert (refusal.value.status, refusal.value.code) == (409, "not-running")
        assert refusal.value.values == {"workspace": place.workspace}
