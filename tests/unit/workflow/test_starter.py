"""The flow behind a bare ``flower``: who is told what at which wake, where words land, how a new matter begins."""

import os
import re
from collections.abc import Callable

import pytest

from flower import Brief, Event, Goal, Lineage, Workflow, starter_flow
from flower.workflow.clarify import CLARIFY_RESUME
from tests.unit.workflow.scripted import Answer, Asked, Folder, ScriptedRuntime

STAMP = r"\d{8}-\d{6}"
BRIEF = "## 目标\n转换器\n## 验收标准\n能跑\n## 边界\n不做别的\n## 未知与假设\n无"
GOAL = "# 目标\n能转换\n# 判定清单\n- 跑一遍,看到 HTML\n- 打开文件,里面有标题"
ACHIEVED = "# 结论\n达成\n# 理由\n都看到了\n# 未通过\n- 无"
NOT_YET = "# 结论\n未达成\n# 理由\n没有标题\n# 未通过\n- 标题"


def fluent(name: str) -> Answer:
    """What each role says when all goes well."""
    texts = {"确认需求": BRIEF, "设定目标": GOAL}
    text = ACHIEVED if "判定" in name else texts.get(name, GOAL if "定目标" in name else "done")
    return Answer(text, spoken=True)


class Killed(Exception):
    """Stands for the end of the process."""


class Starter:
    """One folder, and the flow in it: `take` is one process."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.notes = folder.workspace / ".flower" / "notes"
        self.asked: list[Asked] = []

    async def take(
        self,
        ask: str | None,
        *,
        by_step: Callable[[str], Answer] = fluent,
        hears: Callable[[Event], object] | None = None,
        **options: object,
    ) -> list[str]:
        """The names of the steps that were taken, the judge's rounds among them."""
        flow = starter_flow(ask, workspace=self.folder.workspace, run_dir=self.folder.run_dir, **options)  # type: ignore[arg-type]
        runtime = ScriptedRuntime(self.folder.workspace, self.folder.run_dir, by_step=by_step)
        try:
            await flow.run(runtime, on_event=hears)  # type: ignore[arg-type]
        except Killed:
            pass
        finally:
            self.asked = runtime.asked
            runtime.close()
        return [asked.step for asked in self.asked]

    def told(self, step: str) -> Asked:
        return next(asked for asked in self.asked if asked.step == step)

    @property
    def brief(self) -> str:
        return (self.notes / "需求.md").read_text()


@pytest.fixture
def starter(folder: Folder) -> Starter:
    return Starter(folder)


def kill_at(step: str, when: Callable[[], None] = lambda: None) -> Callable[[str], Answer]:
    def answer(name: str) -> Answer:
        if name != step:
            return fluent(name)
        when()
        return Answer(raises=Killed(), transcript=False)

    return answer


# ---------------------------------------------------------------- a first run


def edit(starter: Starter, old: str, new: str) -> None:
    """What a person does with an editor."""
    path = starter.notes / "需求.md"
    path.write_text(path.read_text().replace(old, new))


def saying(starter: Starter, name: str) -> Answer:
    """As `fluent`, with a remark while it works."""
    answer = fluent(name)
    if name == "干活":
        path = starter.notes / "需求.md"
        answer.during = lambda: Brief.load(path).append("支持表格", label="运行中补充")  # type: ignore[union-attr]
    return answer


async def test_a_first_run_asks_sets_the_goal_works_and_is_judged(starter: Starter) -> None:
    assert await starter.take(" 写个 md 转 html 的脚本 ") == ["确认需求", "设定目标", "干活", "干活·判定#1"]
    assert starter.told("确认需求").prompt == "写个 md 转 html 的脚本"
    assert "转换器" in starter.told("设定目标").prompt
    work = starter.told("干活").prompt
    assert work.startswith("照这份需求做:") and "不做别的" in work and "跑一遍,看到 HTML" in work
    assert Brief.load(starter.notes / "需求.md") is not None
    goal = Goal.load(starter.notes / "目标.md")
    assert goal is not None and len(goal.checks) == 2


async def test_the_request_is_asked_about_and_is_no_addition_to_the_brief(starter: Starter) -> None:
    await starter.take("写个脚本")
    await starter.take(None)
    assert "唤醒时追加" not in starter.brief and "words" not in starter.folder.lineage


