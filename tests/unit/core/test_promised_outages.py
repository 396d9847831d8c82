"""Outages: what is probed and how, what is waited out and what is not, and how long the pauses are."""

import inspect
from pathlib import Path

import pytest

from flower import Resilience, Runtime, classify, endpoint, reachable


def test_the_probe_takes_a_host_a_port_and_five_seconds() -> None:
    parameters = inspect.signature(reachable).parameters

    assert list(parameters) == ["host", "port", "timeout"]
    assert parameters["timeout"].default == 5.0


def test_without_a_gateway_the_api_itself_is_probed() -> None:
    assert endpoint({}) == ("api.anthropic.com", 443)
    assert endpoint({"ANTHROPIC_BASE_URL": "https://gateway.example"}) == ("gateway.example", 443)
    assert endpoint({"ANTHROPIC_BASE_URL": "http://gateway.example"}) == ("gateway.example", 80)
    assert endpoint({"ANTHROPIC_BASE_URL": "http://gateway.example:8080"}) == ("gateway.example", 8080)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("API Error: Can't reach the API server (ENOTFOUND)", "transient"),
        ("Connection error.", "transient"),
        ("401 Unauthorized: connection refused by the gateway", "fatal"),
        ("connection closed: 403 forbidden, request timed out", "fatal"),
        ("something nobody has ever seen", "unknown"),
    ],
)
def test_a_text_is_one_of_three_kinds_and_what_must_stop_is_looked_for_first(text: str, kind: str) -> None:
    assert classify(text) == kind


@pytest.mark.parametrize(
    ("attempt", "shortest", "longest"),
    [(1, 3.0, 5.0), (2, 6.0, 10.0), (5, 48.0, 80.0), (6, 90.0, 150.0), (40, 90.0, 150.0)],
)
def test_a_pause_is_doubled_then_cut_and_only_then_strays_by_a_quarter(
    attempt: int, shortest: float, longest: float
) -> None:
    policy = Resilience()

    assert policy.delay_for(attempt, lambda: 0.0) == pytest.approx(shortest)
    assert policy.delay_for(attempt, lambda: 1.0) == pytest.approx(longest)


def test_a_policy_of_ones_own_has_its_own_pauses() -> None:
    policy = Resilience(base_delay=1.0, max_delay=3.0)

    assert [policy.delay_for(attempt, lambda: 0.5) for attempt in (1, 2, 3, 4)] == [1.0, 2.0, 3.0, 3.0]


def test_what_is_said_after_an_interruption_is_to_the_letter_and_names_no_fault() -> None:
    said = Resilience().resume_prompt

    assert said == "上一轮在中途被打断,没有跑完。检查一下工作台里已经落盘的东西,从中断处接着做,不要重头来过。"
    assert not any(word in said.lower() for word in ("error", "错误", "网络", "enotfound", "503", "api"))


def test_a_run_is_resilient_unless_it_is_told_not_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up")
    own = Resilience(max_attempts=2)
    policies = []
    for given in ({}, {"resilience": False}, {"resilience": own}):
        runtime = Runtime(workspace=tmp_path / "work", run_dir=tmp_path / "runs", **given)  # type: ignore[arg-type]
        policies.append(runtime.resilience)
        runtime.close()

    assert policies == [Resilience(), Resilience(enabled=False), own]
