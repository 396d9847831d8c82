"""Questions in a conversation: one at a time, answered here or elsewhere, never lost."""

from flower_protocol.control import Answer, Changed, Failure, Happened, Say
from flower_protocol.handshake import Snapshot
from flower_protocol.workspaces import Question, State, WorkspaceStatus
from tests.support.processes import eventually
from tests.unit.flowerctl.conversing import ANSWERING, Talk, asked, asking, event, shown


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


async def test_a_line_that_was_begun_before_the_question_is_a_remark_and_leaves_it_open() -> None:
    talk = Talk()
    line = await talk.connect()
    talk.dialogue.typing("再")
    await talk.hear(Changed(status=asking("q1", "大的")))
    assert talk.dialogue.prompt() != ANSWERING, "the prompt says what Enter will do"

    talk.dialogue.typing("再快点")
    talk.dialogue.line("再快点")
    assert talk.dialogue.prompt() == ANSWERING
    talk.dialogue.typing("1")
    talk.dialogue.line("1")
    await eventually(lambda: line.of(Answer))

    assert [said.text for said in line.of(Say)] == ["再快点"]
    assert [answer.text for answer in line.of(Answer)] == ["大的"]


async def test_a_line_that_was_emptied_after_the_question_opened_is_begun_anew() -> None:
    talk = Talk()
    line = await talk.connect()
    talk.dialogue.typing("再")
    await talk.hear(Changed(status=asking("q1", "大的")))

    for typed in ("", "1"):
        talk.dialogue.typing(typed)
    talk.dialogue.line("1")
    await eventually(lambda: line.of(Answer))

    assert [answer.text for answer in line.of(Answer)] == ["大的"] and not line.of(Say)


async def test_an_answer_that_was_begun_for_another_question_is_no_answer_to_this_one() -> None:
    talk = Talk()
    line = await talk.connect(asking("q1"))
    talk.dialogue.typing("小的")
    await talk.hear(Changed(status=asking("q2")))

    talk.dialogue.line("小的")
    await eventually(lambda: line.of(Say))

    assert not line.of(Answer) and talk.dialogue.prompt() == ANSWERING


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
