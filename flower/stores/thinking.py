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
    ends: dict[Any, list[str]] = {}
    for entry in entries:
        uuid = uuid_of(entry)
        if entry.get("type") != "assistant" or uuid is None or is_set_apart(entry):
            continue
        content = content_of(entry)
        if content and all(map(is_thinking, content)) and uuid not in fixed:
            ends.setdefault(message_of(entry), []).append(uuid)
        else:
            ends.pop(message_of(entry), None)
    return {uuid for uuids in ends.values() for uuid in uuids}
