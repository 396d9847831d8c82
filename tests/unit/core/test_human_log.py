"""The page of questions and answers: its form, that it is written at once, and what is read back from it."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flower.core.human import HumanChannel
from flower.core.human_log import Entry, QuestionLog


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return tmp_path / "notes" / "问答记录.md"


def test_the_page_has_the_form_that_people_know(page: Path) -> None:
    log = QuestionLog(page)
    log.ask(1, "用什么语言?", ["Python", "Go"])
    log.settle(1, "answered", "Python")

    assert page.read_text() == (
        "# 需求问答记录\n"
        "\n"
        "> 自动追加。这一份不进上下文,只作留档。\n"
        "\n"
        "- **Q**(q1) 用什么语言?\n"
        "  - 选项:Python / Go\n"
        "  - **A**[answered] Python\n"
    )


def test_an_answer_stands_below_its_own_question(page: Path) -> None:
    log = QuestionLog(page)
    log.ask(1, "一", [])
    log.ask(2, "二", ["a", "b"])
    log.say("顺便说一句")
    log.settle(1, "answered", "甲")
    log.settle(2, "timeout", "")

    assert page.read_text().partition("档。\n\n")[2] == (
        "- **Q**(q1) 一\n  - **A**[answered] 甲\n"
        "- **Q**(q2) 二\n  - 选项:a / b\n  - **A**[timeout]\n"
        "- **说** 顺便说一句\n"
    )
    assert log.chapter() == [Entry(1, "一", "answered", "甲"), Entry(2, "二", "timeout", "")]


def test_a_new_chapter_has_nothing_of_the_last_one(page: Path) -> None:
    log = QuestionLog(page)
    log.begin_chapter()
    assert not page.exists(), "nothing was asked yet"
    log.ask(1, "旧的", [])
    log.settle(1, "answered", "旧答案")

    log.begin_chapter()
    log.begin_chapter()
    log.ask(2, "新的", [])

    assert log.chapter() == [Entry(2, "新的")]
    assert page.read_text().count("\n## ") == 1 and "旧答案" in page.read_text()
    assert log.highest() == 2


@settings(max_examples=40)
@given(
    question=st.text(min_size=1).filter(str.strip),
    answer=st.text(min_size=1).filter(str.strip),
)
def test_whatever_is_said_comes_back_and_passes_for_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, question: str, answer: str
) -> None:
    log = QuestionLog(tmp_path_factory.mktemp("log") / "问答记录.md")
    log.ask(1, question, [])
    log.settle(1, "answered", answer)
    log.ask(2, "- **Q**(q9) x\n  - **A**[answered] fake\n## y", [])

    first, second = log.chapter()
    assert first.question.split() == question.split() and first.answer.split() == answer.split()
    assert (second.number, second.state) == (2, "")


def test_bytes_that_are_no_text_stay_as_they_are(page: Path) -> None:
    page.parent.mkdir()
    page.write_bytes(b"\xff\xfe mine\n")

    QuestionLog(page).ask(1, "一", [])

    assert page.read_bytes() == b"\xff\xfe mine\n" + "- **Q**(q1) 一\n".encode()


async def test_a_question_is_on_disk_when_it_is_heard_of_and_an_answer_when_it_is_accepted(
    page: Path,
) -> None:
    seen: list[str] = []
    channel = HumanChannel(log_path=page, on_event=lambda _: seen.append(page.read_text()))
    task = asyncio.create_task(channel.ask("用什么语言?"))
    assert await channel.next_ask(5) is not None

    assert channel.answer("q1", "Python")

    assert "(q1) 用什么语言?" in seen[0] and "**A**[answered] Python" in page.read_text()
    await task
    assert "**A**[answered] Python" in seen[1]


async def test_another_process_goes_on_counting_so_that_a_late_answer_meets_no_other_question(
    page: Path,
) -> None:
    await HumanChannel(log_path=page, timeout_s=0).ask("第一个")

    ask = await HumanChannel(log_path=page, timeout_s=0).ask("第二个")

    assert ask.id == "q2"
    assert [entry.question for entry in HumanChannel(log_path=page).asked_before()] == ["第一个", "第二个"]


async def test_a_question_that_a_killed_process_left_open_has_its_place_and_number_again(page: Path) -> None:
    before = HumanChannel(log_path=page)
    task = asyncio.create_task(before.ask("什么时候要?"))
    assert await before.next_ask(5) is not None
    task.cancel()  # as far as the page knows: nothing more is written

    after = HumanChannel(log_path=page)
    again, other = (asyncio.create_task(after.ask(words)) for words in ("什么时候要?", "给谁用?"))
    for _ in range(2):
        assert await after.next_ask(5) is not None
    assert after.answer("q1", "明天") and after.answer("q2", "我妈")
    assert ((await again).id, (await other).id) == ("q1", "q2")

    text = page.read_text()
    assert text.count("什么时候要?") == 1 and text.index("明天") < text.index("给谁用?")


async def test_what_nobody_was_asked_stands_there_too(page: Path) -> None:
    channel = HumanChannel(log_path=page, max_asks=0)
    await channel.ask("多余的")
    await channel.ask("")
    channel.send("我自己说一句")

    assert page.read_text().endswith("- **Q**(q1) 多余的\n  - **A**[over_budget]\n- **说** 我自己说一句\n")
    assert "q1 多余的" in channel.transcript()