async def test_a_result_that_is_sent_back_goes_on_in_its_session_and_is_judged_by_somebody_new(
    starter: Starter,
) -> None:
    verdicts = iter([NOT_YET, NOT_YET, ACHIEVED])

    def answer(name: str) -> Answer:
        return Answer(next(verdicts), spoken=True) if "判定" in name else fluent(name)

    taken = await starter.take("写个脚本", by_step=answer)

    assert taken[2:] == [
        "干活",
        "干活·判定#1",
        "干活#round2",
        "干活·判定#2",
        "干活#round3",
        "干活·判定#3",
    ]
    session = starter.folder.lineage["steps"]["干活"]
    assert starter.told("干活#round2").resume == starter.told("干活#round3").resume == session
    assert all(asked.resume is None for asked in starter.asked if "判定" in asked.step)


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({"clarify_only": True}, ["确认需求"]),
        ({"goal": False}, ["确认需求", "干活"]),
        ({}, ["确认需求", "设定目标", "干活"]),
    ],
)
def test_the_steps_are_those_that_were_asked_for(
    folder: Folder, options: dict[str, bool], steps: list[str]
) -> None:
    flow = starter_flow("x", workspace=folder.workspace, run_dir=folder.run_dir, **options)  # type: ignore[arg-type]
    assert [step.name for step in flow.steps] == steps
    work = flow.steps[-1]
    if options == {"goal": False}:
        assert work.gate is None and work.on_reject is None and work.retries == 0
    if not options:
        assert work.gate is not None and work.retries == 2


def test_the_channel_and_the_workbench_are_the_flows_own(folder: Folder) -> None:
    flow = starter_flow("x", workspace=folder.workspace, run_dir=folder.run_dir, max_asks=2, timeout_s=5)
    notes = folder.workspace / ".flower" / "notes"
    assert flow.workbench.notes == notes
    assert (flow.channel.log_path, flow.channel.amend_path) == (notes / "问答记录.md", notes / "需求.md")
    assert (flow.channel.max_asks, flow.channel.timeout_s) == (2, 5)


# ---------------------------------------------------------------- a wake


@pytest.mark.parametrize("nothing", [None, "", "  \n"])
async def test_a_wake_without_words_appends_nothing_derives_nothing_and_just_goes_on(
    starter: Starter, nothing: str | None
) -> None:
    await starter.take("写个 md 转 html 的脚本")
    session = starter.folder.lineage["steps"]["干活"]
    before = {path.name: path.read_bytes() for path in starter.notes.iterdir()}

    assert await starter.take(nothing) == ["干活", "干活·判定#1"]

    assert {path.name: path.read_bytes() for path in starter.notes.iterdir()} == before
    work = starter.told("干活")
    assert work.resume == session
    assert work.prompt.startswith("接着上次的活继续") and "不做别的" not in work.prompt


async def test_words_at_a_wake_land_in_the_brief_with_the_work_and_in_a_goal_that_is_set_anew(
    starter: Starter,
) -> None:
    await starter.take("写个 md 转 html 的脚本")
    session, before = starter.folder.lineage["steps"]["干活"], starter.brief

    assert await starter.take("顺便支持代码块高亮") == ["设定目标", "干活", "干活·判定#1"]

    assert starter.brief.startswith(before) and "## 唤醒时追加\n顺便支持代码块高亮" in starter.brief
    assert "顺便支持代码块高亮" in starter.told("设定目标").prompt, (
        "the addition survives the way to the checks"
    )
    work = starter.told("干活")
    assert work.resume == session and work.prompt.startswith("顺便支持代码块高亮\n")
    assert "跑一遍,看到 HTML" in work.prompt, "its context holds the old list"
    assert "不做别的" not in work.prompt, "it has the brief in its context"


async def test_a_brief_that_was_changed_by_hand_is_what_the_next_wake_goes_by(starter: Starter) -> None:
    await starter.take("写个 md 转 html 的脚本")
    edit(starter, "不做别的", "不要联网")

    assert await starter.take("", by_step=kill_at("干活")) == ["设定目标", "干活"]
    assert await starter.take("") == ["设定目标", "干活", "干活·判定#1"], "nobody has heard of it yet"

    assert "不要联网" in starter.told("设定目标").prompt
    work = starter.told("干活")
    assert "以这份为准" in work.prompt and "不要联网" in work.prompt and work.resume is not None
    assert await starter.take("") == ["干活", "干活·判定#1"], "once is enough"
    assert "不要联网" not in starter.told("干活").prompt


