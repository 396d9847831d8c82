"""What is left out of a resume, what is made neutral, and that one chain remains."""

import copy
from typing import Any

import pytest

from flower.stores.prune import PrunePolicy, PruneReport, is_api_error, is_denial, prune
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

NEUTRAL = "[上一轮在此处被中断,该工具结果未产生]"
ORPHAN = "[这一步被打断了,没有结果。需要的话重做。]"


def pruned(transcript: Transcript, **policy: Any) -> list[Entry]:
    before = copy.deepcopy(transcript.entries)

    entries, _ = prune(transcript.entries, PrunePolicy(**policy))

    assert transcript.entries == before, "a caller's entries are never changed in place"
    return entries


# ---------------------------------------------------------------------- errors of the API


def test_a_synthetic_api_error_is_not_fed_back_and_its_child_hangs_on_its_parent() -> None:
    transcript = Transcript()
    transcript.prompt("p1")
    transcript.api_error("e1")
    transcript.prompt("p2")

    entries = pruned(transcript)

    assert parents(entries) == {"p1": None, "p2": "p1"}


def test_an_error_at_the_very_end_is_not_fed_back() -> None:
    transcript = Transcript()
    transcript.prompt("p1")
    transcript.api_error("e1")

    assert uuids(pruned(transcript)) == ["p1"]


def test_the_clis_notes_of_trying_again_go_and_so_does_the_error_that_follows_them() -> None:
    transcript = Transcript()
    transcript.prompt("p1")
    transcript.add("r1", "system", subtype="api_error", retryAttempt=1)
    transcript.add("r2", "system", subtype="api_error", retryAttempt=2)
    transcript.api_error("e1")
    transcript.attachment("a1")

    entries, report = prune(transcript.entries, PrunePolicy())

    assert parents(entries) == {"p1": None, "a1": "p1"}
    assert report == PruneReport(api_errors=3)


def test_a_synthetic_model_alone_is_the_sign_where_the_cli_set_no_flag() -> None:
    entry = {"type": "assistant", "message": {"model": "<synthetic>", "content": [words("API Error: 500")]}}

    assert is_api_error(entry)


def test_the_clis_no_response_requested_keeps_the_roles_alternating() -> None:
    transcript = Transcript()
    transcript.prompt("p1")
    said = {"model": "<synthetic>", "content": [words("No response requested.")]}
    transcript.add("n1", "assistant", message=said, isApiErrorMessage=False)
    transcript.prompt("p2")

    assert uuids(pruned(transcript)) == ["p1", "n1", "p2"]


def test_a_person_who_quotes_an_error_keeps_their_words() -> None:
    transcript = Transcript()
    transcript.prompt("p1", "API Error: 529 overloaded. What does that mean?")
    transcript.says("a1", words("You saw “API Error: 529”: it was busy."))
    transcript.prompt("p2", "[Request interrupted by user] is what it said")

    assert pruned(transcript) == transcript.entries


def test_errors_stay_where_the_policy_says_so() -> None:
    transcript = Transcript()
    transcript.prompt("p1")
    transcript.api_error("e1")

    assert uuids(pruned(transcript, drop_api_errors=False)) == ["p1", "e1"]


def test_the_bookmark_of_the_last_prompt_moves_from_a_dropped_entry_to_its_ancestor() -> None:
    transcript = Transcript()
    transcript.prompt("p1")
    transcript.api_error("e1")
    transcript.entries.append({"type": "last-prompt", "lastPrompt": "please", "leafUuid": "e1"})

    assert pruned(transcript)[-1]["leafUuid"] == "p1"


# ---------------------------------------------------------------------- refused calls


def denials(*calls: str) -> Transcript:
    transcript = Transcript()
    transcript.prompt("p")
    for each in calls:
        transcript.says(f"a-{each}", call(each))
        transcript.denied(f"r-{each}", each)
    return transcript


def test_of_refused_calls_the_latest_stays() -> None:
    transcript = denials("t1", "t2", "t3")
    transcript.says("end", words())

    entries, report = prune(transcript.entries, PrunePolicy())

    assert parents(entries) == {"p": None, "a-t3": "p", "r-t3": "a-t3", "end": "r-t3"}
    assert report == PruneReport(denials=2)


