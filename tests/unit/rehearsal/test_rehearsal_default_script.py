"""The script of the demonstration: who says what when, without the CLI (with it: see the real CLI's test)."""

import re

import pytest

from flower.core.documents import Handoff, Verdict
from flower.core.resilience import GO_ON
from flower.core.runtime import _INTERRUPTED
from flower.rehearsal import load_script
from flower.workflow import prompts
from tests.unit.rehearsal.talk import Talk, places, words

MISSING = "File does not exist. Note: your current working directory is /somewhere."


def sends_the_coder_and_hears(talk: Talk, report: str) -> None:
    talk.launches("a1")
    talk.answers()
    talk.notified("a1", report)


def coordinator() -> Talk:
    return Talk(load_script("default"))


def after_the_first_job() -> Talk:
    talk = coordinator()
    talk.says("照这份需求做:\n\n写个 md 转 html 的脚本")
    talk.answers()
    sends_the_coder_and_hears(talk, "- 结论: 做成了")
    talk.answers()
    talk.brings("<h1>样例</h1>")
    talk.answers()
    return talk


def test_the_coordinator_sends_the_coder_checks_and_concludes() -> None:
    talk = coordinator()
    talk.says("照这份需求做:\n\n写个 md 转 html 的脚本")

    talk.answers()
    assert [call["name"] for call in talk.calls()] == ["TodoWrite", "Agent"]
    assert talk.calls()[1]["input"]["subagent_type"] == "coder"
    sends_the_coder_and_hears(talk, "- 结论: 做成了")
    talk.answers()
    assert [call["name"] for call in talk.calls()] == ["TodoWrite", "Read"]
    talk.brings("<h1>样例</h1>")
    assert words(talk.answers()).startswith("做好了, 产出核对过")


def test_the_coordinator_says_so_when_the_result_is_not_there() -> None:
    talk = coordinator()
    talk.says("照这份需求做:\n\n写个 md 转 html 的脚本")
    talk.answers()
    sends_the_coder_and_hears(talk, "- 结论: 做成了")
    talk.answers()
    talk.brings(MISSING)

    assert "这一趟不算做成" in words(talk.answers())


def test_a_wake_with_words_the_script_knows_adds_what_was_asked_for() -> None:
    talk = after_the_first_job()
    talk.says("顺便支持代码块高亮\n\n接着上次的活继续 —— 不是重新开始。")

    assert places([talk.answers()]) == [("highlight", 0)]
    talk.brings('"""把 Markdown 转成 HTML"""')
    talk.answers()
    assert "加代码块高亮" in talk.calls()[0]["input"]["prompt"]
    sends_the_coder_and_hears(talk, "- 结论: 高亮做成了")
    assert "高亮做成了" in words(talk.answers())


def test_a_request_for_highlighting_in_a_new_folder_first_gets_the_converter() -> None:
    talk = coordinator()
    talk.says("照这份需求做:\n\n写个支持代码块高亮的 md 转 html 脚本")
    talk.answers()
    talk.brings(MISSING)

    talk.answers()
    assert "缺什么补什么" in talk.calls()[0]["input"]["prompt"]
    sends_the_coder_and_hears(talk, "- 结论: 做成了")
    talk.answers()
    assert "加代码块高亮" in talk.calls()[0]["input"]["prompt"]


def test_a_wake_without_words_looks_what_is_there() -> None:
    talk = after_the_first_job()
    for _ in range(2):
        talk.says("接着上次的活继续 —— 不是重新开始。")
        talk.answers()
        assert talk.calls()[0]["name"] == "Read"
        talk.brings("<h1>样例</h1>")
        assert "这次没有要改的地方" in words(talk.answers())


