"""What each role may use, and what its rules tell it."""

import re

import pytest

from flower.core import roles, rules
from flower.core.guards import wants_isolation
from flower.core.human import HumanChannel
from flower.core.roles import clarify, coordinator, judge, oracle, worker

ASK, INBOX = "mcp__human__ask", "mcp__human__inbox"


def test_a_clarifier_asks_and_looks_and_has_no_hands() -> None:
    spec = clarify("确认需求", HumanChannel(), instructions="用英文问")

    assert spec.allowed_tools == [ASK, "Read", "Glob", "Grep", "WebFetch", "WebSearch"]
    assert spec.session_tools() == ["Read", "Glob", "Grep", "WebFetch", "WebSearch"]
    assert (spec.permission_mode, spec.workbench, spec.delegate_only) == ("default", False, False)
    assert (spec.max_turns, spec.max_budget_usd) == (None, None)
    assert spec.instructions == f"{roles.CLARIFIER_RULES}\n用英文问" and "human" in spec.mcp_servers
    assert clarify("x", HumanChannel(), can_read=False).allowed_tools == [ASK]


def test_a_clarifier_that_may_take_few_turns_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    clarify("确认需求", HumanChannel(), max_turns=3)

    assert "确认需求" in caplog.text


def test_a_judge_looks_and_runs_commands_only_when_it_may() -> None:
    spec = judge("判定", HumanChannel())

    assert spec.allowed_tools == [ASK, "Read", "Glob", "Grep"]
    assert (spec.permission_mode, spec.workbench) == ("default", False)
    assert judge("判定", HumanChannel(), can_run=True).allowed_tools == [*spec.allowed_tools, "Bash"]


def test_an_oracle_only_reads_and_costs_little() -> None:
    spec = oracle()

    assert (spec.name, spec.allowed_tools) == ("旁路问答", ["Read", "Glob", "Grep"])
    assert (spec.max_turns, spec.max_budget_usd, spec.workbench) == (12, 0.5, True)
    assert spec.mcp_servers == {}


def test_a_coordinator_with_a_channel_asks_and_looks_into_its_inbox() -> None:
    coder = worker("writes", "write")
    spec = coordinator("协调者", "", {"coder": coder}, channel=HumanChannel())

    assert spec.delegate_only and spec.workbench and {ASK, INBOX} <= set(spec.allowed_tools)
    assert not {ASK, INBOX} & set(coordinator("协调者", "", {"coder": coder}).allowed_tools)


def test_a_coordinators_session_holds_the_web_tools_of_its_workers_and_no_others() -> None:
    silent = worker("thinks", "think", tools=["Read"])

    assert "WebFetch" in coordinator("协调者", "", {"coder": worker("w", "w")}).allowed_tools
    for workers in ({}, {"silent": silent}):
        assert not {"WebFetch", "WebSearch"} & set(coordinator("协调者", "", workers).allowed_tools)
    assert "Read" not in coordinator("协调者", "", {}, can_read=False).allowed_tools
    assert "Bash" not in coordinator("协调者", "", {}, glance=False).allowed_tools


def test_a_worker_reports_in_four_parts_unless_told_otherwise() -> None:
    made = worker("writes", "write", max_turns=3, permission_mode="acceptEdits", effort="low")

    assert made.prompt == f"write\n\n{roles.WORKER_RULES}" and made.tools == roles.WORKER_TOOLS
    assert (made.maxTurns, made.permissionMode, made.effort, made.model) == (
        3,
        "acceptEdits",
        "low",
        "inherit",
    )
    assert worker("writes", "write", discipline=False).prompt == "write"
    assert wants_isolation(worker("writes", "write", isolate=True)) and not wants_isolation(made)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (roles.COORDINATOR_RULES, "Agent Bash artifacts inbox ask 岔路口"),
        (roles.WORKER_RULES, "结论 证据 产出 没验证 三十行 scripts"),
        (roles.CLARIFIER_RULES, "目标 验收标准 边界 未知与假设 ask 不写代码"),
        (roles.JUDGE_RULES, "亲眼 产出 材料 临时目录"),
        (roles.ORACLE_RULES, "旁路 不改 不猜"),
    ],
)
def test_the_rules_say_what_went_wrong_without_them(rules: str, words: str) -> None:
    assert [word for word in words.split() if word not in rules] == []


def test_the_rules_are_the_same_in_both_languages_but_for_the_documents_headings() -> None:
    for pair in (rules.COORDINATOR, rules.WORKER, rules.CLARIFIER, rules.JUDGE, rules.ORACLE):
        points = [len(re.findall("^- ", text, re.MULTILINE)) for text in pair]
        assert points[0] == points[1] > 0, pair.en
        assert re.findall("^## .*", pair.zh, re.MULTILINE) == re.findall("^## .*", pair.en, re.MULTILINE)
        names = [
            set(re.findall(r"\b(?:Agent|Bash|ask|inbox|artifacts/|scripts/)(?!\w)", text)) for text in pair
        ]
        assert names[0] <= names[1], "the tools and folders that one names the other names too"
        assert set(re.findall(r"[\u4e00-\u9fff]+", pair.en)) <= {"目标", "验收标准", "边界", "未知与假设"}


def test_each_role_has_the_rules_of_its_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWER_LANG", "en")
    assert judge("j", HumanChannel()).instructions == rules.JUDGE.en
    assert judge("j", HumanChannel(), language="zh").instructions == rules.JUDGE.zh
    assert worker("writes", "write").prompt == f"write\n\n{rules.WORKER.en}"
