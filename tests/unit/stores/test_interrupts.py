"""What an interrupt leaves is told the model once, and in neutral words."""

from typing import Any

import pytest

from flower.stores.prune import PrunePolicy, PruneReport, prune
from tests.unit.stores.transcripts import Entry, Transcript, by_uuid, call, parents, result, uuids, words

NEUTRAL = "[上一轮在此处被中断,该工具结果未产生]"
MARK = "[Request interrupted by user]"
TOOL_MARK = "[Request interrupted by user for tool use]"
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, "
    "the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how "
    "to proceed."
)


class Interrupted(Transcript):
    """As the CLI of today writes it: the rejected result, and a line in the person's name."""

    def call_broken_off(self, identity: str) -> None:
        self.says(f"a-{identity}", call(identity))
        block = result(identity, REJECTED, is_error=True)
        self.results(
            f"r-{identity}", block, toolDenialKind="user-rejected", toolUseResult="User rejected tool use"
        )
        self.attachment(f"t-{identity}")
        self.mark(f"m-{identity}", TOOL_MARK)

    def mark(self, uuid: str, text: str = MARK, **fields: Any) -> Entry:
        return self.results(uuid, words(text), **fields)


def pruned(transcript: Transcript, **policy: Any) -> list[Entry]:
    return prune(transcript.entries, PrunePolicy(**policy))[0]


def notes(entries: list[Entry]) -> int:
    return str(entries).count(NEUTRAL)


def test_a_call_that_was_broken_off_says_so_once_in_its_result() -> None:
    transcript = Interrupted()
    transcript.prompt("p")
    transcript.call_broken_off("t")
    transcript.prompt("q")

    entries, report = prune(transcript.entries, PrunePolicy())

    assert by_uuid(entries, "r-t")["message"]["content"] == [result("t", NEUTRAL, is_error=True)]
    assert parents(entries) == {"p": None, "a-t": "p", "r-t": "a-t", "t-t": "r-t", "q": "t-t"}
    assert report == PruneReport(interrupts=1, marks=1)
    assert "Request interrupted" not in str(entries) and "doesn't want" not in str(entries)


def test_words_that_were_broken_off_are_followed_by_one_note() -> None:
    transcript = Interrupted()
    transcript.says("a", words("I was about to"))
    transcript.mark("m")

    entries = pruned(transcript)

    assert by_uuid(entries, "m")["message"]["content"] == [words(NEUTRAL)]
    assert uuids(entries) == ["a", "m"]


def test_three_interrupts_in_a_row_leave_one_note_and_what_the_person_said_between() -> None:
    transcript = Interrupted()
    transcript.prompt("p1", "one")
    transcript.mark("m1")
    transcript.prompt("p2", "two")
    transcript.mark("m2")
    said = {"model": "<synthetic>", "content": [words("No response requested.")]}
    transcript.add("n", "assistant", message=said, isApiErrorMessage=False)
    transcript.prompt("p3", "three")
    transcript.mark("m3")

    entries = pruned(transcript)

    assert uuids(entries) == ["p1", "m1", "p2", "n", "p3"]
    assert notes(entries) == 1


def test_after_the_model_has_spoken_the_next_interrupt_is_told_again() -> None:
    transcript = Interrupted()
    for number in range(3):
        transcript.call_broken_off(f"t{number}")
        transcript.prompt(f"p{number}", "go on")

    assert notes(pruned(transcript)) == 3


def test_an_interrupt_of_another_lane_is_told_in_its_own() -> None:
    transcript = Interrupted()
    transcript.mark("m1")
    transcript.mark("m2", isSidechain=True)

    assert notes(pruned(transcript)) == 2


def test_a_line_that_a_summary_names_stays() -> None:
    transcript = Interrupted()
    transcript.mark("m1")
    transcript.mark("m2")
    named = {"preservedSegment": {"headUuid": "m2"}}
    transcript.add("b", "system", subtype="compact_boundary", compactMetadata=named)

    assert uuids(pruned(transcript)) == ["m1", "m2", "b"]


@pytest.mark.parametrize("text", [MARK, TOOL_MARK])
def test_every_shape_of_the_mark_is_known(text: str) -> None:
    transcript = Interrupted()
    transcript.says("a", call("t"), call("u"))
    transcript.results("r", result("t", text, is_error=True), result("u", [words(text)]))
    transcript.says("b", words())
    transcript.add("m", "user", message={"role": "user", "content": text})

    entries = pruned(transcript)

    assert by_uuid(entries, "r")["message"]["content"] == [
        result("t", NEUTRAL, is_error=True),
        result("u", [words(NEUTRAL)]),
    ]
    assert by_uuid(entries, "m")["message"]["content"] == NEUTRAL


def test_what_a_person_said_when_refusing_a_call_is_kept() -> None:
    transcript = Transcript()
    transcript.says("a", call("t"))
    text = f"{REJECTED[:60]}. To tell you how to proceed, the user said:\nuse the other branch"
    transcript.results("r", result("t", text, is_error=True))

    assert pruned(transcript) == transcript.entries


def test_a_file_that_quotes_an_interrupt_is_kept() -> None:
    transcript = Transcript()
    transcript.says("a", call("t", name="Read"), call("u"))
    transcript.results("r", result("t", REJECTED), toolUseResult={"type": "text", "file": {}})
    transcript.results("s", result("u", REJECTED, is_error=False))

    assert pruned(transcript) == transcript.entries


def test_leftovers_stay_where_the_policy_says_so() -> None:
    transcript = Transcript()
    transcript.results("m", words("[Request interrupted by user]"))

    assert pruned(transcript, neutralize_interrupts=False) == transcript.entries