@pytest.mark.parametrize("words_said", ["把标题改成红的", "要 <b>快</b> 和 (a|b)*"])
def test_words_that_the_script_does_not_foresee_are_noted_and_it_says_so(words_said: str) -> None:
    talk = after_the_first_job()
    talk.says(f"{words_said}\n\n接着上次的活继续 —— 不是重新开始。")

    assert "剧本没有写怎么做它" in words(talk.answers())
    task = talk.calls()[0]["input"]["prompt"]
    assert f"「{words_said}」" in task
    coder = Talk(load_script("default"), agent="a1")
    assert [reply.turn for reply in coder.plays(task, "<title>")] == [0, 1, 2, 4]
    again = Talk(load_script("default"), agent="a2")
    assert [reply.turn for reply in again.plays(task, f"{words_said} <title>")] == [0, 2, 4]


def test_a_judge_that_saw_the_files_name_as_title_sends_back_and_just_that_is_mended() -> None:
    judge = Talk(load_script("default"), tools=["Read", "mcp__human__ask"], system="未通过")
    verdict = words(judge.plays("判", "<title>sample</title>")[-1])
    talk = after_the_first_job()
    talk.says(f"目标还没达成,接着做 —— 不是重新开始。\n\n{verdict}")

    talk.answers()
    assert "# 结论\n未达成" in verdict
    assert "拿文件名当网页标题" in talk.calls()[0]["input"]["prompt"]


BRIEF = "## 目标\n转换器\n\n"
STANDING = "## 目标\n转换器\n\n## 判定清单\n- 第一条\n\n- 每一条都要当场能验"


@pytest.mark.parametrize(
    ("added", "check"),
    [
        ("顺便支持代码块高亮", '- 第一条\n- 读 sample.html, 代码块里有 class="keyword"'),
        ("把标题改成红的", "- 第一条\n- 读 sample.md, 看到这句话:「把标题改成红的」"),
    ],
)
def test_a_goal_set_anew_keeps_its_checks_and_holds_what_was_added(added: str, check: str) -> None:
    setter = Talk(load_script("default"), tools=["Read", "mcp__human__ask"], system="判定清单")
    setter.plays(BRIEF)

    anew = words(setter.plays(f"{BRIEF}## 唤醒时追加\n更早的话\n\n## 唤醒时追加\n{added}\n\n{STANDING}")[-1])

    assert check in anew
    assert anew.count("# 判定清单") == 1


def test_a_goal_set_anew_again_has_each_check_once() -> None:
    setter = Talk(load_script("default"), tools=["Read", "mcp__human__ask"], system="判定清单")
    standing = STANDING.replace(
        "- 第一条\n", '- 第一条\n- 读 sample.html, 代码块里有 class="keyword" 标出来的\n'
    )

    anew = words(setter.plays(f"{BRIEF}## 唤醒时追加\n要高亮\n\n{standing}")[-1])

    assert anew.count("第一条") == anew.count('class="keyword"') == 1


def test_a_wake_that_finds_something_missing_sends_the_coder() -> None:
    talk = after_the_first_job()
    talk.says("接着做")
    talk.answers()
    talk.brings(MISSING)
    talk.answers()

    assert talk.calls()[0]["name"] == "Agent"


def test_the_coder_writes_only_what_is_missing() -> None:
    task = "在 /somewhere 做一个脚本。缺什么补什么。"
    fresh, half = Talk(load_script("default"), agent="a1"), Talk(load_script("default"), agent="a2")

    in_new_folder = [
        reply.turn for reply in fresh.plays(task, "md2html.py: 缺\nsample.md: 缺\n<h1>\n四处都对")
    ]
    with_all_there = [
        reply.turn for reply in half.plays(task, "md2html.py: 有\nsample.md: 有\n<h1>\n四处都对")
    ]

    assert in_new_folder == [0, 1, 2, 3, 4, 5, 6]
    assert with_all_there == [0, 2, 4, 5, 6]


def test_the_coder_reports_in_four_parts_and_tells_the_truth() -> None:
    good, bad = (Talk(load_script("default"), agent=agent) for agent in ("a1", "a2"))

    done = words(good.plays("做", "<h1>\n四处都对")[-1])
    failed = words(bad.plays("做", "Traceback: SyntaxError")[-1])

    for report in (done, failed):
        assert [line.partition(":")[0] for line in report.splitlines() if line.startswith("- ")] == [
            "- 结论",
            "- 证据",
            "- 产出",
            "- 没验证",
        ]
    assert "做成了, 转换跑得通" in done
    assert "没有做成" in failed
    assert "SyntaxError" in failed


