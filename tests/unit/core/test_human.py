"""The channel to the person: questions, answers from other threads, timeouts, the quota, and words unasked."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flower.core.documents import Brief
from flower.core.events import Event
from flower.core.human import DECLINED, INVALID, OVER_BUDGET, TIMEOUT, Ask, HumanChannel
from flower.core.human_tools import human_tools


def states(events: list[Event]) -> list[str]:
    return [event.payload["state"] for event in events if event.kind == "ask"]


def from_another_thread(act: Callable[[], Any]) -> None:
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


async def asked(channel: HumanChannel, question: str = "红的还是蓝的?", **more: Any) -> "asyncio.Task[Ask]":
    """A question that waits."""
    task = asyncio.create_task(channel.ask(question, ["红", "蓝"], **more))
    assert await channel.next_ask(5) is not None
    return task


async def test_a_question_waits_until_another_thread_answers_it() -> None:
    events: list[Event] = []
    channel = HumanChannel(on_event=events.append)
    task = await asked(channel)
    [open_one] = channel.pending()

    from_another_thread(lambda: channel.answer(open_one.id, " 蓝 "))
    ask = await task

    assert (ask.id, ask.state, ask.answer, ask.options) == ("q1", "answered", "蓝", ["红", "蓝"])
    assert channel.spoken(ask) == "蓝" and ask.waited_s >= 0 and channel.pending() == []
    assert states(events) == ["asked", "answered"]
    about = events[0].payload
    assert {key: about[key] for key in ("id", "options", "answer", "remaining")} == {
        "id": "q1",
        "options": ["红", "蓝"],
        "answer": "",
        "remaining": -1,
    }
    assert events[0].text == "红的还是蓝的?" and events[0].raw is ask


async def test_a_question_is_answered_once() -> None:
    channel = HumanChannel()
    task = await asked(channel)

    assert channel.answer("q1", "红")
    assert not channel.answer("q1", "蓝")
    assert not channel.decline("q1") and not channel.answer("q9", "x")

    assert (await task).answer == "红"


async def test_of_many_threads_that_answer_at_once_one_is_heard() -> None:
    channel = HumanChannel()
    task = await asked(channel)
    heard: list[int] = []

    def answer(number: int) -> None:
        if channel.answer("q1", str(number)):
            heard.append(number)

    threads = [threading.Thread(target=answer, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    ask = await task
    for thread in threads:
        thread.join()

    assert [ask.answer] == [str(number) for number in heard]


@pytest.mark.parametrize(
    "settle", [lambda c: c.decline("q1", "input closed"), lambda c: c.answer("q1", "  ")]
)
async def test_a_question_that_is_skipped_tells_the_agent_to_judge_for_itself(
    settle: Callable[[HumanChannel], bool],
) -> None:
    channel = HumanChannel()
    task = await asked(channel)

    assert settle(channel)
    ask = await task

    assert ask.state == "declined" and channel.spoken(ask) == DECLINED


async def test_nobody_answers_in_time() -> None:
    events: list[Event] = []
    channel = HumanChannel(on_event=events.append, timeout_s=0.05)

    ask = await asyncio.wait_for(channel.ask("有人吗?"), 5)

    assert ask.state == "timeout" and channel.spoken(ask) == TIMEOUT
    assert states(events) == ["asked", "timeout"] and channel.pending() == []


@pytest.mark.parametrize("timeout", [0, -1])
async def test_without_time_a_question_falls_through_and_nobody_is_bothered(timeout: float) -> None:
    events: list[Event] = []
    channel = HumanChannel(on_event=events.append, timeout_s=timeout)

    ask = await channel.ask("有人吗?")

    assert ask.state == "timeout" and states(events) == ["timeout"]
    assert await channel.next_ask(0.01) is None


async def test_the_quota_is_a_hard_one() -> None:
    channel = HumanChannel(max_asks=1, timeout_s=0)
    first, second = await channel.ask("一"), await channel.ask("二")

    assert (first.state, second.state, channel.remaining) == ("timeout", "over_budget", 0)
    assert channel.spoken(second) == OVER_BUDGET
    assert (await channel.ask("流程自己问的", counted=False)).state == "timeout"


async def test_no_questions_at_all_never_waits() -> None:
    channel = HumanChannel(max_asks=0, timeout_s=None)

    ask = await asyncio.wait_for(channel.ask("问一句"), 5)

    assert ask.state == "over_budget" and channel.remaining == 0


async def test_an_empty_question_is_none() -> None:
    channel = HumanChannel(max_asks=3)

    ask = await channel.ask(" \n")

    assert ask.state == "invalid" and channel.spoken(ask) == INVALID == "问题是空的。把问题写清楚再问。"
    assert channel.remaining == 3


async def test_what_the_subscriber_raises_is_collected_and_changes_nothing() -> None:
    def fail(event: Event) -> None:
        raise RuntimeError("a broken screen")

    channel = HumanChannel(on_event=fail)
    task = await asked(channel)
    channel.answer("q1", "红")

    assert (await task).answer == "红"
    assert channel.ui_errors == ["RuntimeError: a broken screen"] * 2


async def test_waiting_for_the_next_question_ends_when_it_is_cancelled() -> None:
    channel = HumanChannel()
    waiting = asyncio.create_task(channel.next_ask(60))
    await asyncio.sleep(0)

    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    task = await asked(channel)
    channel.close()
    assert (await task).state == "declined"


async def test_an_interrupted_agent_finds_its_question_as_it_left_it() -> None:
    channel = HumanChannel()
    task = await asked(channel)
    task.cancel()
    await asyncio.wait({task})

    again = asyncio.create_task(channel.ask("红的还是蓝的?", ["红", "蓝"]))
    await asyncio.sleep(0)
    assert [ask.id for ask in channel.pending()] == ["q1"], "asked once, whatever became of the agent"
    channel.answer("q1", "红")

    assert (await asyncio.wait_for(again, 5)).answer == "红" and len(channel.asks) == 1


async def test_an_answer_to_an_interrupted_agent_goes_to_its_inbox_and_is_not_asked_for_again() -> None:
    channel = HumanChannel()
    task = await asked(channel)
    task.cancel()
    await asyncio.wait({task})

    channel.answer("q1", "红")
    again = await asyncio.wait_for(channel.ask("红的还是蓝的?"), 5)

    assert again.answer == "红" and len(channel.asks) == 1
    assert "红的还是蓝的?" in channel.read_mail() and channel.read_mail() == "收件箱是空的。"


async def test_an_agent_that_comes_back_at_the_very_moment_of_the_answer_does_not_ask_again() -> None:
    channel = HumanChannel()
    task = await asked(channel)
    task.cancel()
    await asyncio.wait({task})

    channel.answer("q1", "红")
    async with asyncio.timeout(5):
        again = await channel.ask("红的还是蓝的?")  # at once: the loop had no turn in between

    assert again.answer == "红" and len(channel.asks) == 1
    assert channel.read_mail() == "收件箱是空的。", "it has been told already"


@pytest.mark.parametrize(("answer", "choice"), [("蓝", 1), ("2", 1), ("0", None), ("3", None), ("紫", None)])
def test_an_answer_may_be_an_option_or_its_number(answer: str, choice: int | None) -> None:
    assert Ask("q1", "?", ["红", "蓝"], answer=answer).choice == choice


def test_words_unasked_wait_in_the_inbox_and_join_the_brief(tmp_path: Path) -> None:
    events: list[Event] = []
    brief = Brief("g", "a", "b", "u")
    before = brief.write(tmp_path / "需求.md").read_text()
    channel = HumanChannel(on_event=events.append, amend_path=tmp_path / "需求.md")

    from_another_thread(lambda: channel.send("支持高亮"))
    assert channel.send("  ") is None and len(channel.pending_mail()) == 1
    told = channel.read_mail()

    assert "支持高亮" in told and "追加进需求确认书" in told
    assert channel.read_mail() == "收件箱是空的。" and channel.pending_mail() == []
    after = (tmp_path / "需求.md").read_text()
    assert after.startswith(before) and "## 运行中补充\n支持高亮" in after
    assert states(events) == ["queued", "delivered"]
    assert all(event.payload["kind"] == "mail" for event in events)
    assert events[0].payload["amended"] == str(tmp_path / "需求.md")


def test_without_a_brief_the_agent_is_told_that_nothing_keeps_the_words() -> None:
    channel = HumanChannel()

    mail = channel.send("支持高亮")

    assert mail is not None and mail.amended == ""
    assert "没有落盘" in channel.read_mail()


def test_amending_says_whether_it_could(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    assert not HumanChannel().amend("x")
    assert not HumanChannel(amend_path=tmp_path / "需求.md").amend(" ")
    assert not HumanChannel(amend_path=tmp_path / "folder").amend("x")
    assert HumanChannel(amend_path=tmp_path / "需求.md").amend("x", label="唤醒时追加")
    assert "## 唤醒时追加\nx" in (tmp_path / "需求.md").read_text()


async def test_a_page_that_cannot_be_written_is_one_line_and_costs_no_answer(tmp_path: Path) -> None:
    events: list[Event] = []
    (tmp_path / "问答记录.md").mkdir()
    channel = HumanChannel(on_event=events.append, log_path=tmp_path / "问答记录.md")
    task = await asked(channel)
    channel.answer("q1", "红")

    assert (await task).answer == "红"
    [line] = [event.text for event in events if event.kind == "notice"]
    assert str(tmp_path / "问答记录.md") in line


async def test_the_tools_are_two_and_need_only_what_they_must() -> None:
    channel = HumanChannel(timeout_s=0)
    ask, inbox = human_tools(channel)

    assert (ask.name, inbox.name) == ("ask", "inbox") and channel.mcp_servers()["human"]["type"] == "sdk"
    assert ask.input_schema["required"] == ["question"] and "options" in ask.input_schema["properties"]
    told = await ask.handler({"question": "哪个?"})
    assert told["content"][0]["text"] == TIMEOUT
    assert (await inbox.handler({}))["content"][0]["text"] == "收件箱是空的。"
