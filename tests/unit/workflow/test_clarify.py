"""The clarifying step: when it asks, what it freezes, and what a continued one is told."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from flower.core.documents import Addition, Brief
from flower.core.human import HumanChannel
from flower.core.human_log import QuestionLog
from flower.core.result import StepResult
from flower.core.roles import clarify
from flower.workflow.base import Step
from flower.workflow.clarify import BRIEF_KEY, CLARIFY_RESUME, MISSING_KEY, clarify_step
from tests.unit.workflow.scripted import Answer, Folder

WHOLE = "## 目标\n做一个 X\n## 验收标准\n- 跑得通\n## 边界\n- 不做 Y\n## 未知与假设\n- 假设 Z"
PARTIAL = "## 目标\n做一个 X\n## 边界\n不做 Y"


@pytest.fixture
def path(folder: Folder) -> Path:
    return folder.workspace / ".flower" / "notes" / "需求.md"


@pytest.fixture
def channel(folder: Folder, path: Path) -> HumanChannel:
    return HumanChannel(log_path=path.with_name("问答记录.md"), amend_path=path, timeout_s=0)


def step(channel: HumanChannel, path: Path, **more: Any) -> Step:
    return clarify_step(channel, brief_path=path, prompt="做一个 X", **more)


def test_what_it_is(channel: HumanChannel, path: Path) -> None:
    made = step(channel, path, instructions="短一点", can_read=False)

    assert (made.name, made.prompt, made.retries, made.on_fail) == ("确认需求", "做一个 X", 0, "stop")
    assert made.resume_prompt is CLARIFY_RESUME and made.resume_from is None
    assert "不是重新开始" in CLARIFY_RESUME and "别再问一遍" in CLARIFY_RESUME
    assert made.spec.allowed_tools == ["mcp__human__ask"] and made.spec.instructions.endswith("短一点")
    own = clarify("另一个", channel)
    assert step(channel, path, spec=own).spec is own


async def test_a_whole_brief_is_frozen_and_goes_to_the_steps_that_follow(
    folder: Folder, channel: HumanChannel, path: Path
) -> None:
    ctx = await folder.run(step(channel, path), answers=(Answer(f"问完了。\n{WHOLE}"),))

    written = path.read_text()
    assert written.startswith("# 需求确认书\n") and "## 目标\n做一个 X\n" in written
    assert ctx[BRIEF_KEY].complete() and ctx["确认需求"] == ctx[BRIEF_KEY].prompt_block()
    assert "## 边界\n- 不做 Y" in ctx["确认需求"] and MISSING_KEY not in ctx


async def test_a_brief_that_lacks_sections_is_not_written(
    folder: Folder, channel: HumanChannel, path: Path
) -> None:
    ctx = await folder.run(step(channel, path), answers=(Answer(PARTIAL),))

    assert ctx["_failed_at"] == "确认需求" and ctx[MISSING_KEY] == ["验收标准", "未知与假设"]
    assert not path.exists() and BRIEF_KEY not in ctx


async def test_with_retries_the_same_session_is_told_what_is_missing(
    folder: Folder, channel: HumanChannel, path: Path
) -> None:
    ctx = await folder.run(step(channel, path, retries=1), answers=(Answer(PARTIAL), Answer(WHOLE)))

    _, second = folder.asked
    assert second.step == "确认需求#round2" and second.resume == ctx["_sessions"]["确认需求"]
    assert "验收标准、未知与假设" in second.prompt and "别再问一遍" in second.prompt
    assert path.exists() and MISSING_KEY not in ctx


async def test_a_complete_brief_is_not_asked_about_again_but_still_known(
    folder: Folder, channel: HumanChannel, path: Path
) -> None:
    brief = Brief("g", "a", "b", "u")
    brief.write(path)
    brief.append("顺便支持高亮")
    ctx: dict[str, Any] = {}

    assert step(channel, path).when(ctx) is False  # type: ignore[misc]
    assert ctx[BRIEF_KEY].goal == "g"
    # What was said at the wake must reach whoever derives the checks.
    assert "## 唤醒时追加\n顺便支持高亮" in ctx["确认需求"]
    assert step(channel, path, always_ask=True).when({}) is True  # type: ignore[misc]
    await folder.run(step(channel, path))
    assert folder.asked == []


@pytest.mark.parametrize("text", [None, PARTIAL, "", "something else"])
def test_anything_less_is_asked_about(channel: HumanChannel, path: Path, text: str | None) -> None:
    if text is not None:
        path.parent.mkdir(parents=True)
        path.write_text(text)

    assert step(channel, path).when({}) is True  # type: ignore[misc]


async def test_what_the_person_adds_while_it_asks_is_kept(
    folder: Folder, channel: HumanChannel, path: Path
) -> None:
    answer = Answer(WHOLE, during=lambda: channel.send("还要支持 Windows"))

    ctx = await folder.run(step(channel, path), answers=(answer,))

    assert path.read_text().endswith("## 运行中补充\n还要支持 Windows\n")
    assert ctx[BRIEF_KEY].additions == [Addition("运行中补充", "还要支持 Windows")]
    assert "还要支持 Windows" in ctx["确认需求"]


async def test_somebody_elses_file_is_set_aside_not_overwritten(
    folder: Folder, channel: HumanChannel, path: Path
) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("my shopping list")

    await folder.run(step(channel, path), answers=(Answer(WHOLE),))

    [aside] = path.parent.glob("需求.md.unreadable-*")
    assert aside.read_text() == "my shopping list" and "做一个 X" in path.read_text()
    assert [line for line in folder.notices() if aside.name in line]


@pytest.mark.parametrize("what", ["a folder", "a link that leads nowhere"])
async def test_what_can_not_be_read_is_set_aside_not_overwritten(
    folder: Folder, channel: HumanChannel, path: Path, what: str
) -> None:
    path.parent.mkdir(parents=True)
    if what == "a folder":
        path.mkdir()
        (path / "inside.txt").write_text("mine")
    else:
        path.symlink_to("nowhere")

    await folder.run(step(channel, path), answers=(Answer(WHOLE),))

    [aside] = path.parent.glob("需求.md.unreadable-*")
    assert (aside / "inside.txt").read_text() == "mine" if what == "a folder" else aside.is_symlink()
    assert path.is_file() and not path.is_symlink() and "做一个 X" in path.read_text()
    assert [line for line in folder.notices() if aside.name in line]


async def test_a_brief_that_cannot_be_written_is_one_line_and_the_run_goes_on(
    folder: Folder, channel: HumanChannel, path: Path
) -> None:
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.write_text("a file where the folder of the pages should be")

    ctx = await folder.run(step(channel, path), answers=(Answer(WHOLE),))

    assert ctx.get("_failed_at") is None and "做一个 X" in ctx["确认需求"]
    assert [line for line in folder.notices() if str(path) in line]


async def test_a_continued_clarifier_is_given_what_was_answered(
    folder: Folder, channel: HumanChannel, path: Path
) -> None:
    await folder.run(step(channel, path), answers=(Answer(PARTIAL),))
    assert channel.log_path is not None
    log = QuestionLog(channel.log_path)
    log.ask(1, "什么语言?", ["Python", "Go"])
    log.settle(1, "answered", "Go")
    log.ask(2, "要网页吗?", [])
    log.settle(2, "declined", "")
    log.ask(3, "颜色?", [])
    again = step(channel, path)
    kept: list[str] = []
    needed = again.when
    assert needed is not None

    def listening(ctx: dict[str, Any]) -> Any:
        asks = needed(ctx)
        kept.extend(ctx["_runtime"].take_mail())
        return asks

    again.when = listening
    await folder.run(again, answers=(Answer(WHOLE),))

    assert folder.asked[0].prompt == CLARIFY_RESUME and folder.asked[0].resume is not None
    [recalled, unanswered] = kept
    assert "问:什么语言?\n  答:Go" in recalled and "要网页吗?" in recalled
    assert "颜色?" not in recalled, "nobody answered that"
    assert "- 颜色?" in unanswered and "再问一遍" in unanswered and "什么语言?" not in unanswered


async def test_a_clarifier_that_begins_is_given_nothing_of_an_older_matter(
    folder: Folder, channel: HumanChannel, path: Path
) -> None:
    await channel.ask("旧的问题")

    ctx: dict[str, Any] = {"_inherited": {}}
    assert step(channel, path).when(ctx) is True  # type: ignore[misc]

    assert channel.asked_before() == []


def test_the_gate_speaks_of_the_last_whole_brief(channel: HumanChannel, path: Path) -> None:
    made = step(channel, path)
    draft = WHOLE.replace("做一个 X", "草稿")

    assert made.gate(StepResult("确认需求", text=f"{draft}\n再问一句\n{WHOLE}"), {}) is True  # type: ignore[misc]

    assert "做一个 X" in path.read_text() and "草稿" not in path.read_text()


def test_what_is_said_in_the_very_moment_of_freezing_stays(channel: HumanChannel, path: Path) -> None:
    made = step(channel, path)
    words = [f"第 {number} 句" for number in range(60)]

    with ThreadPoolExecutor(1) as person:
        said = [person.submit(channel.amend, each) for each in words]
        while not all(each.done() for each in said):
            assert made.gate(StepResult("确认需求", text=WHOLE), {}) is True  # type: ignore[misc]

    assert all(each.result() for each in said)
    brief = Brief.load(path)
    assert brief is not None and brief.complete()
    assert [addition.text for addition in brief.additions] == words
