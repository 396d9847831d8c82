"""The goal, and the gate that has the work judged by it: rounds, verdicts, and what the person says."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flower.core.documents import Brief, Goal, Verdict
from flower.core.human import HumanChannel
from flower.core.result import StepResult
from flower.workflow.base import Step, StepAbort
from flower.workflow.goal import GOAL_KEY, ROUND_KEY, VERDICT_KEY, goal_step, with_goal
from tests.unit.workflow.scripted import TERSE, Answer, Folder

SET = "# 目标\n做一个 X\n\n# 判定清单\n- 跑 x,看到 1\n- 读 README,有用法"
HALF_BLIND = f"{SET}\n- 在 macOS 上双击打开 [此环境无法验证:没有 macOS]"
YES = "# 结论\n达成\n# 理由\n都看到了\n# 未通过\n无"
NO = "# 结论\n未达成\n# 理由\n跑出来是 2\n# 未通过\n- 跑 x,看到 1"
NEVER = "# 结论\n**无法达成**\n# 理由\n没有 macOS\n# 未通过\n- 双击打开"


class Guarded:
    """A folder with a goal, a channel, and the work under guard."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        notes = folder.workspace / ".flower" / "notes"
        self.goal_path, self.brief_path = notes / "目标.md", notes / "需求.md"
        self.channel = HumanChannel(amend_path=self.brief_path, timeout_s=5)

    def goal_step(self, **more: Any) -> Step:
        return goal_step(self.channel, goal_path=self.goal_path, **more)

    def work(self, **more: Any) -> Step:
        step = Step("干活", TERSE, "做", resume_prompt="接着做", on_fail="skip")
        return with_goal(step, self.channel, goal_path=self.goal_path, **more)

    async def run(self, *answers: str, replies: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
        """The work, with what it and the judge say in turn, while a person gives the replies."""
        person = asyncio.create_task(self._reply(replies))
        try:
            return await self.folder.run(self.work(**more), answers=tuple(map(Answer, answers)))
        finally:
            person.cancel()
            await asyncio.gather(person, return_exceptions=True)

    async def _reply(self, replies: tuple[str, ...]) -> None:
        for reply in replies:
            ask = await self.channel.next_ask()
            assert ask is not None
            self.channel.answer(ask.id, reply)

    @property
    def steps(self) -> list[str]:
        return [asked.step for asked in self.folder.asked]

    @property
    def rounds(self) -> list[dict[str, Any]]:
        """What was told of the judge's rounds."""
        return [event.payload for event in self.folder.events if event.kind == "judge"]

    def prompt(self, step: str) -> str:
        return next(asked.prompt for asked in self.folder.asked if asked.step == step)


@pytest.fixture
def guarded(folder: Folder) -> Guarded:
    return Guarded(folder)


@pytest.fixture
def set_goal(guarded: Guarded) -> Guarded:
    Goal.parse(SET).write(guarded.goal_path)
    return guarded


# ---------------------------------------------------------------- setting


async def test_a_goal_is_set_from_the_brief_and_frozen(guarded: Guarded) -> None:
    ctx = await guarded.folder.run(
        guarded.goal_step(),
        answers=(Answer(f"看过环境了。\n{SET}"),),
        context={"确认需求": "## 目标\n做一个 X"},
    )

    [asked] = guarded.folder.asked
    assert "## 目标\n做一个 X" in asked.prompt and "[此环境无法验证:" in asked.prompt
    assert Goal.load(guarded.goal_path) == ctx[GOAL_KEY] and len(ctx[GOAL_KEY].checks) == 2
    assert "判定清单" in ctx["设定目标"] and "跑 x,看到 1" in ctx["设定目标"]
    assert [event for event in guarded.folder.events if event.kind == "task"] == []


async def test_without_a_brief_the_prompt_says_so_and_can_run_reaches_the_setter(guarded: Guarded) -> None:
    step = guarded.goal_step(can_run=True)

    assert "(没有确认书)" in step.render({}) and "Bash" in step.spec.allowed_tools
    assert "Bash" not in guarded.goal_step().spec.allowed_tools and step.resume_prompt is None


async def test_a_goal_without_checks_is_none(guarded: Guarded) -> None:
    ctx = await guarded.folder.run(
        guarded.goal_step(retries=1), answers=(Answer("# 目标\n做一个 X"), Answer(SET))
    )

    assert guarded.steps == ["设定目标", "设定目标#round2"] and "判定清单" in guarded.prompt(
        "设定目标#round2"
    )
    assert ctx.get("_failed_at") is None


async def test_a_goal_that_is_set_anew_is_shown_as_it_stands_with_what_a_person_changed(
    set_goal: Guarded,
) -> None:
    set_goal.goal_path.write_text(f"{SET}\n- 人亲手加的一条\n")
    await set_goal.folder.run(set_goal.goal_step(always_set=True), answers=(Answer(SET),))

    assert "人亲手加的一条" in set_goal.prompt("设定目标") and "仍然成立的条目照留" in set_goal.prompt(
        "设定目标"
    )


def test_a_brief_that_was_settled_anew_in_this_run_sets_the_goal_anew(set_goal: Guarded) -> None:
    step = set_goal.goal_step()
    assert step.when({"_results": {"确认需求": StepResult(step="确认需求")}}) is True  # type: ignore[misc]
    assert step.when({"_results": {}}) is False  # type: ignore[misc]


async def test_what_cannot_be_verified_is_told_at_once_and_stops_nothing(guarded: Guarded) -> None:
    ctx = await guarded.folder.run(guarded.goal_step(), answers=(Answer(HALF_BLIND),))

    [event] = [event for event in guarded.folder.events if event.kind == "task"]
    assert event.payload == {
        "unverifiable": ["在 macOS 上双击打开 [此环境无法验证:没有 macOS]"],
        "total": 3,
        "path": str(guarded.goal_path),
    }
    assert "1/3 条在这个环境里验不了" in event.text and ".flower/notes/目标.md" in event.text
    assert "  · 在 macOS 上双击打开" in event.text and ctx.get("_failed_at") is None


def test_a_goal_that_stands_is_left_alone_but_known(set_goal: Guarded) -> None:
    ctx: dict[str, Any] = {}

    assert set_goal.goal_step().when(ctx) is False  # type: ignore[misc]
    assert ctx[GOAL_KEY].checks and "判定清单" in ctx["设定目标"]
    assert set_goal.goal_step(always_set=True).when({}) is True  # type: ignore[misc]


def test_a_goal_older_than_what_the_person_added_is_set_anew(set_goal: Guarded) -> None:
    Brief("g", "a", "b", "u").write(set_goal.brief_path)
    later(set_goal.brief_path, set_goal.goal_path)
    assert set_goal.goal_step().when({}) is False, "a copied folder is no addition"  # type: ignore[misc]

    set_goal.channel.amend("顺便支持高亮", label="唤醒时追加")
    later(set_goal.brief_path, set_goal.goal_path)

    # Killed after the words were written and before the list was made: the next wake, without words, makes it.
    assert set_goal.goal_step().when({}) is True  # type: ignore[misc]


def later(newer: Path, older: Path) -> None:
    """Make one file newer than the other, however coarse the file system's clock."""
    stamp = older.stat().st_mtime_ns + 1_000_000_000
    os.utime(newer, ns=(stamp, stamp))


# ---------------------------------------------------------------- judging


def test_only_what_judging_needs_is_replaced(guarded: Guarded) -> None:
    step = Step(
        "干活", TERSE, "做", None, False, 7, None, "skip", lambda _: True, None, "接着做", lambda r: r.text
    )

    made = with_goal(step, guarded.channel, goal_path=guarded.goal_path)

    kept = ("name", "spec", "prompt", "resume_from", "fork", "on_fail", "when", "resume_prompt", "reduce")
    assert [getattr(made, name) for name in kept] == [getattr(step, name) for name in kept]
    assert made.retries == 2 and step.retries == 7 and step.gate is None
    assert guarded.work(rounds=1).retries == 0


async def test_it_goes_on_until_the_judge_has_seen_it(set_goal: Guarded) -> None:
    ctx = await set_goal.run("v1", NO, "v2", "看起来应该可以吧", "v3", YES)

    assert set_goal.steps == [
        "干活",
        "干活·判定#1",
        "干活#round2",
        "干活·判定#2",
        "干活#round3",
        "干活·判定#3",
    ]
    work = [asked for asked in set_goal.folder.asked if "判定" not in asked.step]
    judges = [asked for asked in set_goal.folder.asked if "判定" in asked.step]
    assert {asked.resume for asked in work[1:]} == {ctx["_sessions"]["干活"]}
    assert {asked.resume for asked in judges} == {None}, "fresh eyes each time"
    assert "跑出来是 2" in work[1].prompt and "- 跑 x,看到 1" in work[1].prompt and "接着做" in work[1].prompt
    assert "判定者没给出明确结论,按未达成处理" in work[2].prompt
    assert ctx["干活"] == "v3" and ctx[VERDICT_KEY].achieved and ctx[ROUND_KEY] == 3
    assert set(set_goal.folder.lineage["steps"]) == {"干活"}
    assert "- 跑 x,看到 1" in judges[0].prompt and "v1" not in judges[0].prompt


async def test_the_rounds_are_bounded(set_goal: Guarded) -> None:
    ctx = await set_goal.run("v1", NO, "v2", NO, rounds=2)

    assert set_goal.steps == ["干活", "干活·判定#1", "干活#round2", "干活·判定#2"] and "干活" not in ctx


async def test_each_round_is_told_and_nothing_more_of_one_that_no_other_follows(set_goal: Guarded) -> None:
    await set_goal.run("v1", NO, "v2", NO, rounds=2)

    ruled = {"phase": "ruled", "state": "not_yet", "reason": "跑出来是 2", "failed": ["跑 x,看到 1"]}
    assert set_goal.rounds == [
        {"phase": "begins", "round": 1},
        {**ruled, "round": 1},
        {"phase": "sent_back", "round": 2},
        {"phase": "begins", "round": 2},
        {**ruled, "round": 2},
    ]


async def test_only_what_a_judge_says_is_marked_as_such(set_goal: Guarded) -> None:
    answers = (Answer("v1", spoken=True), Answer(YES, spoken=True))

    await set_goal.folder.run(set_goal.work(), answers=answers)

    told = [event for event in set_goal.folder.events if event.kind == "text"]
    assert [(event.text, event.payload.get("judge")) for event in told] == [("v1", None), (YES, True)]


async def test_a_judge_that_crashes_costs_no_further_round(set_goal: Guarded) -> None:
    broken = Answer("达成", ok=False)

    ctx = await set_goal.folder.run(set_goal.work(), answers=(Answer("v1"), broken))

    assert set_goal.steps == ["干活", "干活·判定#1"] and "干活" not in ctx
    assert "it went wrong" in ctx["_aborted"]


async def test_without_a_runtime_there_is_no_judge(guarded: Guarded) -> None:
    with pytest.raises(StepAbort, match="Runtime"):
        await guarded.work().gate(StepResult("干活"), {})  # type: ignore[misc]


def test_feedback_is_that_of_the_verdict(guarded: Guarded) -> None:
    say = guarded.work().on_reject
    assert say is not None

    assert say(StepResult("干活"), {}) == ""
    assert "缺 x" in str(say(StepResult("干活"), {VERDICT_KEY: Verdict("not_yet", "缺 x")}))


async def test_a_goal_that_the_person_mended_in_its_file_is_the_one_that_counts(set_goal: Guarded) -> None:
    def mend() -> None:
        Goal("做一个 X", ["人改过的条目"]).write(set_goal.goal_path)

    await set_goal.folder.run(
        set_goal.goal_step(), set_goal.work(), answers=(Answer("v1", during=mend), Answer(YES))
    )

    assert "人改过的条目" in set_goal.prompt("干活·判定#1")


# ---------------------------------------------------------------- out of reach


async def test_the_person_accepts_the_result(set_goal: Guarded) -> None:
    ctx = await set_goal.run("v1", NEVER, replies=("接受这个结果,就这样往下走",))

    [ask] = set_goal.channel.asks
    assert ask.question == "目标被判为**无法达成**:没有 macOS\n怎么办?"
    assert ask.options == ["接受这个结果,就这样往下走", "修改目标", "你判断错了,继续做"]
    assert ctx["干活"] == "v1" and set_goal.steps == ["干活", "干活·判定#1"]


async def test_the_person_changes_the_goal(set_goal: Guarded) -> None:
    ctx = await set_goal.run("v1", NEVER, "v2", YES, replies=("2", "Linux 上能开就行"))

    assert ctx["干活"] == "v2" and "Linux 上能开就行" in set_goal.prompt("干活#round2")
    assert "(已修改)Linux 上能开就行" in set_goal.prompt("干活·判定#2")
    assert "(已修改)Linux 上能开就行" in set_goal.goal_path.read_text()
    # A list that is made anew later is made from the brief.
    assert "Linux 上能开就行" in set_goal.brief_path.read_text()
    assert "干活·定目标#2" not in set_goal.steps


@pytest.mark.parametrize("reply", ["你判断错了,继续做", "桌面上那台就是 macOS"])
async def test_the_person_knows_better(set_goal: Guarded, reply: str) -> None:
    ctx = await set_goal.run("v1", NEVER, "v2", YES, replies=(reply,))

    assert ctx["干活"] == "v2"
    assert "判断有误" in set_goal.prompt("干活#round2") and reply in set_goal.prompt("干活#round2")


@pytest.mark.parametrize("replies", [(), ("修改目标",)], ids=["to the question", "to what the goal is then"])
async def test_nobody_answers_and_no_further_round_is_spent(
    set_goal: Guarded, replies: tuple[str, ...]
) -> None:
    set_goal.channel.timeout_s = 0.2

    ctx = await set_goal.run("v1", NEVER, replies=replies)

    assert set_goal.steps == ["干活", "干活·判定#1"] and "干活" not in ctx
    assert "无人应答" in ctx["_aborted"] and "没有 macOS" in ctx["_aborted"]


async def test_the_flows_own_question_is_asked_though_the_quota_is_used_up(set_goal: Guarded) -> None:
    set_goal.channel.max_asks = 0

    assert (await set_goal.run("v1", NEVER, replies=("1",)))["干活"] == "v1"


# ---------------------------------------------------------------- what the person adds meanwhile


def adding(guarded: Guarded, words: str) -> Callable[[], object]:
    def add() -> None:
        guarded.channel.amend(words)
        later(guarded.brief_path, guarded.goal_path)

    return add


async def test_what_is_added_while_it_works_joins_the_checks_before_the_verdict(set_goal: Guarded) -> None:
    Brief("g", "a", "b", "u").write(set_goal.brief_path)
    answers = (Answer("v1", during=adding(set_goal, "顺便支持高亮")), Answer(f"{SET}\n- 有高亮"), Answer(YES))

    await set_goal.folder.run(set_goal.work(), answers=answers)

    assert set_goal.steps == ["干活", "干活·定目标#1", "干活·判定#1"]
    assert "顺便支持高亮" in set_goal.prompt("干活·定目标#1")
    assert "- 跑 x,看到 1" in set_goal.prompt("干活·定目标#1")
    assert "- 有高亮" in set_goal.prompt("干活·判定#1") and "- 有高亮" in set_goal.goal_path.read_text()
    assert len(set_goal.folder.notices()) == 1


async def test_if_no_new_list_comes_about_the_judge_gets_the_words_themselves(set_goal: Guarded) -> None:
    answers = (Answer("v1", during=adding(set_goal, "顺便支持高亮")), Answer("嗯"), Answer(YES))

    await set_goal.folder.run(set_goal.work(), answers=answers)

    assert "顺便支持高亮" in set_goal.prompt("干活·判定#1")


async def test_what_is_added_while_it_is_judged_is_done_before_anything_passes(set_goal: Guarded) -> None:
    answers = (
        Answer("v1"),
        Answer(YES, during=adding(set_goal, "顺便支持高亮")),
        Answer("v2"),
        Answer(f"{SET}\n- 有高亮"),
        Answer(YES),
    )

    ctx = await set_goal.folder.run(set_goal.work(), answers=answers)

    assert set_goal.steps == ["干活", "干活·判定#1", "干活#round2", "干活·定目标#2", "干活·判定#2"]
    assert "顺便支持高亮" in set_goal.prompt("干活#round2") and ctx["干活"] == "v2"
    told = [(each["phase"], each.get("state") or each.get("checks")) for each in set_goal.rounds]
    assert told == [
        ("begins", None),
        ("ruled", "not_yet"),
        ("sent_back", None),
        ("begins", None),
        ("anew", ["跑 x,看到 1", "读 README,有用法", "有高亮"]),
        ("ruled", "achieved"),
    ]
    assert "顺便支持高亮" in set_goal.rounds[1]["reason"]
