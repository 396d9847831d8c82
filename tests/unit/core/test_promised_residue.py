"""What a run's own store feeds back by default: all of it in one transcript that has every kind of residue."""

import inspect
import os
from pathlib import Path
from typing import Any

import pytest

from flower import PruningSessionStore, Runtime, TrimPolicy
from tests.unit.stores.transcripts import (
    Entry,
    Transcript,
    blocks,
    by_uuid,
    call,
    parents,
    result,
    uuids,
    words,
)

LARGE = "x" * 50_000
INTERRUPTED = "[Request interrupted by user for tool use]"
NEUTRAL = "[上一轮在此处被中断,该工具结果未产生]"


def runtime(folder: Path, **options: Any) -> Runtime:
    environment = {**os.environ, "ANTHROPIC_API_KEY": "made-up"}
    return Runtime(workspace=folder / "work", run_dir=folder / "runs", environment=environment, **options)


def a_long_night() -> Transcript:
    """An old large result, looks that went stale, an outage, refused calls, and an interrupt at the end."""
    transcript = Transcript()
    transcript.prompt("p")
    transcript.says("a", call("large", "make"))
    transcript.results("r", result("large", LARGE))
    for number in range(21):
        transcript.says(f"look-{number}", call(f"l{number}", "git status"))
        transcript.results(f"seen-{number}", result(f"l{number}", "clean"))
    transcript.api_error("outage", "API Error: Can't reach the API server (ENOTFOUND)")
    for number in range(3):
        transcript.says(f"try-{number}", call(f"d{number}", "rm -r build"))
        transcript.denied(f"no-{number}", f"d{number}")
    transcript.says("b", call("broken", "make"))
    transcript.results("cut", result("broken", INTERRUPTED, is_error=True))
    return transcript


async def fed_back(run: Runtime, transcript: Transcript) -> list[Entry]:
    key: Any = {"project_key": run.project_key, "session_id": "s"}
    await run.store.append(key, transcript.entries)
    loaded = await run.store.load(key)
    assert loaded is not None
    assert run.store.entries(key) == transcript.entries, "the file keeps everything"
    run.close()
    return loaded


def answer(entries: list[Entry], call_id: str) -> str:
    [found] = [block for block in blocks(entries, "tool_result") if block["tool_use_id"] == call_id]
    return str(found["content"])


def test_a_runs_store_is_the_pruning_one_and_its_rules_are_the_promised_ones(tmp_path: Path) -> None:
    run = runtime(tmp_path)
    run.close()

    assert type(run.store) is PruningSessionStore
    assert (run.store.policy.enabled, run.store.ephemeral.enabled) == (False, True)
    assert run.store.prune_policy.keep_denials == 1
    defaults = inspect.signature(Runtime).parameters
    assert [defaults[name].default for name in ("trim", "ephemeral", "keep_denials")] == [False, True, 1]


@pytest.mark.parametrize("trim", [None, False, True, TrimPolicy(enabled=True)], ids=repr)
async def test_without_trimming_only_large_results_stay_and_the_other_four_rules_hold(
    tmp_path: Path, trim: Any
) -> None:
    options = {} if trim is None else {"trim": trim}

    entries = await fed_back(runtime(tmp_path, **options), a_long_night())

    assert (answer(entries, "large") == LARGE) is not bool(trim)
    assert "outage" not in uuids(entries) and parents(entries)["try-2"] == "seen-20"
    assert [
        block["tool_use_id"] for block in blocks(entries, "tool_result") if block["tool_use_id"][0] == "d"
    ] == ["d2"]
    assert by_uuid(entries, "cut")["message"]["content"] == [result("broken", NEUTRAL, is_error=True)]
    assert answer(entries, "l0").startswith("[`git status` 的结果已过期(第 ")
    assert answer(entries, "l20") == "clean"


async def test_a_trimmed_result_is_a_pointer_to_a_file_that_holds_all_of_it(tmp_path: Path) -> None:
    entries = await fed_back(runtime(tmp_path, trim=True), a_long_night())

    [file] = (tmp_path / "work" / ".flower" / "spill").iterdir()
    assert str(file.relative_to(tmp_path / "work")) in answer(entries, "large")
    assert file.read_text() == LARGE


@pytest.mark.parametrize("keep", [0, 2])
async def test_how_many_refused_calls_are_fed_back_can_be_said(tmp_path: Path, keep: int) -> None:
    entries = await fed_back(runtime(tmp_path, keep_denials=keep), a_long_night())

    refused = [each["id"] for each in blocks(entries, "tool_use") if each["id"].startswith("d")]
    assert refused == ["d0", "d1", "d2"][3 - keep :]


async def test_looks_stay_as_they_were_where_that_is_wanted(tmp_path: Path) -> None:
    entries = await fed_back(runtime(tmp_path, ephemeral=False), a_long_night())

    assert answer(entries, "l0") == "clean"


async def test_what_the_model_said_in_an_outage_is_the_harnesss_and_what_it_says_itself_stays(
    tmp_path: Path,
) -> None:
    transcript = Transcript()
    transcript.prompt("p")
    transcript.says("said", words("API Error: Can't reach the API server, it says in the log."))
    transcript.api_error("outage", "API Error: Can't reach the API server (ENOTFOUND)")
    transcript.prompt("q")

    entries = await fed_back(runtime(tmp_path), transcript)

    assert parents(entries) == {"p": None, "said": "p", "q": "said"}
