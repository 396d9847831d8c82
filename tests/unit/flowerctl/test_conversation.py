"""The conversation against a line in memory: what is shown, said, kept and said again."""

import asyncio
import time
from collections.abc import Collection, Sequence
from typing import Any

import pytest

from flower_protocol.control import (
    Accepted,
    Answer,
    Aside,
    Changed,
    Failure,
    FromClient,
    FromDaemon,
    Happened,
    Interrupt,
    Resume,
    Say,
    Seen,
    Stop,
)
from flower_protocol.events import EventRecord
from flower_protocol.handshake import Snapshot, Welcome
from flower_protocol.workspaces import Place, Question, State, WorkspaceStatus
from flowerctl.attach import conversation as module
from flowerctl.attach.conversation import Conversation
from flowerctl.attach.dialogue import Dialogue
from flowerctl.attach.outcome import End
from flowerctl.attachment import Attachment, Lost
from flowerctl.language import Texts
from flowerctl.output import Style
from tests.support.processes import eventually

PLACE = Place(workspace="/w", run_dir="/w/runs")
RUNNING = WorkspaceStatus(workspace="/w", run_dir="/w/runs", state=State.RUNNING, woke=1)


class Line(Attachment):
    """An attachment without a socket: the test puts in what the daemon says."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[FromDaemon | Exception] = asyncio.Queue()
        self.sent: list[FromClient] = []

    async def send(self, message: FromClient) -> None:
        self.sent.append(message)

    async def receive(self) -> FromDaemon:
        message = await self.incoming.get()
        if isinstance(message, Exception):
            raise message
        return message

    def of(self, kind: type) -> list[Any]:
        return [each for each in self.sent if isinstance(each, kind)]


class Recorder:
    """A surface that remembers."""

    def __init__(self) -> None:
        self.shown: list[EventRecord] = []
        self.told: list[str] = []
        self.asked: list[str] = []

    def show(self, events: Sequence[EventRecord], *, live: bool, own: Collection[int] = ()) -> None:
        self.shown.extend(event for event in events if event.seq not in own)

    async def room(self) -> None:
        return

    def tell(self, text: str, style: Style = Style.PLAIN) -> None:
        self.told.append(text)

    def asks(self, question: Question) -> None:
        self.asked.append(question.id)

    def stands(self, status: WorkspaceStatus) -> None:
        self.told.append(status.state.value)

    def changed(self, status: WorkspaceStatus | None = None) -> None:
        return


class Talk:
    """A conversation with one connection at a time."""

    def __init__(self, **options: Any) -> None:
        self.surface = Recorder()
        explain = {"explain": lambda failure: failure.code}
        self.conversation = Conversation(
            PLACE, self.surface, Texts("zh"), **explain | {"who": "me@tty"} | options
        )
        self.now = 0.0
        self.dialogue = Dialogue(self.conversation, self.surface, Texts("zh"), clock=lambda: self.now)
        self.line = Line()
        self._task: asyncio.Task[None] | None = None

    async def connect(
        self, status: WorkspaceStatus = RUNNING, generation: str = "g1", capabilities: tuple[str, ...] = ()
    ) -> Line:
        self.line = Line()
        welcome = Welcome(
            protocol=1, version="1", generation=generation, status=status, capabilities=capabilities
        )
        self._task = asyncio.create_task(self.conversation.converse(self.line, welcome), name="converse")
        await eventually(lambda: self.conversation.connected)
        return self.line

    async def hear(self, *messages: FromDaemon) -> None:
        for message in messages:
            await self.line.incoming.put(message)
        await eventually(self.line.incoming.empty)
        await asyncio.sleep(0)

    async def lose(self) -> None:
        await self.line.incoming.put(Lost(orderly=False))
        assert self._task is not None
        with pytest.raises(Lost):
            await self._task

    async def end(self) -> None:
        assert self._task is not None
        await self._task


def event(seq: int, kind: str = "text", text: str = "", **payload: Any) -> EventRecord:
    return EventRecord(seq=seq, at=float(seq), kind=kind, text=text, payload=payload)


def happened(*numbers: int) -> Happened:
    return Happened(events=tuple(event(number) for number in numbers))


def snapshot(*numbers: int, generation: str = "g1", omitted: int = 0) -> Snapshot:
    events = tuple(event(number) for number in numbers)
    last = max([0, *numbers])
    return Snapshot(generation=generation, last_seq=last, events=events, omitted=omitted)


def shown(talk: Talk) -> list[int]:
    return [each.seq for each in talk.surface.shown]


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

    assert line.of(Seen)[-1].seq == 2


async def test_a_remark_gets_its_receipt_when_it_is_accepted() -> None:
    talk = Talk()
    line = await talk.connect()
    talk.dialogue.line("支持表格")
    await eventually(lambda: line.of(Say))
    assert talk.surface.told == ["> 支持表格"]

    await talk.hear(Accepted(id=line.of(Say)[0].id))

    assert talk.surface.told == ["> 支持表格", "+ 收到 (下个检查点送达;已追加进确认书)"]
    assert talk.conversation.unsent() == ()


async def test_a_remark_that_was_not_accepted_is_said_again_with_the_same_id() -> None:
    talk = Talk()
    first = await talk.connect()
    talk.dialogue.line("支持表格")
    await eventually(lambda: first.of(Say))
    await talk.lose()

    second = await talk.connect()
    await eventually(lambda: second.of(Say))

    assert second.of(Say) == first.of(Say)


async def test_a_remark_typed_while_nobody_listens_is_kept_and_given_back() -> None:
    talk = Talk()
    await talk.connect()
    await talk.lose()

    talk.dialogue.line("别丢了我")

    assert talk.conversation.unsent() == ("别丢了我",)
    line = await talk.connect()
    await eventually(lambda: line.of(Say))


async def test_an_accepted_remark_is_not_said_again() -> None:
    talk = Talk()
    line = await talk.connect()
    talk.dialogue.line("一次")
    await eventually(lambda: line.of(Say))
    await talk.hear(Accepted(id=line.of(Say)[0].id))
    await talk.lose()

    again = await talk.connect()
    talk.dialogue.line("二次")
    await eventually(lambda: again.of(Say))

    assert [said.text for said in again.of(Say)] == ["二次"]


async def test_ones_own_remark_is_not_shown_a_second_time_but_anothers_is() -> None:
    talk = Talk(generation="g1", cursor=0)
    line = await talk.connect()
    talk.dialogue.line("我的")
    await eventually(lambda: line.of(Say))

    own = event(1, "remark", "我的", id=line.of(Say)[0].id, who="me@tty")
    await talk.hear(Happened(events=(own, event(2, "remark", "他的", id="x", who="ann"))))

    assert shown(talk) == [2]


async def test_a_remark_that_was_refused_is_given_back() -> None:
    talk = Talk()
    line = await talk.connect()
    talk.dialogue.line("太晚了")
    await eventually(lambda: line.of(Say))

    await talk.hear(Failure(code="not-running", id=line.of(Say)[0].id))

    assert "太晚了" in talk.surface.told[-1]
    assert talk.conversation.unsent() == ()


async def test_a_side_question_never_reaches_the_run() -> None:
    talk = Talk()
    line = await talk.connect()
    for typed in ("?为什么", "？为什么"):
        talk.dialogue.line(typed)
    talk.dialogue.line("这句才送")
    await eventually(lambda: line.of(Say))

    assert [said.text for said in line.of(Say)] == ["这句才送"]
    assert line.of(Resume) == [] and line.of(Answer) == []


async def test_a_number_answers_an_open_question_with_its_option() -> None:
    talk = Talk()
    question = Question(id="q1", text="要哪种?", options=("大的", "小的"))
    line = await talk.connect()
    await talk.hear(
        Changed(status=WorkspaceStatus(workspace="/w", run_dir="/r", state=State.ASKING, question=question))
    )
    assert talk.dialogue.prompt() == "你的回答 (回车=跳过,让它自己判断) > "

    talk.dialogue.line("2")
    await eventually(lambda: line.of(Answer))

    assert line.of(Answer) == [Answer(question_id="q1", text="小的")]


async def test_enter_skips_an_open_question() -> None:
    talk = Talk()
    status = WorkspaceStatus(
        workspace="/w", run_dir="/r", state=State.ASKING, question=Question(id="q1", text="?")
    )
    line = await talk.connect(status)

    talk.dialogue.line("")
    await eventually(lambda: line.of(Answer))

    assert line.of(Answer) == [Answer(question_id="q1", text="")]


def asking(question_id: str = "q1", *options: str) -> WorkspaceStatus:
    question = Question(id=question_id, text="要哪种?", options=options)
    return WorkspaceStatus(workspace="/w", run_dir="/r", state=State.ASKING, question=question)


def asked(seq: int, question_id: str, state: str = "asked", **payload: Any) -> EventRecord:
    about = {"kind": "question", "id": question_id, "state": state} | payload
    return EventRecord(seq=seq, at=float(seq), kind="ask", text="要哪种?", payload=about)


ANSWERING = "你的回答 (回车=跳过,让它自己判断) > "


async def test_a_question_answered_elsewhere_gives_the_prompt_back_at_once() -> None:
    talk = Talk(generation="g1", cursor=0)
    await talk.connect()
    await talk.hear(Happened(events=(asked(1, "q1"),)), Changed(status=asking()))
    assert talk.dialogue.prompt() == ANSWERING

    await talk.hear(Happened(events=(asked(2, "q1", "answered", answer="大的"),)))

    assert shown(talk) == [1, 2]
    assert talk.dialogue.prompt() != ANSWERING


async def test_what_is_typed_right_after_an_answer_is_a_remark() -> None:
    talk = Talk()
    line = await talk.connect(asking("q1", "大的"))

    talk.dialogue.line("1")
    talk.dialogue.line("再快点")
    await eventually(lambda: line.of(Say))

    assert [answer.text for answer in line.of(Answer)] == ["大的"]
    assert [said.text for said in line.of(Say)] == ["再快点"]


async def test_an_answer_that_came_second_says_which_one_counts() -> None:
    talk = Talk(explain=lambda failure: f"已经回答过了:{failure.values['answer']}")
    line = await talk.connect(asking())
    talk.dialogue.line("小的")
    await eventually(lambda: line.of(Answer))

    await talk.hear(Failure(code="already-answered", values={"answer": "大的"}, id="q1"))

    assert talk.surface.told == ["! 没收下(已经回答过了:大的)。原话:小的"]
    assert talk.dialogue.prompt() != ANSWERING


async def test_an_answer_that_was_not_taken_can_be_given_again() -> None:
    talk = Talk()
    line = await talk.connect(asking())
    talk.dialogue.line("")
    await eventually(lambda: line.of(Answer))

    await talk.hear(Failure(code="internal", id="q1"))

    assert talk.surface.told == ["! 没跳过:internal"]
    assert talk.dialogue.prompt() == ANSWERING


async def test_an_answer_is_said_again_after_a_loss() -> None:
    talk = Talk()
    first = await talk.connect(asking())
    talk.dialogue.line("大的")
    await eventually(lambda: first.of(Answer))
    await talk.lose()

    second = await talk.connect(asking())
    await eventually(lambda: second.of(Answer))

    assert second.of(Answer) == first.of(Answer)


async def test_who_comes_while_a_question_is_open_sees_it_last() -> None:
    talk = Talk()
    await talk.connect(asking())
    await talk.hear(
        Snapshot(generation="g1", last_seq=3, events=(asked(1, "q1"), event(2), event(3)), omitted=0)
    )

    assert talk.surface.asked == ["q1"]


async def test_a_question_in_sight_is_not_shown_twice() -> None:
    talk = Talk()
    await talk.connect(asking())
    await talk.hear(Snapshot(generation="g1", last_seq=2, events=(event(1), asked(2, "q1")), omitted=0))
    await talk.hear(Changed(status=asking()))

    assert shown(talk) == [1, 2] and talk.surface.asked == []


async def test_the_status_may_tell_of_a_question_before_its_event_does() -> None:
    talk = Talk(generation="g1", cursor=0)
    await talk.connect()
    await talk.hear(Changed(status=asking()), Happened(events=(asked(1, "q1"), event(2))))

    assert talk.surface.asked == ["q1"] and shown(talk) == [2]


async def test_after_an_interrupt_the_open_question_is_put_again() -> None:
    talk = Talk(generation="g1", cursor=0)
    await talk.connect()
    await talk.hear(Happened(events=(asked(1, "q1"),)), Changed(status=asking()))

    await talk.hear(Happened(events=(event(2, "interrupted", who="ann"), event(3, "resumed"))))

    assert talk.surface.asked == ["q1"]


async def test_a_second_question_waits_for_its_turn() -> None:
    talk = Talk(generation="g1", cursor=0)
    await talk.connect()
    await talk.hear(Happened(events=(asked(1, "q1"),)), Changed(status=asking("q1")))
    await talk.hear(Happened(events=(asked(2, "q2"),)))
    assert shown(talk) == [1]

    await talk.hear(Happened(events=(asked(3, "q1", "answered", answer="大的"),)))
    await talk.hear(Changed(status=asking("q2")))

    assert shown(talk) == [1, 3] and talk.surface.asked == ["q2"]


async def test_a_side_question_goes_to_who_takes_them_and_is_said_to_be_looked_into() -> None:
    talk = Talk()
    line = await talk.connect(asking(), capabilities=("aside",))
    talk.dialogue.line("？ 现在在干嘛")
    await eventually(lambda: line.of(Aside))

    await talk.hear(Accepted(id=line.of(Aside)[0].id))

    assert line.of(Aside)[0].text == "现在在干嘛" and line.of(Answer) == []
    assert talk.surface.told == ["> ？ 现在在干嘛", "  (旁路去看了,不打扰它干活)"]


async def test_a_question_mark_alone_asks_nothing() -> None:
    talk = Talk()
    await talk.connect(capabilities=("aside",))

    talk.dialogue.line("?")

    assert talk.surface.told == ["! ? 后面写上要问的"] and talk.conversation.unsent() == ()


async def test_an_empty_line_says_nothing_when_nothing_is_asked() -> None:
    talk = Talk()
    line = await talk.connect()

    talk.dialogue.line("")
    talk.dialogue.line("后一句")
    await eventually(lambda: line.of(Say))

    assert line.sent == line.of(Say)


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
    await eventually(lambda: line.of(Resume))

    assert line.sent == [Interrupt(), Resume(text="改用 B")]
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


async def test_words_that_ended_a_hold_unheard_become_a_remark() -> None:
    talk = Talk(generation="g1", cursor=0)
    first = await talk.connect()
    talk.dialogue.ctrl_c()
    talk.dialogue.line("改用 B")
    await eventually(lambda: first.of(Resume))
    await talk.lose()
    assert talk.conversation.unsent() == ("改用 B",)

    second = await talk.connect()
    await eventually(lambda: second.of(Say))

    assert [said.text for said in second.of(Say)] == ["改用 B"]


async def test_without_anybody_to_type_an_interrupt_is_not_offered() -> None:
    talk = Talk()
    talk.dialogue = Dialogue(talk.conversation, talk.surface, Texts("zh"), answering=False)
    line = await talk.connect()

    talk.dialogue.ctrl_c()
    assert line.sent == []
    talk.dialogue.ctrl_c()
    await eventually(lambda: line.of(Stop))

    assert line.of(Interrupt) == []


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


async def test_another_persons_hold_changes_the_prompt_here_too() -> None:
    talk = Talk(generation="g1", cursor=0)
    await talk.connect()
    await talk.hear(Happened(events=(event(1, "interrupted", who="ann"),)))

    assert talk.dialogue.prompt() == "> "
    assert shown(talk) == [1]


def standing(state: State, **about: Any) -> Changed:
    return Changed(status=WorkspaceStatus(workspace="/w", run_dir="/r", state=state, **about))


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


async def test_a_refusal_that_nobody_saw_end_is_read_from_where_the_workspace_stands() -> None:
    talk = Talk()
    await talk.connect()
    await talk.hear(standing(State.LOGIN, error="401 refused"))
    await talk.end()

    outcome = talk.conversation.outcome.result()
    assert outcome.end is End.ENDED
    assert outcome.reason.startswith("凭证被拒了(401 refused)。")


async def test_ones_own_interrupt_of_another_day_is_shown_again() -> None:
    talk = Talk()
    await talk.connect()
    past = (event(1, "interrupted", who="me@tty"), event(2, "resumed"))
    await talk.hear(Snapshot(generation="g1", last_seq=2, events=past))

    assert shown(talk) == [1, 2]


async def test_words_typed_just_before_leaving_are_waited_for() -> None:
    talk = Talk()
    line = await talk.connect()
    talk.dialogue.line("最后一句")
    talk.dialogue.leave()
    await eventually(lambda: line.of(Say))
    await talk.hear(Accepted(id=line.of(Say)[0].id))
    await talk.end()

    assert talk.conversation.unsent() == ()