async def test_a_remark_in_mid_run_is_no_change_by_hand(starter: Starter) -> None:
    await starter.take("写个脚本", by_step=lambda name: saying(starter, name))
    assert "## 运行中补充\n支持表格" in starter.brief
    assert await starter.take("") == ["干活", "干活·判定#1"]


@pytest.mark.parametrize("words", ["顺便支持表格", ""])
async def test_a_damaged_lineage_is_told_of_once_with_words_and_without(starter: Starter, words: str) -> None:
    await starter.take("写个脚本")
    (starter.folder.run_dir / "lineage.json").write_text("xx{")
    told: list[str] = []

    await starter.take(words, hears=lambda event: told.append(event.text) if event.kind == "notice" else None)

    assert len([text for text in told if "读不懂" in text]) == 1, told


async def test_the_same_words_again_are_not_added_twice(starter: Starter) -> None:
    await starter.take("写个脚本")
    await starter.take("支持表格")
    await starter.take("支持表格")
    assert starter.brief.count("支持表格") == 1


def test_with_words_the_goal_is_set_anew_and_without_it_is_not(folder: Folder) -> None:
    notes = folder.workspace / ".flower" / "notes"
    Brief("a", "b", "c", "d").write(notes / "需求.md")
    Goal("it works", ["run it"]).write(notes / "目标.md")
    for ask, needed in (("", False), ("一句话", True)):
        flow = starter_flow(ask, workspace=folder.workspace, run_dir=folder.run_dir)
        setting, work = flow.steps[1], flow.steps[2]
        assert setting.when is not None and setting.when({}) is needed
        assert work.resume_prompt is not None


