"""What a person says to a run: on disk first, counted once, lost to nothing; and holding it."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from flower_protocol.control import (
    Accepted,
    At,
    Done,
    Failure,
    Interrupt,
    Resume,
    ResumeAt,
    Say,
    SayTo,
    Stop,
)
from flower_protocol.handshake import Hello, Snapshot
from flower_protocol.runs import RunOptions, RunStarted, StartRun
from flower_protocol.workspaces import Place, State
from flowerd import mailbox
from flowerd.daemon import Daemon
from flowerd.run import Ending
from flowerd.settings import Settings
from tests.integration.flowerd.conftest import StartDaemon
from tests.integration.flowerd.scripted_run import ScriptedRun, Stage
from tests.integration.flowerd.talk import Attached, Refusal, Talk
from tests.support.processes import eventually


async def _start(talk: Talk, place: Place, ask: str | None = "开始", **options: Any) -> RunStarted:
    wanted = StartRun(place=place, ask=ask, options=RunOptions(**options))
    return await talk.post("/v1/runs", wanted, RunStarted)


async def test_a_remark_is_on_disk_when_it_is_accepted_and_reaches_the_run(
    client: Attached, run: ScriptedRun, settings: Settings
) -> None:
    await client.send(Say(text="用 Python 3.11", id="r1"))
    accepted = await client.until(Accepted)

    journal = b"".join(path.read_bytes() for path in settings.state.rglob("*.jsonl"))
    assert accepted.id == "r1"
    assert "用 Python 3.11".encode() in journal
    assert run.orders == ["say 用 Python 3.11"]


async def test_the_receipt_comes_when_the_brief_has_the_words_and_holds_up_nobody(
    client: Attached, run: ScriptedRun, stage: Stage
) -> None:
    stage.brief.clear()
    await client.send(Say(text="支持表格", id="r1"))
    await eventually(lambda: run.orders == ["say 支持表格"])
    await run.tell("text", "weiter")
    await client.until_event("text")
    assert not any(isinstance(each, Accepted) for each in client.messages)

    stage.brief.set()

    assert (await client.until(Accepted)).in_brief is True


async def test_the_receipt_claims_nothing_of_a_brief_that_took_no_words(
    client: Attached, run: ScriptedRun, stage: Stage
) -> None:
    stage.in_brief = False
    await client.send(Say(text="x", id="r1"))
    await client.send(Say(text="x", id="r1"))

    assert [(await client.until(Accepted)).in_brief for _ in range(2)] == [False, False]


async def test_a_brief_on_a_disk_that_hangs_delays_the_receipt_by_seconds_only(
    client: Attached, run: ScriptedRun, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox, "BRIEF_SECONDS", 0.1)
    stage.brief.clear()
    await client.send(Say(text="x", id="r1"))

    assert (await client.until(Accepted)).in_brief is None


async def test_words_that_meet_the_end_while_the_brief_takes_them_are_told_to_the_next_once(
    client: Attached, run: ScriptedRun, stage: Stage, talk: Talk, place: Place
) -> None:
    stage.brief.clear()
    await client.send(Say(text="spät", id="r1"))
    await eventually(lambda: run.orders == ["say spät"])

    run.end(Ending.DONE, unheard=("spät",))
    ended = await client.until_event("run_ended")
    stage.brief.set()
    await client.until(Accepted)
    await _until_dormant(talk)
    await _start(talk, place, ask=None)

    assert (ended.payload["unheard"], stage.run.unheard) == (["spät"], ("spät",))


async def test_a_remark_said_twice_counts_once(client: Attached, run: ScriptedRun) -> None:
    for _ in range(3):
        await client.send(Say(text="einmal", id="r1"))
    for _ in range(3):
        await client.until(Accepted)

    assert run.orders == ["say einmal"]
    assert [event.kind for event in client.events].count("remark") == 1


async def test_a_remark_said_again_to_the_next_daemon_counts_once(
    start_daemon: StartDaemon, talk: Talk, place: Place, stage: Stage
) -> None:
    first = await start_daemon()
    await _start(talk, place)
    await talk.post("/v1/say", SayTo(place=place, text="einmal", id="r1"), Done)
    await first.close()
    await start_daemon()

    await talk.post("/v1/say", SayTo(place=place, text="einmal", id="r1"), Done)

    with pytest.raises(Refusal) as refusal:
        await talk.post("/v1/say", SayTo(place=place, text="neu", id="r2"), Done)
    assert refusal.value.code == "not-running"


async def test_a_remark_without_a_run_is_refused_by_its_identity(
    daemon: Daemon, talk: Talk, place: Place
) -> None:
    async with await talk.attach(Hello(place=place)) as client:
        await client.send(Say(text="hallo?", id="r9"))
        failure = await client.until(Failure)

    assert (failure.code, failure.id) == ("not-running", "r9")


async def test_a_blank_remark_is_refused(client: Attached, run: ScriptedRun) -> None:
    await client.send(Say(text=" \n", id="r1"))
    failure = await client.until(Failure)

    assert (failure.code, failure.id, run.orders) == ("no-request", "r1", [])


async def test_a_remark_that_can_not_be_saved_is_not_accepted_and_not_said(
    client: Attached, run: ScriptedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pwrite

    def refuse(descriptor: int, data: Any, offset: int) -> int:
        if b"r1" in bytes(data):
            raise OSError(28, "No space left on device")
        return real(descriptor, data, offset)

    monkeypatch.setattr(os, "pwrite", refuse)
    await client.send(Say(text="x", id="r1"))
    failure = await client.until(Failure)
    monkeypatch.undo()

    assert (failure.code, failure.values["detail"], run.orders) == (
        "not-writable",
        "No space left on device",
        [],
    )


async def test_a_remark_whose_client_vanishes_before_the_answer_still_reaches_the_run(
    run: ScriptedRun, talk: Talk, place: Place
) -> None:
    client = await talk.attach(Hello(place=place))
    await client.until(Snapshot)

    await client.send(Say(text="letzte Worte", id="r1"))
    client.vanish()

    await eventually(lambda: run.orders == ["say letzte Worte"])


async def test_what_a_run_did_not_get_to_hear_is_told_to_the_next(
    run: ScriptedRun, talk: Talk, place: Place, stage: Stage
) -> None:
    run.end(Ending.DONE, unheard=("zu spät gesagt",))
    await _until_dormant(talk)

    await _start(talk, place, ask=None)

    assert stage.run.unheard == ("zu spät gesagt",)


async def test_what_was_accepted_before_a_crash_is_told_to_the_next_run(
    start_daemon: StartDaemon, talk: Talk, place: Place, stage: Stage
) -> None:
    first = await start_daemon()
    await _start(talk, place, "der Auftrag")
    await stage.run.tell("text", "los", subagent=False)
    await talk.post("/v1/say", SayTo(place=place, text="gehört", id="r1"), Done)
    await stage.run.tell("tool_result", "ok", subagent=False)
    await stage.run.tell("text", "verstanden", subagent=False)
    await talk.post("/v1/say", SayTo(place=place, text="ungehört", id="r2"), Done)
    await stage.run.tell("text", "noch im selben Zug", subagent=False)
    await first.close()
    await start_daemon()

    await _start(talk, place, ask=None)

    assert stage.run.unheard == ("ungehört",)


async def test_a_request_that_never_reached_the_model_is_told_to_the_next_run(
    start_daemon: StartDaemon, talk: Talk, place: Place, stage: Stage
) -> None:
    first = await start_daemon()
    await _start(talk, place, "der Auftrag")
    await first.close()
    await start_daemon()

    await _start(talk, place, ask="und noch etwas")

    assert (stage.run.unheard, stage.run.request.ask) == (("der Auftrag",), "und noch etwas")


async def test_a_new_beginning_is_told_nothing_of_before(
    run: ScriptedRun, talk: Talk, place: Place, stage: Stage
) -> None:
    run.end(Ending.DONE, unheard=("alt",))
    await _until_dormant(talk)

    await _start(talk, place, new=True)

    assert stage.run.unheard == ()


async def test_an_interrupt_holds_and_words_end_the_hold(client: Attached, run: ScriptedRun) -> None:
    await client.send(Interrupt())
    interrupted = await client.until_event("interrupted")
    await client.send(Resume(text="nimm lieber sqlite"))
    await client.until_event("resumed")

    assert interrupted.payload == {"who": "tty1"}
    assert run.orders == ["pause", "say nimm lieber sqlite", "resume"]
    assert [event.text for event in client.events if event.kind == "remark"] == ["nimm lieber sqlite"]


async def test_enter_ends_the_hold_without_words(client: Attached, run: ScriptedRun) -> None:
    await client.send(Interrupt())
    await client.send(Resume())
    await client.until_event("resumed")

    assert run.orders == ["pause", "resume"]


async def test_without_a_hold_the_words_of_a_resume_are_a_remark(client: Attached, run: ScriptedRun) -> None:
    await client.send(Resume())
    await client.send(Resume(text="und jetzt"))
    await client.until_event("remark")
    await eventually(lambda: run.orders)

    assert run.orders == ["say und jetzt"]


async def test_a_hold_ends_without_words_when_the_one_who_holds_goes_away(
    run: ScriptedRun, talk: Talk, place: Place
) -> None:
    async with await talk.attach(Hello(place=place)) as stays:
        holds = await talk.attach(Hello(place=place))
        await holds.send(Interrupt())
        await stays.until_event("interrupted")
        await holds.close()
        await stays.until_event("resumed")

    assert run.orders == ["pause", "resume"]


async def test_a_hold_of_two_lasts_until_both_have_gone(run: ScriptedRun, talk: Talk, place: Place) -> None:
    one, two = [await talk.attach(Hello(place=place)) for _ in range(2)]
    for each in (one, two):
        await each.send(Interrupt())
        await each.send(Say(text="", id="marker"))
        await each.until(Failure)

    await one.close()
    await two.send(Say(text="", id="marker"))
    await two.until(Failure)
    assert run.orders == ["pause"]
    await two.close()

    await eventually(lambda: run.orders == ["pause", "resume"])


async def test_the_words_of_anybody_end_a_hold(run: ScriptedRun, talk: Talk, place: Place) -> None:
    await talk.post("/v1/interrupt", At(place=place), Done)

    await talk.post("/v1/say", SayTo(place=place, text="weiter so", id="r1"), Done)

    assert run.orders == ["pause", "say weiter so", "resume"]


async def test_a_hold_by_a_single_request_ends_by_another(run: ScriptedRun, talk: Talk, place: Place) -> None:
    await talk.post("/v1/interrupt", At(place=place), Done)
    await talk.post("/v1/resume", ResumeAt(place=place), Done)

    assert run.orders == ["pause", "resume"]


async def test_a_stop_while_on_hold_ends_the_run(client: Attached, run: ScriptedRun) -> None:
    await client.send(Interrupt())
    await client.send(Stop())

    ended = await client.until_event("run_ended")
    assert ended.payload["outcome"] == "stopped"


async def test_a_run_that_does_not_stop_has_its_children_ended(
    run: ScriptedRun, talk: Talk, place: Place, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flowerd.active_run.STOP_SECONDS", 0.2)
    monkeypatch.setattr("flowerd.active_run.STOP_AGAIN_SECONDS", 0.05)
    stage.obedient = False

    await talk.post("/v1/stop", At(place=place), Done)

    await eventually(lambda: run.orders[-1] == "terminate stopped-by-human")
    assert run.orders.count("stop") > 1


async def test_orders_that_come_while_a_run_is_set_up_wait_for_it(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    stage.gate.clear()
    starting = asyncio.create_task(_start(talk, place))
    await eventually(lambda: stage.runs)
    saying = asyncio.create_task(talk.post("/v1/say", SayTo(place=place, text="gleich", id="r"), Done))
    await asyncio.sleep(0.05)

    stage.gate.set()
    await starting
    await saying

    assert stage.run.orders == ["say gleich"]


async def test_one_folder_under_two_names_is_one_workspace(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(place.workspace)
    await _start(talk, place)

    joined = await _start(talk, Place(workspace=str(link), run_dir=f"{link}/../link/runs"), "über den Link")

    assert (joined.joined, len(stage.runs)) == (True, 1)
    assert len((await talk.status()).workspaces) == 1


async def test_one_folder_with_two_run_dirs_is_two_workspaces(
    daemon: Daemon, talk: Talk, place: Place, stage: Stage
) -> None:
    await _start(talk, place)

    second = await _start(talk, Place(workspace=place.workspace, run_dir=place.run_dir + "-2"))

    assert (second.joined, len(stage.runs)) == (False, 2)


async def _until_dormant(talk: Talk) -> None:
    while (await talk.status()).workspaces[0].state is not State.DORMANT:
        continue  # the run has been told to end; each look lets the daemon go on
