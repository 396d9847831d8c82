"""When a session hands over: the levels, the window, the texts that mean an overflow, the document of last resort."""

import json
from pathlib import Path

import pytest

from flower.core.agent import CompactPolicy
from flower.core.handoff import HEADROOM_FLOOR, HandoffPolicy, degraded, is_overflow
from flower.core.windows import Windows, default_window, is_another, window_reported


@pytest.mark.parametrize(
    ("window", "headroom", "at"),
    [
        (200_000, None, 150_000),
        (1_000_000, None, 750_000),
        (1_000_000, 50_000, 950_000),
        (20_000, None, 10_000),
        (60_000, None, 10_000),
    ],
)
def test_a_quarter_of_the_window_is_left_and_at_least_the_floor(
    window: int, headroom: int | None, at: int
) -> None:
    policy = HandoffPolicy(window=window, headroom=headroom)
    assert policy.at == at
    assert policy.warn_at == max(1_000, at - 20_000)
    assert headroom is not None or policy.room >= HEADROOM_FLOOR
    assert policy.at < policy.urgent_at < window


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-opus-5[1m]", 1_000_000),
        ("claude-sonnet-5-1m", 1_000_000),
        ("claude-opus-5", 1_000_000),
        ("claude-sonnet-5", 1_000_000),
        ("", 1_000_000),
        ("claude-haiku-4-5-20251001", 200_000),
        ("claude-haiku-5[1m]", 1_000_000),
    ],
)
def test_without_anything_better_the_name_tells_the_window(tmp_path: Path, model: str, window: int) -> None:
    assert default_window({"HOME": str(tmp_path), "ANTHROPIC_MODEL": model}) == window


def test_an_empty_model_falls_back_to_the_one_for_opus(tmp_path: Path) -> None:
    named = {"ANTHROPIC_MODEL": "", "ANTHROPIC_DEFAULT_OPUS_MODEL": "claude-haiku-4-5"}
    assert default_window({"HOME": str(tmp_path), **named}) == 200_000


@pytest.mark.parametrize(
    ("said", "window"),
    [("300000", 300_000), ("abc", 1_000_000), ("0", 1_000_000), ("-5", 1_000_000), ("", 1_000_000)],
)
def test_what_the_person_says_goes_first_if_it_is_a_number(tmp_path: Path, said: str, window: int) -> None:
    environment = {"HOME": str(tmp_path), "FLOWER_WINDOW": said}
    Windows(environment).report(1_000_000)
    assert default_window(environment) == window


def test_what_the_cli_reports_is_known_to_the_next_run_of_this_gateway_and_model_alone(
    tmp_path: Path,
) -> None:
    here = {"HOME": str(tmp_path), "ANTHROPIC_MODEL": "m", "ANTHROPIC_BASE_URL": "http://one"}
    Windows(here).report(300_000)
    assert default_window(here) == 300_000
    assert default_window({**here, "ANTHROPIC_MODEL": "other"}) == 1_000_000
    assert default_window({**here, "ANTHROPIC_BASE_URL": "http://two"}) == 1_000_000


def test_the_smallest_overflow_counts_and_disproves_a_larger_report(tmp_path: Path) -> None:
    here = {"HOME": str(tmp_path), "ANTHROPIC_MODEL": "m"}
    windows = Windows(here)
    windows.report(1_000_000)
    for level in (190_000, 174_000, 180_000):
        windows.overflow(level)
    assert windows.size() == default_window(here) == 174_000


def test_what_is_learned_lies_in_the_configuration_folder_for_the_user_alone(tmp_path: Path) -> None:
    Windows({"HOME": "/nowhere", "XDG_CONFIG_HOME": str(tmp_path)}).report(1)
    file = tmp_path / "flower" / ".windows"
    assert json.loads(file.read_text()) and file.stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_read_is_set_aside_and_learning_begins_anew(tmp_path: Path) -> None:
    folder = tmp_path / "flower"
    folder.mkdir()
    (folder / ".windows").write_text("not json")
    here = {"XDG_CONFIG_HOME": str(tmp_path)}
    Windows(here).report(300_000)
    assert default_window(here) == 300_000
    (aside,) = folder.glob(".windows.unreadable-*")
    assert aside.read_text() == "not json"


def test_a_configuration_folder_that_cannot_be_written_costs_nothing_but_the_memory(tmp_path: Path) -> None:
    (tmp_path / "flower").write_text("a file in the folder's place")
    windows = Windows({"XDG_CONFIG_HOME": str(tmp_path)})
    windows.report(300_000)
    assert windows.size() == 300_000


def test_a_report_is_taken_for_the_main_model_not_for_the_subagents() -> None:
    usage = {
        "claude-haiku-4-5": {"contextWindow": 200_000},
        "claude-opus-5[1m]": {"contextWindow": 1_000_000},
    }
    assert window_reported(usage, "claude-opus-5") == 1_000_000
    assert window_reported(usage, "claude-haiku-4-5") == 200_000
    assert window_reported(usage, "another") == 0
    assert window_reported(None, "claude-opus-5") == 0


@pytest.mark.parametrize(
    "text",
    [
        "API Error: 400 prompt is too long: 214000 tokens > 200000 maximum",
        "context length exceeded",
        '{"code": "context_length_exceeded"}',
        "This model's maximum context length is 131072 tokens",
        "too many total text bytes: 9000001 > 9000000",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
        "错误:输入的上下文过长,请缩短后重试",
    ],
)
def test_a_text_that_means_an_overflow_is_known(text: str) -> None:
    assert is_overflow(text) and is_overflow("something else", text)


@pytest.mark.parametrize(
    "text", [None, "", "Connection reset by peer", "API Error: 529 overloaded", "max_turns"]
)
def test_a_text_that_means_something_else_is_no_overflow(text: str | None) -> None:
    assert not is_overflow(text)


def test_the_document_of_last_resort_says_what_it_is_and_carries_the_task() -> None:
    document = degraded("干活", "x" * 5000, why="because")
    assert document.degraded and document.complete()
    assert "[降级:交接没写成]" in document.doing and "because" in document.doing
    assert "x" * 1200 in document.scene and "x" * 1201 not in document.scene


def test_a_compaction_mode_that_does_not_exist_is_refused_when_it_is_named() -> None:
    with pytest.raises(ValueError, match="auto, no_summary and off"):
        CompactPolicy("never")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("policy", "environment"),
    [
        (CompactPolicy(), {}),
        (CompactPolicy("no_summary"), {"DISABLE_AUTO_COMPACT": "1"}),
        (CompactPolicy("off"), {"DISABLE_COMPACT": "1"}),
        (CompactPolicy(window=300_000), {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "300000"}),
    ],
)
def test_the_cli_is_told_how_to_compact_by_its_environment(
    policy: CompactPolicy, environment: dict[str, str]
) -> None:
    assert policy.env() == environment


@pytest.mark.parametrize(
    ("answered", "configured", "another"),
    [
        ("glm-4.6", "claude-opus-4-5", True),
        ("claude-haiku-4-5", "claude-opus-4-5[1m]", True),
        ("Claude-Opus-4-5", "claude-opus-4-5", False),
        ("claude-opus-4-5-20251101", "claude-opus-4-5", False),
        ("claude-opus-4-5", "us.anthropic.claude-opus-4-5-v1:0", False),
        ("claude-opus-4-5", "opus", False),
        ("claude-opus-4-5", "", False),
        ("", "claude-opus-4-5", False),
    ],
)
def test_another_model_is_one_whose_name_is_no_form_of_the_configured_one(
    answered: str, configured: str, another: bool
) -> None:
    assert is_another(answered, configured) is another
