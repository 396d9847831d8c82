"""What the line below the screen says while a run waits for the network, a limit or the service."""

import time

from flower_protocol.control import Happened, Interrupt, Say
from flower_protocol.events import EventRecord
from flower_protocol.handshake import Snapshot
from flower_protocol.workspaces import State
from tests.support.processes import eventually
from tests.unit.flowerctl.conversing import Talk, event, standing


async def test_an_outage_is_said_for_as_long_as_it_lasts_and_the_time_runs() -> None:
    talk = Talk()
    await talk.connect()
    assert talk.dialogue.waiting_for() == ""

    await talk.hear(standing(State.OFFLINE, updated_at=100.0))
    talk.now = 135.0
    assert talk.dialogue.waiting_for() == "断网了,等它回来 · 已等 0:35"
    await talk.hear(standing(State.OFFLINE, updated_at=130.0, context=7))
    assert talk.dialogue.waiting_for() == "断网了,等它回来 · 已等 0:35"

    await talk.hear(standing(State.RUNNING, updated_at=140.0))
    assert talk.dialogue.waiting_for() == ""


async def test_who_comes_later_is_told_since_when_it_waits() -> None:
    talk = Talk()
    talk.now = 160.0
    await talk.connect(standing(State.OFFLINE, updated_at=150.0).status)
    lost = EventRecord(seq=1, at=100.0, kind="retry", text="不可达", payload={"waiting": "network"})
    tries = EventRecord(seq=2, at=150.0, kind="retry", payload={"attempt": 5})

    await talk.hear(Snapshot(generation="g1", last_seq=2, events=(lost, tries)))

    await eventually(lambda: talk.dialogue.waiting_for() == "断网了,等它回来 · 已等 1:00")


async def test_a_limit_says_until_when_and_how_long_that_still_is() -> None:
    talk = Talk()
    await talk.connect()
    until = time.mktime((2031, 5, 6, 20, 0, 0, 0, 0, -1))
    talk.now = until - 3723.0

    await talk.hear(standing(State.LIMITED, until=until))

    assert talk.dialogue.waiting_for() == "到用量上限了,等到 05-06 20:00 · 还有 1:02:03"


async def test_a_limit_without_a_time_is_said_too() -> None:
    talk = Talk()
    await talk.connect()
    talk.now = 160.0

    await talk.hear(standing(State.LIMITED, updated_at=100.0))

    assert talk.dialogue.waiting_for() == "到用量上限了,隔一阵再试 · 已等 1:00"


async def test_an_overload_is_said_for_as_long_as_it_lasts_though_the_run_counts_as_running() -> None:
    talk = Talk(generation="g1", cursor=0)
    await talk.connect()
    talk.now = 31.0

    await talk.hear(Happened(events=(event(1, "retry", "过载", waiting="overload"), event(2, "retry"))))
    assert talk.dialogue.waiting_for() == "服务端忙不过来,等它缓一缓 · 已等 0:30"

    await talk.hear(Happened(events=(event(3, "retry", "恢复,继续", waiting=None),)))
    assert talk.dialogue.waiting_for() == ""


async def test_words_and_an_interrupt_go_through_while_it_waits() -> None:
    talk = Talk()
    line = await talk.connect()
    await talk.hear(standing(State.OFFLINE))

    talk.dialogue.line("顺便加个测试")
    talk.dialogue.ctrl_c()

    await eventually(lambda: line.of(Say) and line.of(Interrupt))
    assert talk.dialogue.prompt() == "> "