@pytest.mark.parametrize("killed_at", ["before the brief", "设定目标", "干活"])
async def test_words_land_in_all_three_places_wherever_the_wake_was_killed(
    starter: Starter, killed_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await starter.take("写个脚本")
    if killed_at == "before the brief":
        with monkeypatch.context() as patch:
            patch.setattr(Brief, "append", _die)
            await starter.take("支持表格")
        assert "支持表格" not in starter.brief
    else:
        await starter.take("支持表格", by_step=kill_at(killed_at))
    assert starter.folder.lineage["words"] == ["支持表格"]

    taken = await starter.take(None)

    assert starter.brief.count("支持表格") == 1
    assert ("设定目标" in taken) == (killed_at != "干活"), "what was derived already is not paid for twice"
    assert starter.told("干活").prompt.startswith("支持表格\n")
    assert "words" not in starter.folder.lineage
    await starter.take(None)
    assert "支持表格" not in starter.told("干活").prompt


def _die(*_: object, **__: object) -> None:
    raise Killed


async def test_words_that_the_work_has_heard_are_not_said_again_after_a_kill(starter: Starter) -> None:
    await starter.take("写个脚本")

    def cut_in_the_middle(name: str) -> Answer:
        return Answer("working", spoken=True, raises=Killed()) if name == "干活" else fluent(name)

    await starter.take("支持表格", by_step=cut_in_the_middle)
    await starter.take(None)
    assert starter.told("干活").prompt.startswith("接着上次的活继续")


async def test_the_wakes_are_counted_and_the_rounds_begin_anew_with_each(starter: Starter) -> None:
    await starter.take("写个脚本")
    await starter.take(None)
    assert starter.folder.lineage["woke"] == 2
    assert [asked.step for asked in starter.asked] == ["干活", "干活·判定#1"]


# ---------------------------------------------------------------- a kill in the first step


async def test_a_clarification_that_was_cut_off_goes_on_in_its_session(starter: Starter) -> None:
    def cut(name: str) -> Answer:
        return Answer("a question", spoken=True, raises=Killed(), during=lambda: None)

    flow_killed = await starter.take("写个脚本", by_step=cut)
    assert flow_killed == ["确认需求"]
    session = starter.folder.lineage["steps"]["确认需求"]
    runtime = ScriptedRuntime(starter.folder.workspace, starter.folder.run_dir)
    runtime.speak(session)
    runtime.close()

    await starter.take(None)

    clarifying = starter.told("确认需求")
    assert clarifying.resume == session and clarifying.prompt.startswith(CLARIFY_RESUME)
    assert "写个脚本" not in clarifying.prompt


async def test_a_request_that_nobody_has_heard_is_asked_about_at_the_next_wake(starter: Starter) -> None:
    await starter.take("写个脚本", by_step=kill_at("确认需求"))
    await starter.take(None)
    assert starter.told("确认需求").prompt == "写个脚本"


def cut_off(name: str) -> Answer:
    """Asks, and is killed: no entry of it reaches the store."""
    return Answer("a question", spoken=True, transcript=False, raises=Killed())


async def test_a_clarification_that_cannot_be_continued_is_told_the_whole_request_again(
    starter: Starter,
) -> None:
    await starter.take("写个脚本", by_step=cut_off)
    await starter.take("用 Python", by_step=cut_off)
    assert starter.told("确认需求").prompt == "写个脚本\n\n用 Python"

    await starter.take(None, by_step=cut_off)

    assert starter.told("确认需求").resume is None
    assert starter.told("确认需求").prompt == "写个脚本\n\n用 Python", "each once"
    assert "words" not in starter.folder.lineage


async def test_a_clarification_that_begins_anew_beside_one_in_use_is_told_the_whole_request(
    starter: Starter,
) -> None:
    await starter.take("写个脚本", by_step=lambda name: Answer("a question", spoken=True, ok=False))
    other = ScriptedRuntime(starter.folder.workspace, starter.folder.run_dir)
    assert other.claim(starter.folder.lineage["steps"]["确认需求"])

    await starter.take(None)

    other.close()
    assert starter.told("确认需求").resume is None
    assert starter.told("确认需求").prompt == "写个脚本"


async def test_a_clarification_that_fails_before_it_has_a_session_is_told_the_request_again(
    starter: Starter,
) -> None:
    answers = iter([Answer("a question", spoken=True, ok=False, transcript=False), fluent("确认需求")])

    await starter.take("写个脚本", by_step=lambda name: next(answers) if "确认需求" in name else fluent(name))

    assert [asked.prompt for asked in starter.asked[:2]] == ["写个脚本", "写个脚本"]


async def test_the_request_stays_known_until_the_brief_is_frozen(starter: Starter) -> None:
    await starter.take("写个脚本", by_step=cut_off)
    assert starter.folder.lineage["request"] == ["写个脚本"]

    await starter.take(None, by_step=kill_at("设定目标"))

    assert "request" not in starter.folder.lineage
    (starter.notes / "需求.md").unlink()
    await starter.take("另一件事", new=True, by_step=cut_off)
    assert starter.told("确认需求").prompt == "另一件事"


async def test_words_for_a_clarification_that_was_cut_off_go_with_its_resume(starter: Starter) -> None:
    await starter.take("写个脚本", by_step=lambda name: Answer("a question", spoken=True, ok=False))
    await starter.take("用 Python")
    assert starter.told("确认需求").prompt.startswith(f"{CLARIFY_RESUME}\n\n用 Python")


async def test_a_folder_that_was_worked_in_without_a_brief_is_asked_about_first(starter: Starter) -> None:
    runtime = ScriptedRuntime(starter.folder.workspace, starter.folder.run_dir)
    lineage = Lineage.open(starter.folder.run_dir, starter.folder.workspace)
    lineage.remember("干活", "11111111-1111-4111-8111-111111111111")
    runtime.speak("11111111-1111-4111-8111-111111111111")
    runtime.close()

    assert (await starter.take(None))[0] == "确认需求"

    work = starter.told("干活")
    assert work.resume == "11111111-1111-4111-8111-111111111111"
    assert "需求改过了" in work.prompt and "不做别的" in work.prompt


async def test_a_goal_is_never_that_of_an_earlier_brief_wherever_the_run_was_killed(starter: Starter) -> None:
    await starter.take("写个脚本", by_step=kill_at("干活"))
    old = (starter.notes / "目标.md").read_bytes()
    (starter.notes / "需求.md").unlink()

    await starter.take("另一件事", by_step=kill_at("设定目标"))

    assert "跑一遍,看到 HTML" in starter.told("设定目标").prompt, "who sets the new one sees the old one"
    [archived] = (starter.notes / "archive").iterdir()
    assert re.fullmatch(STAMP, archived.name) and (archived / "目标.md").read_bytes() == old
    assert not (starter.notes / "目标.md").exists()

    assert "设定目标" in await starter.take(None)


async def test_a_clarification_without_an_outcome_leaves_the_goal_alone(starter: Starter) -> None:
    await starter.take("写个脚本")
    before = (starter.notes / "目标.md").read_bytes()
    (starter.notes / "需求.md").unlink()

    await starter.take("另一件事", by_step=lambda name: Answer("no brief"))

    assert (starter.notes / "目标.md").read_bytes() == before


# ---------------------------------------------------------------- a new matter


@pytest.mark.parametrize("new", [False, True])
def test_nothing_to_do_is_refused_and_nothing_is_archived_for_it(folder: Folder, new: bool) -> None:
    if new:
        Lineage.open(folder.run_dir, folder.workspace).remember("干活", "known")

    with pytest.raises(ValueError, match=r"^要给一句诉求,例如 flower '帮我做一个 X'$"):
        starter_flow(" ", workspace=folder.workspace, run_dir=folder.run_dir, new=new)

    assert not (folder.workspace / ".flower").exists()


async def test_a_new_matter_archives_the_three_faces_of_the_old_one_together(starter: Starter) -> None:
    await starter.take("写个脚本")
    old = (starter.folder.run_dir / "lineage.json").read_bytes()
    texts = {name: (starter.notes / name).read_bytes() for name in ("需求.md", "目标.md")}

    await starter.take("另一件事", new=True, by_step=kill_at("确认需求"))

    [archived] = (starter.notes / "archive").iterdir()
    assert re.fullmatch(STAMP, archived.name)
    assert {path.name: path.read_bytes() for path in archived.iterdir()} == {**texts, "lineage.json": old}
    assert not (starter.notes / "需求.md").exists() and not (starter.notes / "目标.md").exists()


async def test_a_new_matter_has_sessions_and_a_count_of_its_own_and_the_old_ones_stay_stored(
    starter: Starter,
) -> None:
    await starter.take("写个脚本")
    await starter.take(None)
    before = starter.folder.lineage["steps"]["干活"]

    assert await starter.take("另一件事", new=True) == ["确认需求", "设定目标", "干活", "干活·判定#1"]

    assert starter.told("确认需求").prompt == "另一件事" and starter.told("确认需求").resume is None
    assert starter.folder.lineage["woke"] == 1
    assert starter.folder.lineage["steps"]["干活"] != before
    runtime = ScriptedRuntime(starter.folder.workspace, starter.folder.run_dir)
    assert runtime.has_session(before)
    runtime.close()


async def test_a_new_matter_archives_what_there_is_and_minds_nothing_that_is_missing(
    starter: Starter,
) -> None:
    await starter.take("写个脚本")
    os.unlink(starter.notes / "目标.md")
    await starter.take("另一件事", new=True)
    [archived] = (starter.notes / "archive").iterdir()
    assert sorted(path.name for path in archived.iterdir()) == ["lineage.json", "需求.md"]


async def test_a_new_matter_archives_the_pages_of_isolated_work_too(starter: Starter) -> None:
    await starter.take("写个脚本")
    beside = starter.folder.workspace.parent / f".flower-{starter.folder.workspace.name}" / "notes"
    Brief("a", "b", "c", "d").write(beside / "需求.md")

    await starter.take("另一件事", new=True)

    [archived] = (beside / "archive").iterdir()
    assert [path.name for path in archived.iterdir()] == ["需求.md"]
    assert not (beside / "需求.md").exists()
    [own] = (starter.notes / "archive").iterdir()
    assert len(list(own.iterdir())) == 3


async def test_in_a_new_folder_there_is_nothing_to_archive(starter: Starter) -> None:
    await starter.take("一件事", new=True)
    assert not (starter.notes / "archive").exists()


def test_isolated_work_outside_of_git_is_refused_in_one_line(folder: Folder) -> None:
    folder.workspace.mkdir(parents=True)
    with pytest.raises(ValueError, match="git"):
        starter_flow("x", workspace=folder.workspace, run_dir=folder.run_dir, isolate=True)


def test_the_flow_is_continuous_and_has_its_name(folder: Folder) -> None:
    flow = starter_flow("x", workspace=folder.workspace, run_dir=folder.run_dir)

    assert isinstance(flow, Workflow) and (flow.name, flow.continuous) == ("starter", True)
    assert flow.steps[-1].name == "干活"