@pytest.mark.parametrize(
    ("system", "headings"),
    [
        (
            "最后只写四段: 目标、验收标准、边界、未知与假设。",
            ["## 目标", "## 验收标准", "## 边界", "## 未知与假设"],
        ),
        ("写两段: 目标、判定清单。", ["# 目标", "# 判定清单"]),
        ("写三段: 结论、理由、未通过。", ["# 结论", "# 理由", "# 未通过"]),
    ],
)
def test_the_roles_around_the_work_write_their_sections(system: str, headings: list[str]) -> None:
    talk = Talk(load_script("default"), tools=["Read", "Glob", "mcp__human__ask"], system=system)

    document = words(talk.plays("写", "No files found")[-1])

    assert [line for line in document.splitlines() if line.startswith("#")] == headings


def test_the_judge_does_not_pass_what_it_did_not_see() -> None:
    judge = Talk(
        load_script("default"), tools=["Read", "mcp__human__ask"], system="写三段: 结论、理由、未通过。"
    )

    assert "# 结论\n未达成" in words(judge.plays("判", MISSING)[-1])


def test_a_handoff_is_written_in_the_middle_of_the_work_and_the_work_goes_on() -> None:
    talk = coordinator()
    talk.says("照这份需求做:\n\n写个 md 转 html 的脚本")
    talk.answers()
    sends_the_coder_and_hears(talk, "- 结论: 做成了")
    talk.answers()
    talk.brings("<h1>样例</h1>")

    written = talk.plays("写一份交接:\n## 现在在做什么\n## 走不通的路\n## 现场")[-1]
    talk.says("接着做")

    headings = [line for line in words(written).splitlines() if line.startswith("##")]
    assert headings == ["## 现在在做什么", "## 已经定下的", "## 走不通的路", "## 下一步", "## 现场"]
    assert places([talk.answers()]) == [("first", 2)]


def test_who_takes_over_does_not_write_the_handoff_again() -> None:
    talk = coordinator()
    talk.says("你在接手一段还没干完的活。\n\n## 现在在做\n转换器\n\n## 走不通的路\n没有")

    assert places([talk.answers()]) == [("first", 0)]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_words_after_an_interrupt_and_words_that_the_judge_missed_are_noted(language: str) -> None:
    script = load_script("default", language)
    check = {
        "zh": "- 读 sample.md, 看到这句话:「it runs」",
        "en": '- Read sample.md, see this remark: "it runs"',
    }
    missed = Verdict("not_yet", "so", [check[language].removeprefix("- ")]).feedback(language)
    for said in (f"{_INTERRUPTED.spoken(language)}\n\nit runs", missed):
        talk = Talk(script)
        talk.says(said)
        assert places([talk.answers()]) == [("note", 0)]
        assert {"「it runs」", '"it runs"'} & set(
            re.findall('「.+?」|".+?"', talk.calls()[0]["input"]["prompt"])
        )


@pytest.mark.parametrize("language", ["zh", "en"])
def test_what_the_flow_itself_says_is_no_remark(language: str) -> None:
    said = [
        GO_ON.spoken(language),
        _INTERRUPTED.spoken(language),
        prompts.DO.spoken(language).format(brief="x"),
        prompts.GO_ON.spoken(language),
        prompts.GOAL_ANEW.spoken(language).format(goal="x"),
        prompts.BRIEF_ANEW.spoken(language).format(brief="x"),
        Verdict("not_yet", "so", ["x"]).feedback(language),
        Handoff("a", "b", "c", "d", "e").prompt_block(language),
    ]
    for words_said in said:
        talk = Talk(load_script("default", language))
        talk.says(words_said)
        assert talk.answers().scene == "first", words_said
