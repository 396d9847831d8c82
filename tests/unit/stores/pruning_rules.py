"""The rules of pruning once more, each for itself: what they take from a transcript, and what they change in it."""

from typing import Any

from flower.stores.entries import (
    calls_in,
    content_of,
    has_thinking,
    is_set_apart,
    is_thinking,
    lane_of,
    message_of,
    named_by_summaries,
    results_in,
    with_content,
)
from flower.stores.prune import PrunePolicy, relink
from flower.stores.residue import (
    denied_in,
    is_api_error,
    is_api_error_link,
    is_by_the_model,
    is_interrupt_mark,
    is_interrupted,
)
from tests.unit.stores.transcripts import Entry, words


class Rules:
    """What each rule takes or changes, said once more and without regard to speed.

    Of refused calls it believes the result which are gone, and says which may be.
    """

    def __init__(self, entries: list[Entry], kept: list[Entry], policy: PrunePolicy) -> None:
        self._policy = policy
        self._entries = without_second_ones(entries)
        self._fixed = named_by_summaries(self._entries)
        self._left = {entry["uuid"] for entry in kept if entry.get("uuid")}
        linked = [entry for entry in self._entries if entry.get("uuid")]
        self.errors = {
            entry["uuid"]
            for entry in linked
            if (is_api_error(entry) or is_api_error_link(entry)) and entry["uuid"] not in self._fixed
        }
        self.marks = self._repeated_marks()
        self._thoughts = self._ends_of_thinking(linked)
        self.calls_left = {call["id"] for entry in kept if entry.get("uuid") for call in calls_in(entry)}
        self._calls = {
            call["id"] for entry in linked if entry["uuid"] not in self.errors for call in calls_in(entry)
        }
        self.calls_gone = self._calls - self.calls_left
        denied = [
            call
            for entry in linked
            if entry["uuid"] not in self._fixed and not entry.get("isMeta")
            for call in denied_in(entry)
        ]
        denied = list(dict.fromkeys(denied))
        self._old_denials = set(denied[: max(0, len(denied) - policy.keep_denials)])
        self.answered: set[str] = set()

    def expected(self) -> list[Entry]:
        found = []
        for entry in self._entries:
            changed = self._changed(entry)
            if changed is not None:
                found.append(bare(changed))
        return found

    def refused_calls_left(self) -> set[str]:
        assert self.calls_gone <= self._old_denials
        return self._old_denials & self.calls_left

    def calls_that_can_not_go(self) -> set[str]:
        """Those in a message that has thinking, which is signed, or a part that a summary names."""
        parts: dict[str | None, list[Entry]] = {}
        for entry in self._entries:
            if entry.get("type") == "assistant" and entry.get("uuid"):
                parts.setdefault(message_of(entry), []).append(entry)
        return {
            call["id"]
            for message in parts.values()
            if any(has_thinking(part) or part["uuid"] in self._fixed for part in message)
            for part in message
            for call in calls_in(part)
        }

    def _changed(self, entry: Entry) -> Entry | None:
        uuid, content = entry.get("uuid"), content_of(entry)
        if uuid in self.errors | self.marks | self._thoughts:
            return None
        if entry.get("type") == "assistant" and uuid:
            left = [block for block in content if block.get("id") not in self.calls_gone]
            if content and not left:
                return None
            led_nowhere = all(map(is_thinking, left)) and left and uuid not in self._left
            if led_nowhere and self._message_lost_a_call(entry):
                return None
            return with_content(entry, left) if len(left) < len(content) else entry
        if entry.get("type") != "user" or is_set_apart(entry):
            return entry
        if is_interrupt_mark(entry):
            return self._neutral_mark(entry)
        left = [block for block in content if not uuid or self._stays(block)]
        if content and not left:
            return None
        neutral = [self._neutral(block, entry) for block in left]
        return with_content(entry, neutral) if neutral != content else entry

    def _stays(self, block: Any) -> bool:
        if not isinstance(block, dict) or block.get("type") != "tool_result":
            return True
        call = block["tool_use_id"]
        if call not in self.calls_left or call in self.answered:
            return False
        self.answered.add(call)
        return True

    def _neutral(self, block: Any, entry: Entry) -> Any:
        if isinstance(block, dict) and block.get("type") == "tool_result" and is_interrupted(block, entry):
            return {**block, "content": self._policy.interrupt_text}
        return block

    def _neutral_mark(self, entry: Entry) -> Entry:
        text = self._policy.interrupt_text
        message = entry["message"]
        content = text if isinstance(message["content"], str) else [words(text)]
        return {**entry, "message": {**message, "content": content}}

    def _message_lost_a_call(self, entry: Entry) -> bool:
        return any(
            call["id"] in self.calls_gone
            for each in self._entries
            if message_of(each) == message_of(entry)
            for call in calls_in(each)
        )

    def _repeated_marks(self) -> set[str]:
        repeated, told = set(), set()
        for entry in self._entries:
            lane = lane_of(entry)
            if is_by_the_model(entry):
                told.discard(lane)
            elif entry.get("type") != "user" or is_set_apart(entry):
                continue
            elif is_interrupt_mark(entry):
                uuid = entry.get("uuid")
                if lane in told and uuid and uuid not in self._fixed:
                    repeated.add(uuid)
                told.add(lane)
            elif any(is_interrupted(result, entry) for result in results_in(entry)):
                told.add(lane)
        return repeated

    def _ends_of_thinking(self, linked: list[Entry]) -> set[str]:
        parts: dict[str | None, list[Entry]] = {}
        for entry in linked:
            if entry.get("type") == "assistant":
                parts.setdefault(message_of(entry), []).append(entry)
        above = {entry.get("uuid"): entry.get("parentUuid") for entry in relink(self._entries, ())}
        ends = set()
        for message in parts.values():
            last: set[str] = set()
            while message and content_of(message[-1]) and all(map(is_thinking, content_of(message[-1]))):
                if message[-1]["uuid"] in self._fixed:
                    break
                last.add(message.pop()["uuid"])
            for part in message:
                uuid = above[part["uuid"]]
                while uuid in last:  # it led to this part, wherever it stands
                    last.discard(uuid)
                    uuid = above[uuid]
            ends |= last
        return ends


def bare(entry: Entry) -> Entry:
    """The entry without its links, and without the CLI's account of a result that others may have gone from."""
    links = ("parentUuid", "leafUuid", "toolUseResult", "toolDenialKind")
    return {name: value for name, value in entry.items() if name not in links}


def without_second_ones(entries: list[Entry]) -> list[Entry]:
    seen: set[str] = set()
    kept = []
    for entry in entries:
        uuid = entry.get("uuid")
        if uuid not in seen:
            kept.append(entry)
        if uuid:
            seen.add(uuid)
    return kept
