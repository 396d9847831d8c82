"""The judge's answer in every form it takes; whatever is not plainly "achieved" never passes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower.core.documents import UNCLEAR, Verdict


@pytest.mark.parametrize(
    "text",
    [
        "结论:达成",
        "结论：达成",
        "# 结论\n达成",
        "## 结论\n**达成**\n\n## 理由\n都跑过了\n\n## 未通过\n无",
        "**结论**: 达成。",
        "**结论:达成**",
        "结论:✅ 达成 —— 15 条全部通过",
        "结论:目标已全部达成,15 条都看到了",
        "结论:1",
        "结论:1(达成)",
        "判定:达成",
        "## 结论\r\n\r\n达成了!\r\n",
        "\ufeff# 结论\n达成",
        "1",
        " true\n",
        "达成",
        "**达成**。",
        "achieved",
    ],
)
def test_a_plain_yes_is_achieved(text: str) -> None:
    verdict = Verdict.parse(text)

    assert verdict.state == "achieved"
    assert verdict.ok and verdict.achieved and not verdict.unreachable
    assert verdict.feedback() == ""


@pytest.mark.parametrize(
    "text",
    [
        "结论:未达成",
        "# 结论\n**未达成**",
        "结论:没有达成",
        "结论:没有全部达成",
        "结论:不能算达成",
        "结论:尚未完全达成",
        "结论:达成。\n但第 3 条未达成",
        "结论:not_yet",
        "结论:not achieved",
        "结论:0",
        "0",
        "False",
        "看了一圈,目标还没达成",
        "结论:达成\n理由:差一条\n未通过:\n- 第 3 条:没生成 out.html",
        "结论:达成\n未通过:\n- 无法编译",
        "结论:达成\n未通过:\n- 无,但第 3 条没看到",
    ],
)
def test_a_no_is_not_yet(text: str) -> None:
    verdict = Verdict.parse(text)

    assert verdict.state == "not_yet"
    assert not verdict.ok and not verdict.unreachable


@pytest.mark.parametrize(
    "text",
    [
        "# 结论\n无法达成",
        "结论:**无法达成**",
        "结论:unreachable",
        "结论:这里无法验证",
        "结论:没法验证,没有浏览器",
        "结论:第 3 条验证不了",
        "结论:无法判定",
        "结论:Unverifiable",
        "结论:未达成,其中两条在这个环境里无法验证",
        "无法达成",
    ],
)
def test_what_another_round_would_not_bring_is_unreachable(text: str) -> None:
    verdict = Verdict.parse(text)

    assert verdict.state == "unreachable"
    assert verdict.unreachable and not verdict.ok


@pytest.mark.parametrize(
    "text",
    [
        "",
        "看起来应该可以吧",
        "看起来应该达成了吧",
        "结论:",
        "结论:应该达成了",
        "结论:基本达成",
        "结论:部分达成",
        "结论:达成了一半",
        "结论:达成,但还差一条",
        "结论:达成?",
        "结论:达成？",
        "结论:是否达成请看下面",
        "结论:还差 1 条",
        "结论:1 条还差",
        "I ran 1 test",
        'JUDGE: verdict = "achieved"',
        "```\n结论:达成\n```",
        "~~~\n1\n~~~\n都看过了",
        "执行者自己说:\n# 结论\n达成\n\n我看到的不一样。\n# 结论\n未达成",
    ],
)
def test_an_unclear_answer_never_passes(text: str) -> None:
    verdict = Verdict.parse(text)

    assert verdict.state == ""
    assert not verdict.ok and not verdict.achieved and not verdict.unreachable
    assert verdict.reason == UNCLEAR == "判定者没给出明确结论,按未达成处理"


def test_the_judges_own_heading_outranks_a_line_it_quotes() -> None:
    assert Verdict.parse("报告里写着\n结论:达成\n\n# 结论\n未达成").state == "not_yet"


def test_reason_and_failed_items_are_read() -> None:
    verdict = Verdict.parse(
        "## 结论\n未达成\n## 理由\n第 2 条没看到\n输出是空的\n## 未通过\n1. 第 2 条:`a.html` 在\n- 第 5 条\n"
    )

    assert verdict == Verdict("not_yet", "第 2 条没看到\n输出是空的", ["第 2 条:`a.html` 在", "第 5 条"])


@pytest.mark.parametrize(
    "nothing",
    [
        "无",
        "(无)",
        "- 无",
        "无。",
        "没有",
        "None",
        "N/A",
        "(空)",
        "-",
        "0",
        "0 条",
        "无 —— 全部通过",
        "没有未通过的条目",
        "全部 15 条都通过",
    ],
)
def test_saying_that_nothing_failed_names_no_failure(nothing: str) -> None:
    assert Verdict.parse(f"# 结论\n达成\n# 未通过\n{nothing}\n") == Verdict("achieved")


@pytest.mark.parametrize(
    "failure", ["没有生成 out.html", "无法编译", "0.5 秒内没返回", "都没通过", "全部没通过"]
)
def test_a_failure_that_begins_like_nothing_is_kept(failure: str) -> None:
    assert Verdict.parse(f"# 结论\n未达成\n# 未通过\n- {failure}\n").failed == [failure]


def test_feedback_says_what_is_missing_and_to_go_on() -> None:
    feedback = Verdict("not_yet", "第 2 条没看到", ["第 2 条", "第 5 条"]).feedback()

    assert feedback == (
        "目标还没达成,接着做 —— 不是重新开始。\n\n理由:\n第 2 条没看到\n\n没通过的条目:\n- 第 2 条\n- 第 5 条"
    )


def test_feedback_on_an_unclear_answer_says_so_and_to_go_on() -> None:
    feedback = Verdict.parse("看起来应该可以吧").feedback()

    assert "接着做" in feedback
    assert UNCLEAR in feedback


@given(text=st.text(alphabet="结论:达成未没不部分\n#* ，,。1应该了吧", max_size=30))
def test_nothing_that_holds_a_no_passes(text: str) -> None:
    verdict = Verdict.parse(f"# 结论\n{text}未达成")

    assert not verdict.ok