@pytest.mark.parametrize(("keep", "left"), [(0, []), (2, ["t2", "t3"]), (5, ["t1", "t2", "t3"])])
def test_how_many_refused_calls_stay_is_the_policys(keep: int, left: list[str]) -> None:
    entries = pruned(denials("t1", "t2", "t3"), keep_denials=keep)

    assert [block["id"] for block in blocks(entries, "tool_use")] == left
    assert [block["tool_use_id"] for block in blocks(entries, "tool_result")] == left


def test_a_refusal_is_known_by_the_field_of_the_entry_and_by_the_words_of_the_hook() -> None:
    by_field = {
        "toolDenialKind": "permission-rule",
        **Transcript().results("r", result("t", "no", is_error=True)),
    }
    by_words = Transcript().results("r", result("t", "PreToolUse:Bash hook error: no", is_error=True))

    assert is_denial(by_field)
    assert is_denial(by_words)


@pytest.mark.parametrize(
    "entry",
    [
        Transcript().results("r", result("t", "PreToolUse:Bash hook error: no", is_error=False)),
        Transcript().results("r", result("t", "The log says: PreToolUse:Bash hook error: no", is_error=True)),
        Transcript().prompt("p", "PreToolUse:Bash hook error: no"),
        {"toolDenialKind": "user-rejected", **Transcript().results("r", result("t", "no", is_error=True))},
    ],
)
def test_who_quotes_a_refusal_was_not_refused(entry: Entry) -> None:
    assert not is_denial(entry)


def test_of_calls_in_one_entry_only_the_refused_one_goes() -> None:
    transcript = Transcript()
    transcript.prompt("p")
    transcript.says("a", words("both"), call("good"), call("bad"))
    transcript.results(
        "r", result("good"), result("bad", "no", is_error=True), toolDenialKind="permission-rule"
    )
    transcript.entries[-1]["toolUseResult"] = "Error: no"

    entries = pruned(transcript, keep_denials=0)

    assert by_uuid(entries, "a")["message"]["content"] == [words("both"), call("good")]
    assert by_uuid(entries, "r")["message"]["content"] == [result("good")]
    assert "toolUseResult" not in by_uuid(entries, "r"), "the copy of the refusal goes too"


def test_of_calls_side_by_side_the_way_up_leads_through_the_result_that_stays() -> None:
    transcript = Transcript()
    transcript.prompt("p")
    transcript.says("a1", call("good"), message="m")
    transcript.says("a2", call("bad"), message="m")
    transcript.results("r1", result("good"))["parentUuid"] = "a1"
    transcript.denied("r2", "bad")["parentUuid"] = "a2"
    transcript.attachment("next")

    entries = pruned(transcript, keep_denials=0)

    assert parents(entries) == {"p": None, "a1": "p", "r1": "a1", "next": "r1"}


def test_what_the_model_said_before_a_refused_call_stays() -> None:
    transcript = Transcript()
    transcript.prompt("p")
    transcript.says("a1", thinking(), message="m")
    transcript.says("a2", words("I look."), message="m")
    transcript.says("a3", call("bad"), message="m")
    transcript.denied("r", "bad")
    transcript.says("end", words())

    entries = pruned(transcript, keep_denials=0)

    assert parents(entries) == {"p": None, "a1": "p", "a2": "a1", "end": "a2"}


def test_thinking_that_led_to_nothing_but_a_refused_call_goes_whole() -> None:
    transcript = Transcript()
    transcript.prompt("p")
    transcript.says("a1", thinking(), message="m")
    transcript.says("a2", call("bad"), message="m")
    transcript.denied("r", "bad")
    transcript.says("b", thinking(), call("worse"))
    transcript.denied("s", "worse")

    assert uuids(pruned(transcript, keep_denials=0)) == ["p"]


def test_an_entry_that_has_thinking_is_never_changed_so_its_refused_call_stays() -> None:
    transcript = Transcript()
    transcript.prompt("p")
    transcript.says("a", thinking(), words("I look."), call("bad"))
    transcript.denied("r", "bad")

    assert pruned(transcript, keep_denials=0) == transcript.entries


def test_no_message_is_left_to_end_on_thinking() -> None:
    transcript = Transcript()
    transcript.prompt("p")
    transcript.says("a1", words("I look."), message="m")
    transcript.says("a2", thinking(), message="m")
    transcript.says("a3", call("bad"), message="m")
    transcript.denied("r", "bad")

    assert uuids(pruned(transcript, keep_denials=0)) == ["p", "a1"]


