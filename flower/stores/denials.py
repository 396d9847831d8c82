"""Refused calls: the old ones go, for they teach the model to try nothing; the latest stay, or it tries again.

A call goes together with its result; what else the model said or called in the same message stays. A message
that has thinking is signed: of such a one whole entries may go, but none is changed, and no thinking is left that
leads to nothing.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from .entries import (
    Entry,
    calls_in,
    content_of,
    has_thinking,
    is_set_apart,
    is_thinking,
    message_of,
    parent_of,
    results_in,
    uuid_of,
    with_content,
)
from .residue import denied_in


@dataclass(frozen=True)
class Removal:
    """What `remove_denials` did."""

    entries: list[Entry]  # still all of them; those that lost a block are copies
    calls: frozenset[str] = frozenset()  # the ids of the calls that are gone
    dropped: frozenset[str] = frozenset()  # the uuids of the entries of which nothing is left
    stand_ins: dict[str, str] = field(default_factory=dict)  # where the children of some of them belong


def remove_denials(entries: list[Entry], keep: int, fixed: Collection[str] = ()) -> Removal:
    """Take out all refused calls but the last `keep`. The entries with the uuids in `fixed` stay as they are."""
    old = _old_denials(entries, keep, fixed)
    if not old:
        return Removal(entries)
    messages = _messages_with(entries, old)
    plans = [_removable(parts, old) for parts in messages.values() if _uuids(parts).isdisjoint(fixed)]
    calls = frozenset[str]().union(*(calls for calls, _ in plans))
    emptied = {uuid for entry in entries if (uuid := uuid_of(entry)) and _holds_only_results_of(entry, calls)}
    dropped = frozenset(emptied.union(*(uuids for _, uuids in plans)))
    changed = [_without_calls(entry, calls) for entry in entries]
    return Removal(changed, calls, dropped, _stand_ins(entries, messages, dropped))


def _old_denials(entries: list[Entry], keep: int, fixed: Collection[str]) -> set[str]:
    denied: dict[str, None] = {}
    for entry in entries:
        uuid = uuid_of(entry)
        # An entry without a uuid is no part of the chain; there is nothing to attach its children to.
        if uuid is not None and uuid not in fixed and not is_set_apart(entry):
            denied.update(dict.fromkeys(denied_in(entry)))
    return set(list(denied)[: max(0, len(denied) - keep)])


def _messages_with(entries: list[Entry], calls: Collection[str]) -> dict[str, list[Entry]]:
    """The model's messages that hold one of the calls, each as the entries that it was written in."""
    assistants = [entry for entry in entries if entry.get("type") == "assistant" and uuid_of(entry)]
    wanted = {
        message_of(entry) for entry in assistants if any(call["id"] in calls for call in calls_in(entry))
    }
    messages: dict[str, list[Entry]] = {}
    for entry in assistants:
        message = message_of(entry)
        if message is not None and message in wanted:
            messages.setdefault(message, []).append(entry)
    return messages


def _removable(parts: list[Entry], old: Collection[str]) -> tuple[set[str], set[str]]:
    """Which calls of a message can go, and which of its entries (by uuid) go with them."""
    calls = {call["id"] for part in parts for call in calls_in(part) if call["id"] in old}
    if all(_holds_only(part, calls, thinking=True) for part in parts):
        return calls, _uuids(parts)
    left = [part for part in parts if not _holds_only(part, calls)]
    while _holds_only(
        left[-1], thinking=True
    ):  # it led to nothing but the call, and no message may end on it
        left.pop()
    touched = [part for part in left if any(call["id"] in calls for call in calls_in(part))]
    if any(has_thinking(part) or is_set_apart(part) for part in touched) or _ends_on_thinking(left[-1]):
        return set(), set()
    return calls, _uuids(parts) - _uuids(left)


def _holds_only(part: Entry, calls: Collection[str] = (), *, thinking: bool = False) -> bool:
    """Whether an entry holds nothing but these calls (and, if allowed, thinking)."""
    return all(
        isinstance(block, dict)
        and (block.get("id") in calls if block.get("type") == "tool_use" else thinking and is_thinking(block))
        for block in content_of(part)
    )


def _holds_only_results_of(entry: Entry, calls: Collection[str]) -> bool:
    content = content_of(entry)
    return (
        bool(content) and entry.get("type") == "user" and all(_belongs_to(block, calls) for block in content)
    )


def _ends_on_thinking(part: Entry) -> bool:
    content = content_of(part)
    return bool(content) and is_thinking(content[-1])


def _uuids(entries: list[Entry]) -> set[str]:
    return {uuid for entry in entries if (uuid := uuid_of(entry)) is not None}


def _without_calls(entry: Entry, calls: Collection[str]) -> Entry:
    """The entry without these calls, or without their results; unless nothing would be left of it."""
    content = content_of(entry)
    left = [block for block in content if not _belongs_to(block, calls)]
    if not left or len(left) == len(content):
        return entry
    changed = with_content(entry, left)
    # The CLI's account of the refusal; what is left was not refused.
    return {name: value for name, value in changed.items() if name not in ("toolUseResult", "toolDenialKind")}


def _belongs_to(block: Any, calls: Collection[str]) -> bool:
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    return (kind == "tool_use" and block.get("id") in calls) or (
        kind == "tool_result" and block.get("tool_use_id") in calls
    )


def _stand_ins(
    entries: list[Entry], messages: dict[str, list[Entry]], dropped: Collection[str]
) -> dict[str, str]:
    """For a result that goes, what of the same message comes before it and stays: a result, else the last call.

    Of calls made side by side only the last result is on the way up, and all else hangs beside it. If that last
    one was refused, the way must lead through what was not.
    """
    message_by_call = {
        call["id"]: name for name, parts in messages.items() for part in parts for call in calls_in(part)
    }
    parts_of = {name: _uuids(parts) for name, parts in messages.items()}
    last = {
        name: part["uuid"]
        for name, parts in messages.items()
        for part in parts
        if part["uuid"] not in dropped
    }
    stand_ins: dict[str, str] = {}
    for entry in entries:
        uuid = uuid_of(entry)
        names = {message_by_call.get(result["tool_use_id"]) for result in results_in(entry)}
        for name in names:
            # One that hangs on another result needs no help: its way up leads through that.
            if uuid is None or name is None or parent_of(entry) not in parts_of[name]:
                continue
            if uuid not in dropped:
                last[name] = uuid
            elif name in last:
                stand_ins[uuid] = last[name]
    return stand_ins
