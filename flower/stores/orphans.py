"""Calls without results and results without calls: the API refuses the whole history for either.

A call that was interrupted gets a result that says so, in an entry of its own: nothing that was said is taken
away. A result whose call is not there has nothing that it could be attached to, and goes.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from .entries import (
    HEALED,
    Entry,
    calls_in,
    content_of,
    is_set_apart,
    message_of,
    parent_of,
    results_in,
    uuid_of,
    with_content,
)

# What places an entry in a session; the other fields of a call's entry tell of the call.
_FRAME = (
    "isSidechain",
    "agentId",
    "userType",
    "entrypoint",
    "cwd",
    "sessionId",
    "version",
    "gitBranch",
    "timestamp",
)


@dataclass(frozen=True)
class Strays:
    """What `remove_strays` did."""

    entries: list[Entry]  # still all of them; those that lost a block are copies
    results: int  # how many are gone
    dropped: frozenset[str]  # the uuids of the entries of which nothing is left


def heal_orphans(entries: list[Entry], text: str) -> list[Entry]:
    """The entries, and behind each message that has calls without results an entry with `text` as theirs.

    It takes over the children of the entry that it follows. Nothing is taken away.
    """
    orphans = _orphans(entries)
    if not orphans:
        return entries
    # A result beside the way stays on its call, where the CLI looks for it: below a made-up entry it would not.
    last = next((uuid for entry in reversed(entries) if (uuid := uuid_of(entry))), None)
    on_the_way = {parent_of(entry) for entry in entries} | {last}
    healed = []
    for entry in entries:
        parent, uuid = parent_of(entry), uuid_of(entry)
        if parent in orphans and (uuid in on_the_way or not results_in(entry)):
            entry = {**entry, "parentUuid": f"{HEALED}{parent}"}
        healed.append(entry)
        if uuid in orphans:
            healed.append(_results_of(entry, orphans[uuid], text))
    return healed


def remove_strays(entries: list[Entry], gone: Collection[str] = ()) -> Strays:
    """Take out the results whose call is not there, and all but the first of those of one call.

    `gone` are the uuids of entries that don't count any more.
    """
    calls = {call["id"] for entry in entries if _counts(entry, gone) for call in calls_in(entry)}
    answered: set[str] = set()
    dropped: set[str] = set()
    kept, removed = [], 0
    for entry in entries:
        if results_in(entry) and _counts(entry, gone) and not is_set_apart(entry):
            content = content_of(entry)
            left = [block for block in content if not _is_stray(block, calls, answered)]
            if len(left) < len(content):
                removed += len(content) - len(left)
                if left:
                    entry = with_content(entry, left)
                else:
                    dropped.add(entry["uuid"])
        kept.append(entry)
    return Strays(kept, removed, frozenset(dropped))


def _counts(entry: Entry, gone: Collection[str]) -> bool:
    uuid = uuid_of(entry)
    return uuid is not None and uuid not in gone


def _is_stray(block: Any, calls: Collection[str], answered: set[str]) -> bool:
    if not isinstance(block, dict) or block.get("type") != "tool_result":
        return False
    call = block.get("tool_use_id")
    if not isinstance(call, str) or call not in calls or call in answered:
        return True
    answered.add(call)
    return False


def _orphans(entries: list[Entry]) -> dict[str, list[str]]:
    """The calls without results, by the uuid of the entry that their message ends with."""
    answered = {result["tool_use_id"] for entry in entries if uuid_of(entry) for result in results_in(entry)}
    following = _following_parts(entries)
    orphans: dict[str, list[str]] = {}
    for entry in entries:
        uuid = uuid_of(entry)
        missing = [call["id"] for call in calls_in(entry) if call["id"] not in answered]
        if uuid is not None and missing:
            orphans.setdefault(_last_part(uuid, following), []).extend(missing)
            answered.update(missing)
    return orphans


def _following_parts(entries: list[Entry]) -> dict[str, str]:
    """For an entry of a message the next one of the same message: a call may not be cut off from the rest."""
    message_by_uuid: dict[str, str | None] = {}
    following = {}
    for entry in entries:
        uuid, parent = uuid_of(entry), parent_of(entry)
        if entry.get("type") != "assistant" or uuid is None or uuid in message_by_uuid:
            continue
        message = message_of(entry)
        if parent is not None and message_by_uuid.get(parent) == message:
            following[parent] = uuid  # always from an earlier entry to a later one, so it can't go in circles
        message_by_uuid[uuid] = message
    return following


def _last_part(uuid: str, following: dict[str, str]) -> str:
    while uuid in following:
        uuid = following[uuid]
    return uuid


def _results_of(entry: Entry, calls: list[str], text: str) -> Entry:
    results = [
        {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": False} for call in calls
    ]
    return {
        **{name: entry[name] for name in _FRAME if name in entry},
        "parentUuid": entry["uuid"],
        "type": "user",
        "message": {"role": "user", "content": results},
        "uuid": f"{HEALED}{entry['uuid']}",
    }