def test_a_message_that_would_end_on_thinking_within_an_entry_stays_as_it_is() -> None:
    transcript = Transcript()
    transcript.prompt("p")
    transcript.says("a1", words("I look."), thinking(), message="m")
    transcript.says("a2", call("bad"), message="m")
    transcript.denied("r", "bad")

    assert pruned(transcript, keep_denials=0) == transcript.entries


# ---------------------------------------------------------------------- calls without results


def test_a_call_without_a_result_gets_one_that_takes_over_the_children() -> None:
    transcript = Transcript()
    transcript.says("a", call("t"), timestamp="2026-11-30T20:47:26.384Z", sessionId="s", cwd="/w")
    transcript.prompt("p")

    entries, report = prune(transcript.entries, PrunePolicy())

    healed = entries[1]
    assert healed["uuid"] == "heal-a"
    assert healed["type"] == "user"
    assert healed["message"] == {"role": "user", "content": [result("t", ORPHAN, is_error=False)]}
    assert (healed["timestamp"], healed["sessionId"], healed["cwd"]) == (
        "2026-11-30T20:47:26.384Z",
        "s",
        "/w",
    )
    assert parents(entries) == {"a": None, "heal-a": "a", "p": "heal-a"}
    assert report == PruneReport(healed=1)


def test_of_parallel_calls_only_those_without_a_result_get_one() -> None:
    transcript = Transcript()
    transcript.says("a", call("t1"), call("t2"), call("t3"))
    transcript.results("r", result("t2"))

    entries = pruned(transcript)

    assert [block["tool_use_id"] for block in by_uuid(entries, "heal-a")["message"]["content"]] == [
        "t1",
        "t3",
    ]
    assert parents(entries) == {"a": None, "heal-a": "a", "r": "heal-a"}


def test_a_message_that_is_several_entries_is_not_cut_in_two_by_its_healing() -> None:
    transcript = Transcript()
    transcript.says("a1", call("t1"), message="m")
    transcript.says("a2", call("t2"), message="m")
    transcript.results("r2", result("t2"))

    entries = pruned(transcript)

    assert parents(entries) == {"a1": None, "a2": "a1", "heal-a2": "a2", "r2": "heal-a2"}
    assert uuids(entries) == ["a1", "a2", "heal-a2", "r2"]


def test_what_was_appended_below_a_made_up_result_finds_it_again_on_the_next_load() -> None:
    transcript = Transcript()
    transcript.says("a", call("t"))
    transcript.prompt("p")["parentUuid"] = "heal-a"

    assert parents(pruned(transcript)) == {"a": None, "heal-a": "a", "p": "heal-a"}


def test_what_was_appended_below_a_made_up_result_hangs_on_the_call_when_the_real_result_came() -> None:
    transcript = Transcript()
    transcript.says("a", call("t"))
    transcript.attachment("b")
    transcript.prompt("p")["parentUuid"] = "heal-a"
    transcript.results("r", result("t"))["parentUuid"] = "a"

    assert parents(pruned(transcript)) == {"a": None, "b": "a", "p": "a", "r": "a"}


def test_a_result_without_a_call_goes() -> None:
    transcript = Transcript()
    transcript.prompt("p")
    transcript.results("r", result("unknown"))
    transcript.results("s", result("unknown"), words("and this"))

    entries, report = prune(transcript.entries, PrunePolicy())

    assert parents(entries) == {"p": None, "s": "p"}
    assert by_uuid(entries, "s")["message"]["content"] == [words("and this")]
    assert report == PruneReport(strays=2)


def test_a_call_has_one_result_and_the_first_is_it() -> None:
    transcript = Transcript()
    transcript.says("a", call("t"))
    transcript.results("r", result("t", "first"))
    transcript.results("s", result("t", "second"))

    assert blocks(pruned(transcript), "tool_result") == [result("t", "first")]


def test_nothing_is_healed_where_the_policy_says_so() -> None:
    transcript = Transcript()
    transcript.says("a", call("t"))
    transcript.results("r", result("unknown"))

    assert pruned(transcript, heal_orphans=False) == transcript.entries


# ---------------------------------------------------------------------- what is never touched


