"""Thinking is fed back as it was, or not at all."""

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower.stores.prune import PrunePolicy, PruneReport, PruningSessionStore, prune, without_thinking
from tests.unit.stores.transcripts import (
    Entry,
    Transcript,
    blocks,
    by_uuid,
    call,
    parents,
    result,
    thinking,
    uuids,
    words,
)

KEY = {"project_key": "p", "session_id": "s"}
SIDE = {**KEY, "subpath": "subagents/agent-1"}
SECRET = {"type": "redacted_thinking", "data": "c2ln"}


def thoughtful() -> Transcript:
    """A message an entry a block, as the CLI writes it, and one in a single entry."""
    transcript = Transcript()
    transcript.prompt("p")
    transcript.says("a1", thinking(), message="m")
    transcript.says("a2", SECRET, message="m")
    transcript.says("a3", call("t"), message="m")
    transcript.results("r", result("t"))
    transcript.says("b", thinking(), words("done"))
    return transcript


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PruningSessionStore]:
    opened = PruningSessionStore(tmp_path / "sessions.db", tmp_path / "w")
    yield opened
    opened.close()


def thoughts(entries: list[Entry]) -> int:
    return len(blocks(entries, "thinking") + blocks(entries, "redacted_thinking"))


def test_without_thinking_all_else_stays_in_one_chain() -> None:
    transcript = thoughtful()
    before = copy.deepcopy(transcript.entries)

    entries = without_thinking(transcript.entries)

    assert transcript.entries == before
    assert thoughts(entries) == 0
    assert parents(entries) == {"p": None, "a3": "p", "r": "a3", "b": "r"}
    assert by_uuid(entries, "a3") == {**by_uuid(before, "a3"), "parentUuid": "p"}
    assert by_uuid(entries, "b")["message"] == {**by_uuid(before, "b")["message"], "content": [words("done")]}


def test_where_there_is_no_thinking_nothing_changes() -> None:
    transcript = Transcript()
    transcript.prompt("p")
    transcript.says("a", words())

    assert without_thinking(transcript.entries) == transcript.entries


def test_an_entry_that_a_summary_names_stays_with_a_placeholder() -> None:
    transcript = thoughtful()
    named = {"preservedSegment": {"headUuid": "a1"}}
    transcript.add("s", "system", subtype="compact_boundary", compactMetadata=named)

    entries = without_thinking(transcript.entries)

    assert by_uuid(entries, "a1")["message"]["content"] == [words("…")]


def test_a_session_is_fed_back_without_thinking_only_when_it_is_asked_for(store: PruningSessionStore) -> None:
    for key in (KEY, SIDE, {**KEY, "session_id": "other"}):
        store.append_sync(key, thoughtful().entries)

    store.leave_out_thinking("s")

    assert thoughts(store.load_sync(KEY) or []) == 0
    assert thoughts(store.load_sync(SIDE) or []) == 0
    assert thoughts(store.load_sync({**KEY, "session_id": "other"}) or []) == 3
    assert thoughts(store.entries(KEY)) == 3, "the store keeps what it was given"


def test_a_refused_call_behind_thinking_goes_when_the_thinking_does() -> None:
    transcript = Transcript()
    transcript.prompt("p")
    transcript.says("a", thinking(), words("I look."), call("bad"))
    transcript.denied("r", "bad")

    entries, _ = prune(transcript.entries, PrunePolicy(keep_denials=0, drop_thinking=True))

    assert blocks(entries, "tool_use") == []
    assert by_uuid(entries, "a")["message"]["content"] == [words("I look.")]


@pytest.mark.parametrize(
    ("before", "left"), [([], []), ([words("I look.")], ["a0"]), ([thinking(), words()], ["a0", "a1"])]
)
def test_thinking_that_a_kill_cut_off_from_what_it_led_to_goes(before: list[Entry], left: list[str]) -> None:
    transcript = Transcript()
    transcript.prompt("p")
    for number, block in enumerate([*before, thinking(), SECRET]):
        transcript.says(f"a{number}", block, message="m")
    transcript.prompt("q")

    entries, report = prune(transcript.entries, PrunePolicy())

    assert uuids(entries) == ["p", *left, "q"]
    assert parents(entries)["q"] == ["p", *left][-1]
    assert report == PruneReport(thoughts=2)


def test_thinking_that_led_to_something_stays_as_it_was() -> None:
    transcript = thoughtful()

    assert prune(transcript.entries, PrunePolicy())[0] == transcript.entries


def test_thinking_that_was_taken_in_after_what_it_led_to_stays() -> None:
    transcript = thoughtful()
    prompt, first, second, *rest = transcript.entries

    entries, report = prune([prompt, *rest, first, second], PrunePolicy())

    assert entries == [prompt, *rest, first, second]
    assert report == PruneReport()


def test_thinking_that_a_summary_names_stays() -> None:
    transcript = Transcript()
    transcript.says("a", thinking())
    named = {"preservedMessages": {"uuids": ["a"]}}
    transcript.add("b", "system", subtype="compact_boundary", compactMetadata=named)

    assert prune(transcript.entries, PrunePolicy())[0] == transcript.entries
