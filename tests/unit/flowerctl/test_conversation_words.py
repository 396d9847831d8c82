"""Words in a conversation: a remark with its receipt, a side question, and what becomes of those nobody took."""

import pytest

from flower_protocol.control import Accepted, Answer, Aside, Failure, Happened, Resume, Say
from tests.support.processes import eventually
from tests.unit.flowerctl.conversing import Talk, asking, event, shown


async def test_a_remark_gets_its_receipt_when_it_is_accepted() -> None:
    talk = Talk()
    line = await talk.connect()
    talk.dialogue.line("支持表格")
    await eventually(lambda: line.of(Say))
    assert talk.surface.told == ["> 支持表格"]

    await talk.hear(Accepted(id=line.of(Say)[0].id, in_brief=True))

    assert talk.surface.told == ["> 支持表格", "+ 收到 (下个检查点送达;已追加进确认书)"]
    assert talk.conversation.unsent() == ()


@pytest.mark.parametrize(
    ("in_brief", "receipt"),
    [(False, "+ 收到 (下个检查点送达;没有确认书可落盘 —— 它可能活不过下一个步骤)"), (None, "+ 收到")],
)
async def test_a_receipt_does_not_claim_that_the_brief_has_what_it_has_not(
    in_brief: bool | None, receipt: str
) -> None:
    talk = Talk()
    line = await talk.connect()
    talk.dialogue.line("支持表格")
    await eventually(lambda: line.of(Say))

    await talk.hear(Accepted(id=line.of(Say)[0].id, in_brief=in_brief))

    assert talk.surface.told[-1] == receipt


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


async def test_words_typed_just_before_leaving_are_waited_for() -> None:
    talk = Talk()
    line = await talk.connect()
    talk.dialogue.line("最后一句")
    talk.dialogue.leave()
    await eventually(lambda: line.of(Say))
    await talk.hear(Accepted(id=line.of(Say)[0].id))
    await talk.end()

    assert talk.conversation.unsent() == ()
