"""Ctrl-C in a conversation: once it holds the run, twice it stops it."""

from flower_protocol.control import Accepted, Happened, Interrupt, Say, Stop
from flower_protocol.handshake import Snapshot
from flower_protocol.workspaces import Question, State, WorkspaceStatus
from flowerctl.attach.dialogue import Dialogue
from flowerctl.attach.outcome import End
from flowerctl.language import Texts
from tests.support.processes import eventually
from tests.unit.flowerctl.conversing import Talk, event, shown


async def test_ctrl_c_interrupts_and_the_next_line_lets_it_go_on() -> None:
    talk = Talk()
    line = await talk.connect()
    talk.dialogue.ctrl_c()
    assert talk.surface.told == [
        "! 已打断这一轮。正在跑的 subagent 会丢掉半成品。",
        "  要说什么?(直接回车 = 什么都不说,接着跑;再按一次 Ctrl+C = 退出)",
    ]
    assert talk.dialogue.prompt() == "> "

    talk.dialogue.line("改用 B")
    await eventually(lambda: line.of(Say))

    [said] = line.of(Say)
    assert (line.sent, said.text) == ([Interrupt(), said], "改用 B")
    assert talk.dialogue.prompt().startswith("(直接说")


async def test_ctrl_c_tells_of_questions_that_stay_open() -> None:
    talk = Talk()
    status = WorkspaceStatus(
        workspace="/w", run_dir="/r", state=State.ASKING, question=Question(id="q1", text="?")
    )
    await talk.connect(status)

    talk.dialogue.ctrl_c()

    assert "  (有 1 个提问还等着,打断不影响它们)" in talk.surface.told


async def test_ctrl_c_twice_stops_the_run() -> None:
    talk = Talk(generation="g1", cursor=0)
    line = await talk.connect()
    talk.dialogue.ctrl_c()
    talk.dialogue.ctrl_c()
    await eventually(lambda: line.of(Stop))
    ended = event(1, "run_ended", outcome="stopped", error="stopped-by-human")
    await talk.hear(Happened(events=(ended,)))
    await talk.end()

    assert line.of(Stop) == [Stop()]
    assert talk.dialogue.stopping
    assert talk.conversation.outcome.result().event == ended


async def test_a_line_between_two_presses_disarms_the_first() -> None:
    talk = Talk()
    line = await talk.connect()
    talk.dialogue.ctrl_c()
    talk.dialogue.line("")
    talk.dialogue.ctrl_c()
    await eventually(lambda: len(line.of(Interrupt)) == 2)

    assert line.of(Stop) == []


async def test_a_hold_that_ended_elsewhere_disarms_the_first_press() -> None:
    talk = Talk(generation="g1", cursor=0)
    line = await talk.connect()
    talk.dialogue.ctrl_c()
    await talk.hear(Happened(events=(event(1, "interrupted", who="me@tty"), event(2, "resumed"))))
    talk.dialogue.ctrl_c()
    await eventually(lambda: len(line.of(Interrupt)) == 2)

    assert line.of(Stop) == []


async def test_a_press_before_the_connection_stands_is_kept_for_it() -> None:
    talk = Talk()
    talk.dialogue.ctrl_c()
    assert talk.surface.told == ["! 还没接上 flowerd,接上就打断。再按一次 Ctrl+C = 停下并退出"]

    line = await talk.connect()
    await eventually(lambda: line.of(Interrupt))


async def test_what_happened_before_the_press_does_not_end_its_hold() -> None:
    talk = Talk()
    talk.dialogue.ctrl_c()
    line = await talk.connect()
    past = (event(1, "resumed"), event(2, "run_ended", outcome="done"), event(3, "run_started"))
    await talk.hear(Snapshot(generation="g1", last_seq=3, events=past))
    talk.dialogue.ctrl_c()
    await eventually(lambda: line.of(Stop))

    assert talk.dialogue.stopping


async def test_two_presses_before_the_connection_stands_leave_at_once() -> None:
    talk = Talk()
    talk.dialogue.ctrl_c()
    talk.dialogue.ctrl_c()

    assert talk.conversation.outcome.result().end is End.UNSURE


async def test_words_that_ended_a_hold_get_their_receipt_when_they_are_accepted() -> None:
    talk = Talk(generation="g1", cursor=0)
    line = await talk.connect()
    talk.dialogue.ctrl_c()
    talk.dialogue.line("改用 B")
    await eventually(lambda: line.of(Say))
    identity = line.of(Say)[0].id
    remark = event(1, "remark", "改用 B", id=identity, who="me@tty")
    await talk.hear(Happened(events=(remark, event(2, "resumed"))))
    assert talk.surface.told[-1] == "> 改用 B" and 1 not in shown(talk)

    await talk.hear(Accepted(id=identity, in_brief=True))

    assert talk.surface.told[-1] == "+ 收到 (下个检查点送达;已追加进确认书)"


async def test_words_that_ended_a_hold_unheard_become_a_remark() -> None:
    talk = Talk(generation="g1", cursor=0)
    first = await talk.connect()
    talk.dialogue.ctrl_c()
    talk.dialogue.line("改用 B")
    await eventually(lambda: first.of(Say))
    await talk.lose()
    assert talk.conversation.unsent() == ("改用 B",)

    second = await talk.connect()
    await eventually(lambda: second.of(Say))

    assert second.of(Say) == first.of(Say)


async def test_without_anybody_to_type_an_interrupt_is_not_offered() -> None:
    talk = Talk()
    talk.dialogue = Dialogue(talk.conversation, talk.surface, Texts("zh"), answering=False)
    line = await talk.connect()

    talk.dialogue.ctrl_c()
    assert line.sent == []
    talk.dialogue.ctrl_c()
    await eventually(lambda: line.of(Stop))

    assert line.of(Interrupt) == []


async def test_another_persons_hold_changes_the_prompt_here_too() -> None:
    talk = Talk(generation="g1", cursor=0)
    await talk.connect()
    await talk.hear(Happened(events=(event(1, "interrupted", who="ann"),)))

    assert talk.dialogue.prompt() == "> "
    assert shown(talk) == [1]


async def test_ones_own_interrupt_of_another_day_is_shown_again() -> None:
    talk = Talk()
    await talk.connect()
    past = (event(1, "interrupted", who="me@tty"), event(2, "resumed"))
    await talk.hear(Snapshot(generation="g1", last_seq=2, events=past))

    assert shown(talk) == [1, 2]
