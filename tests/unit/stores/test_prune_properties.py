"""What holds for every transcript, whatever happened to it."""

import copy
import json
import sqlite3
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flower.stores.entries import (
    content_of,
    is_thinking,
    named_by_summaries,
    with_content,
)
from flower.stores.prune import PrunePolicy, PruningSessionStore, prune, without_thinking
from flower.stores.residue import (
    is_api_error,
)
from tests.unit.stores.pruning_rules import Rules, bare, without_second_ones
from tests.unit.stores.random_transcripts import broken, sound, straight
from tests.unit.stores.transcripts import Entry, blocks, words

KEY = {"project_key": "p", "session_id": "s"}
SIDE = {**KEY, "subpath": "subagents/agent-1"}

# A busy machine is no fault of the code's.
unhurried = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
policies = st.builds(PrunePolicy, keep_denials=st.integers(0, 2))
all_policies = policies | st.builds(PrunePolicy, keep_denials=st.integers(0, 2), drop_thinking=st.just(True))


@unhurried
@given(sound() | broken(), all_policies)
def test_every_call_has_one_result_and_every_result_its_call(
    entries: list[Entry], policy: PrunePolicy
) -> None:
    linked = [entry for entry in prune(entries, policy)[0] if entry.get("uuid")]

    calls = [
        block["id"]
        for entry in linked
        if entry.get("type") == "assistant"
        for block in blocks([entry], "tool_use")
    ]
    results = [
        b["tool_use_id"]
        for entry in linked
        if entry.get("type") == "user"
        for b in blocks([entry], "tool_result")
    ]
    assert set(calls) == set(results)
    assert max(Counter(results).values(), default=1) == 1


@unhurried
@given(sound() | broken(), all_policies)
def test_from_every_entry_there_is_a_way_to_a_root(entries: list[Entry], policy: PrunePolicy) -> None:
    kept = prune(entries, policy)[0]

    above = {entry["uuid"]: entry.get("parentUuid") for entry in kept if entry.get("uuid")}
    for uuid in above:
        at: str | None = uuid
        for _ in range(len(above) + 1):
            if at is None:
                break
            assert at in above, f"{uuid} hangs on {at}, which isn't there"
            at = above[at]
        assert at is None, f"{uuid} hangs in a circle"


@unhurried
@given(straight(), policies)
def test_the_way_from_the_end_leads_past_all_that_was_said(entries: list[Entry], policy: PrunePolicy) -> None:
    kept = prune(entries, policy)[0]

    known = {entry["uuid"]: entry for entry in kept if entry.get("uuid")}
    way, at = [], known["end"]
    while True:
        way.append(at)
        if at["parentUuid"] is None:
            break
        at = known[at["parentUuid"]]
    passed = {entry["uuid"] for entry in way}
    messages = {entry["message"].get("id", entry["uuid"]) for entry in way if entry["type"] == "assistant"}
    for entry in known.values():
        # Parallel calls and their results may stand beside the way: the CLI finds them by their message.
        if entry["type"] == "assistant":
            assert entry["message"].get("id", entry["uuid"]) in messages
        elif blocks([entry], "tool_result"):
            assert entry["uuid"] in passed or known[entry["parentUuid"]]["type"] in ("assistant", "user")
        else:
            assert entry["uuid"] in passed


@unhurried
@given(straight(), policies)
def test_a_result_is_on_the_way_or_hangs_on_its_message(entries: list[Entry], policy: PrunePolicy) -> None:
    kept = prune(entries, policy)[0]

    known = {entry["uuid"]: entry for entry in kept if entry.get("uuid")}
    passed, at = set(), "end"
    while at is not None:
        passed.add(at)
        at = known[at]["parentUuid"]
    message_of_call = {
        block["id"]: entry["message"]["id"]
        for entry in kept
        if entry["type"] == "assistant"
        for block in blocks([entry], "tool_use")
    }
    for entry in known.values():
        for block in blocks([entry], "tool_result"):
            parent = known[entry["parentUuid"]]
            beside = parent.get("message", {}).get("id") == message_of_call[block["tool_use_id"]]
            assert entry["uuid"] in passed or beside


