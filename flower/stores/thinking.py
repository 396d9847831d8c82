"""The model's thinking is signed: it is fed back as it was or not at all, and a message may not end on it.

Two things make it unusable. A child that was killed between the thinking and what it led to leaves a message that
ends on it. And another provider can't verify the signature: then all of it goes, for the rest can still be used.
"""

from collections.abc import Collection
from typing import Any

from .chain import relink, without_duplicates
from .entries import (
    Entry,
    content_of,
    is_set_apart,
    is_thinking,
    message_of,
    named_by_summaries,
    parent_of,
    uuid_of,
    with_content,
)

# For an entry that has nothing else, and has to stay; an empty message is refused.
_NOTHING_ELSE = {"type": "text", "text": "…"}


def without_thinking(entries: list[Entry]) -> list[Entry]:
    """The entries without any thinking, in one chain: for when the API refuses the thinking that it is shown.

    Entries of which nothing is left go; those that a summary names stay, with a placeholder. Changed ones are copies.
    """
    entries = without_duplicates(entries)
    fixed = named_by_summaries(entries)
    bare, dropped = [], set()
    for entry in entries:
        content, uuid = content_of(entry), uuid_of(entry)
        left = [block for block in content if not is_thinking(block)]
        if entry.get("type") == "assistant" and not is_set_apart(entry) and len(left) < len(content):
            if left or uuid is None or uuid in fixed:
                entry = with_content(entry, left or [_NOTHING_ELSE])
            else:
                dropped.add(uuid)
        bare.append(entry)
    return relink(bare, dropped)


def unfinished_thoughts(entries: list[Entry], fixed: Collection[str] = ()) -> set[str]:
    """The uuids of the entries of thinking alone that their message ends with; none of those in `fixed`."""
    parts = _parts_of_messages(entries)
    ends: dict[Any, dict[str, Entry]] = {}
    for part in parts:
        if part["uuid"] not in fixed and _is_thought(part):
            ends.setdefault(message_of(part), {})[part["uuid"]] = part
        else:
            ends.pop(message_of(part), None)
    if ends:
        # An entry that was taken in later stands behind what follows from it; then only the links tell.
        for part in _parts_of_messages(relink(entries, ())):
            if not _is_thought(part):
                _keep_what_led_to(part, ends.get(message_of(part), {}))
    return {uuid for thoughts in ends.values() for uuid in thoughts}


def _parts_of_messages(entries: list[Entry]) -> list[Entry]:
    return [
        entry
        for entry in entries
        if entry.get("type") == "assistant" and uuid_of(entry) is not None and not is_set_apart(entry)
    ]


def _is_thought(part: Entry) -> bool:
    content = content_of(part)
    return bool(content) and all(map(is_thinking, content))


def _keep_what_led_to(part: Entry, thoughts: dict[str, Entry]) -> None:
    above = parent_of(part)
    while above is not None and above in thoughts:
        above = parent_of(thoughts.pop(above))
