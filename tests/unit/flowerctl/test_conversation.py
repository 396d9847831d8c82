"""The conversation against a line in memory: what is shown, once, whatever happens to the line; and how it ends."""

import asyncio

import pytest

from flower_protocol.control import Changed, Failure, Happened, Seen
from flower_protocol.handshake import Snapshot
from flower_protocol.workspaces import State, WorkspaceStatus
from flowerctl.attach import conversation as module
from flowerctl.attach.outcome import End
from flowerctl.attachment import Lost
from tests.support.processes import eventually
from tests.unit.flowerctl.conversing import RUNNING, Talk, event, happened, shown, snapshot, standing


async def test_the_first_hello_names_no_place() -> None:
    hello = Talk().conversation.hello("1")

    assert (hello.generation, hello.cursor) == (None, None)


async def test_after_a_loss_the_hello_names_the_last_event_shown() -> None:
    talk = Talk()
    await talk.connect()
    await talk.hear(snapshot(1, 2), happened(3, 4))
    await talk.lose()

    hello = talk.conversation.hello("1")

    assert (hello.generation, hello.cursor) == ("g1", 4)


async def test_each_event_is_shown_once_over_a_reconnect() -> None:
    talk = Talk(generation="g1", cursor=0)
    await talk.connect()
    await talk.hear(happened(1, 2, 3))
    await talk.lose()
    await talk.connect()
    await talk.hear(happened(4, 5))

    assert shown(talk) == [1, 2, 3, 4, 5]


async def test_a_snapshot_of_the_same_life_repeats_nothing() -> None:
    talk = Talk(generation="g1", cursor=0)
    await talk.connect()
    await talk.hear(happened(1, 2, 3), snapshot(2, 3, 4, 5, omitted=0), happened(6))

    assert shown(talk) == [1, 2, 3, 4, 5, 6]


async def test_a_snapshot_of_another_life_is_shown_whole_and_continued_from() -> None:
    talk = Talk(generation="g1", cursor=0)
    await talk.connect()
    await talk.hear(happened(1, 2))
    await talk.lose()
    await talk.connect(generation="g2")
    await talk.hear(snapshot(-1, 0, 1, 2, generation="g2"), happened(3))

    assert shown(talk) == [1, 2, -1, 0, 1, 2, 3]
    assert talk.conversation.hello("1").generation == "g2"
    assert talk.conversation.hello("1").cursor == 3


async def test_what_could_not_be_shown_is_counted() -> None:
    talk = Talk()
    await talk.connect()
    await talk.hear(snapshot(8, 9, omitted=7))

    assert any("7" in line for line in talk.surface.told)


async def test_what_was_shown_is_reported_now_and_then() -> None:
    talk = Talk(generation="g1", cursor=0)
    line = await talk.connect()
    await talk.hear(happened(1, 2), happened(3))

    await eventually(lambda: line.of(Seen) and line.of(Seen)[-1].seq == 3)
    assert len(line.of(Seen)) <= 2


async def test_the_last_event_is_reported_before_leaving() -> None:
    talk = Talk(generation="g1", cursor=0)
    line = await talk.connect()
    await talk.hear(happened(1), Happened(events=(event(2, "run_ended", outcome="done"),)))
    await talk.end()

    assert line.of(Seen)[-1].seq == 2 and line.closed


async def test_detaching_leaves_the_run_alone() -> None:
    talk = Talk()
    line = await talk.connect()
    talk.dialogue.line("/detach")
    await talk.end()

    assert talk.conversation.outcome.result().end is End.LEFT
    assert line.sent == []


async def test_a_run_that_ends_ends_the_attachment() -> None:
    talk = Talk(generation="g1", cursor=3)
    await talk.connect()
    ended = event(5, "run_ended", outcome="failed", error="x")
    await talk.hear(happened(4), Happened(events=(ended,)))
    await talk.end()

    assert talk.conversation.outcome.result().event == ended


async def test_the_end_of_an_earlier_run_in_the_past_ends_nothing() -> None:
    talk = Talk()
    await talk.connect()
    past = (event(1, "run_ended", outcome="done"), event(2, "run_started"))
    await talk.hear(Snapshot(generation="g1", last_seq=2, events=past), happened(3))

    assert not talk.conversation.outcome.done()


async def test_a_workspace_that_the_daemon_died_under_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETTLE_SECONDS", 0.05)
    talk = Talk(generation="g1", cursor=7)
    cut_off = WorkspaceStatus(workspace="/w", run_dir="/r", state=State.INTERRUPTED)
    await talk.connect(cut_off, generation="g2")
    await talk.hear(snapshot(generation="g2"))
    await talk.end()

    assert talk.conversation.outcome.result().end is End.CUT_OFF


async def test_a_daemon_that_goes_on_by_itself_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETTLE_SECONDS", 0.2)
    talk = Talk(generation="g1", cursor=7)
    cut_off = WorkspaceStatus(workspace="/w", run_dir="/r", state=State.INTERRUPTED)
    await talk.connect(cut_off, generation="g2")
    await talk.hear(snapshot(generation="g2"), Changed(status=RUNNING))
    await asyncio.sleep(0.3)  # as long as it takes for nothing to happen

    assert not talk.conversation.outcome.done()


async def test_a_version_that_cannot_be_spoken_ends_it() -> None:
    talk = Talk()
    await talk.connect()
    await talk.hear(Failure(code="client-older", values={"client": "1", "daemon": "2"}))
    await talk.end()

    assert talk.conversation.outcome.result().end is End.REFUSED


async def test_a_daemon_that_takes_leave_is_no_dead_one() -> None:
    talk = Talk()
    await talk.connect()
    await talk.line.incoming.put(Failure(code="shutting-down"))

    with pytest.raises(Lost) as lost:
        await talk.end()

    assert lost.value.orderly


async def test_a_refusal_that_nobody_saw_end_is_read_from_where_the_workspace_stands() -> None:
    talk = Talk()
    await talk.connect()
    await talk.hear(standing(State.LOGIN, error="401 refused"))
    await talk.end()

    outcome = talk.conversation.outcome.result()
    assert outcome.end is End.ENDED
    assert outcome.reason.startswith("凭证被拒了(401 refused)。")