def test_summaries_notes_and_boundaries_of_the_cli_are_never_touched() -> None:
    transcript = Transcript()
    transcript.add(
        "b",
        "system",
        subtype="compact_boundary",
        logicalParentUuid="gone",
        compactMetadata={"trigger": "auto"},
    )
    transcript.add("s", "user", isCompactSummary=True, message={"content": "[Request interrupted by user]"})
    transcript.results("m", words("[Request interrupted by user]"), isMeta=True)
    transcript.denied("d", "t", isMeta=True)
    transcript.note()

    assert pruned(transcript, keep_denials=0) == transcript.entries


def test_what_a_summary_names_stays_for_the_cli_looks_for_it() -> None:
    transcript = denials("t1", "t2")
    transcript.api_error("e")
    named = {
        "preservedSegment": {"headUuid": "a-t1", "tailUuid": "e"},
        "preservedMessages": {"uuids": ["r-t2"]},
    }
    transcript.add("b", "system", subtype="compact_boundary", compactMetadata=named)

    assert pruned(transcript, keep_denials=0) == transcript.entries


def test_half_written_entries_do_no_harm() -> None:
    transcript = Transcript()
    transcript.prompt("p")
    transcript.add("x1", "assistant")
    transcript.add("x2", "assistant", message=None)
    transcript.add("x3", "assistant", message={"content": None})
    transcript.add(
        "x4", "user", message={"content": [None, "text", {"type": "tool_result"}, {"type": "tool_use"}]}
    )
    transcript.entries.append({})
    transcript.entries.append({"type": "assistant", "message": {"content": [call("t")]}})

    assert pruned(transcript) == transcript.entries


def test_of_two_entries_with_one_uuid_the_first_stays() -> None:
    transcript = Transcript()
    transcript.prompt("p", "first")
    transcript.attachment("a")
    transcript.prompt("p", "second")["parentUuid"] = None

    entries, report = prune(transcript.entries, PrunePolicy())

    assert uuids(entries) == ["p", "a"]
    assert by_uuid(entries, "p")["message"]["content"] == "first"
    assert report == PruneReport(duplicates=1)


def test_the_defaults_are_as_they_were_promised() -> None:
    policy = PrunePolicy()

    assert policy == PrunePolicy(
        drop_api_errors=True,
        neutralize_interrupts=True,
        interrupt_text=NEUTRAL,
        heal_orphans=True,
        orphan_text=ORPHAN,
        keep_denials=1,
    )


# ---------------------------------------------------------------------- commands killed with their CLI


def killed(transcript: Transcript, text: str = "Exit code 137") -> None:
    transcript.prompt("p1")
    transcript.says("a1", call("c1"))
    transcript.results("r1", result("c1", text, is_error=True))


def results_of(entries: list[Entry]) -> list[str]:
    return [block["content"] for block in blocks(entries, "tool_result")]


@pytest.mark.parametrize("what_follows", ["nothing", "the CLI's own words", "a prompt"])
@pytest.mark.parametrize("code", [137, 143])
def test_a_command_that_was_killed_with_its_cli_reads_as_interrupted(code: int, what_follows: str) -> None:
    transcript = Transcript()
    killed(transcript, f"Exit code {code}")
    if what_follows == "the CLI's own words":
        said = {"model": "<synthetic>", "content": [words("No response requested.")]}
        transcript.add("n1", "assistant", message=said, isApiErrorMessage=False)
    if what_follows != "nothing":
        transcript.prompt("p2", "go on")
        transcript.says("a2", words("going on"))

    assert results_of(pruned(transcript)) == [NEUTRAL]
    assert results_of(pruned(transcript, neutralize_interrupts=False)) == [f"Exit code {code}"]


def test_what_the_killed_command_had_printed_is_kept() -> None:
    transcript = Transcript()
    killed(transcript, "Exit code 137\ncompiled 3 of 9")

    assert results_of(pruned(transcript)) == [f"{NEUTRAL}\ncompiled 3 of 9"]


def test_a_command_that_was_killed_while_the_cli_lived_is_told_as_it_was() -> None:
    transcript = Transcript()
    killed(transcript)
    transcript.says("a2", words("it ran out of memory"))
    transcript.prompt("p2", "go on")

    assert results_of(pruned(transcript)) == ["Exit code 137"]


@pytest.mark.parametrize("text", ["Exit code 1", "Exit code 1370", "it said: Exit code 137"])
def test_a_command_that_ended_otherwise_is_told_as_it_was(text: str) -> None:
    transcript = Transcript()
    killed(transcript, text)

    assert results_of(pruned(transcript)) == [text]