@unhurried
@given(sound(), st.builds(PrunePolicy, keep_denials=st.just(99)))
def test_an_entry_hangs_on_its_nearest_ancestor_that_is_left(
    entries: list[Entry], policy: PrunePolicy
) -> None:
    kept = {entry["uuid"]: entry for entry in prune(entries, policy)[0] if entry.get("uuid")}

    above = {entry["uuid"]: entry["parentUuid"] for entry in entries if entry.get("uuid")}
    for uuid in kept.keys() & above.keys():
        nearest = above[uuid]
        while nearest is not None and nearest not in kept:
            nearest = above[nearest]
        assert kept[uuid]["parentUuid"] in (nearest, f"heal-{nearest}")


@unhurried
@given(sound() | broken(), policies)
def test_what_is_fed_back_is_exactly_what_the_rules_leave(entries: list[Entry], policy: PrunePolicy) -> None:
    kept, report = prune(entries, policy)

    rules = Rules(entries, kept, policy)
    made_up = [entry for entry in kept if str(entry.get("uuid")).startswith("heal-")]
    assert [bare(entry) for entry in kept if entry not in made_up] == rules.expected()
    healed = [block for entry in made_up for block in entry["message"]["content"]]
    assert {block["content"] for block in healed} <= {policy.orphan_text}
    assert sorted(block["tool_use_id"] for block in healed) == sorted(rules.calls_left - rules.answered)
    assert rules.refused_calls_left() <= rules.calls_that_can_not_go()
    assert report.api_errors == len(rules.errors)
    assert report.marks == len(rules.marks)
    assert report.denials == len(rules.calls_gone)


@unhurried
@given(sound() | broken())
def test_without_thinking_all_else_is_as_it_was(entries: list[Entry]) -> None:
    kept = without_thinking(entries)

    left_over = {entry.get("parentUuid") or None for entry in kept} - {entry.get("uuid") for entry in kept}
    assert left_over <= {None}, "every parent is there"
    carried = named_by_summaries(entries)
    expected = []
    for entry in without_second_ones(entries):
        content = content_of(entry)
        left = [block for block in content if not is_thinking(block)]
        if entry.get("type") != "assistant" or len(left) == len(content):
            expected.append(bare(entry))
        elif left or not entry.get("uuid") or entry["uuid"] in carried:
            expected.append(bare(with_content(entry, left or [words("…")])))
    assert [bare(entry) for entry in kept] == expected


@unhurried
@given(sound() | broken(), policies)
def test_all_that_was_said_stays_and_thinking_is_never_changed(
    entries: list[Entry], policy: PrunePolicy
) -> None:
    kept = {entry["uuid"]: entry for entry in prune(entries, policy)[0] if entry.get("uuid")}

    for entry in without_second_ones(entries):
        uuid = entry.get("uuid")
        if entry.get("type") != "assistant" or not uuid or is_api_error(entry):
            continue
        if blocks([entry], "text"):
            assert blocks([kept[uuid]], "text") == blocks([entry], "text")
        if blocks([entry], "thinking") and uuid in kept:
            assert kept[uuid]["message"] == entry["message"]


@unhurried
@given(sound() | broken(), all_policies)
def test_pruning_what_was_pruned_changes_nothing_and_no_caller_sees_a_change(
    entries: list[Entry], policy: PrunePolicy
) -> None:
    before = copy.deepcopy(entries)

    once = prune(entries, policy)[0]

    assert entries == before
    assert prune(once, policy)[0] == once


@settings(unhurried, max_examples=25)
@given(sound() | broken(), sound())
def test_loading_twice_gives_the_same_and_leaves_the_file_as_it_was(
    tmp_path: Path, entries: list[Entry], side: list[Entry]
) -> None:
    path = tmp_path / "sessions.db"
    path.unlink(missing_ok=True)
    store = PruningSessionStore(path, tmp_path / "workspace")
    store.append_sync(KEY, entries)
    store.append_sync(SIDE, side)
    before = rows(path)

    first = store.load_sync(KEY), store.load_sync(SIDE)
    second = store.load_sync(KEY), store.load_sync(SIDE)
    store.close()

    assert first == second
    assert rows(path) == before
    for key, told in (("p/s", entries), ("p/s/subagents/agent-1", side)):
        assert [json.loads(payload) for each, _, payload in before if each == key] == without_second_ones(
            told
        )


def rows(path: Path) -> list[tuple[str, int, str]]:
    connection = sqlite3.connect(path)
    try:
        query = "SELECT store_key, seq, payload FROM entries ORDER BY store_key, seq"
        return connection.execute(query).fetchall()
    finally:
        connection.close()
