"""One line of a transcript: how it is read, changed by copy, and carried as JSON.

An entry is the CLI's own object, of which only the few fields named here mean anything to us; all others pass
through. Nothing here changes an entry in place, for a caller may hold the same object.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

Entry = dict[str, Any]
Block = dict[str, Any]

# The prefix of uuids that are made up on loading. Such entries are never stored: each load makes the same ones
# again, so that what the CLI has appended below one of them finds its parent.
HEALED = "heal-"

_THINKING = ("thinking", "redacted_thinking")


def encode(entry: Any) -> str:
    """The entry as one line of JSON. Raises `TypeError` or `ValueError` for what JSON can't say."""
    try:
        return msgspec.json.encode(entry).decode()
    except UnicodeEncodeError:
        # A string that was cut in the middle of a character; only an escape can carry the lone half.
        return json.dumps(entry, separators=(",", ":"))


def decode(payload: bytes) -> Entry | None:
    """The entry that `encode` wrote; None if it is none."""
    try:
        entry = msgspec.json.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        entry = _decode_slowly(payload)
    return entry if isinstance(entry, dict) else None


def uuid_of(entry: Entry) -> str | None:
    """What other entries know this one by; entries outside the chain (titles, modes, costs) have none."""
    uuid = entry.get("uuid")
    return uuid if isinstance(uuid, str) and uuid else None


def parent_of(entry: Entry) -> str | None:
    parent = entry.get("parentUuid")
    return parent if isinstance(parent, str) and parent else None


def lane_of(entry: Entry) -> tuple[bool, Any]:
    """Which of the threads of one file an entry belongs to: older CLIs kept subagents in the main file."""
    return entry.get("isSidechain") is True, entry.get("agentId")


def is_set_apart(entry: Entry) -> bool:
    """The CLI's own notes and summaries; no rule may touch them."""
    return entry.get("isMeta") is True or entry.get("isCompactSummary") is True


def named_by_summaries(entries: list[Entry]) -> set[str]:
    """The entries that the CLI carried over a summary: it names them, and looks for each of them."""
    named: set[str] = set()
    left = [entry["compactMetadata"] for entry in entries if "compactMetadata" in entry]
    while left:
        value = left.pop()
        if isinstance(value, str):
            named.add(value)
        elif isinstance(value, dict | list):
            left.extend(value.values() if isinstance(value, dict) else value)
    return named


def content_of(entry: Entry) -> list[Any]:
    """What the entry's message holds: its blocks, or its one string; empty if it has no message."""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        return content
    return [] if content is None else [content]


def blocks_of(entry: Entry) -> list[Block]:
    """The blocks of the entry's message."""
    return [block for block in content_of(entry) if isinstance(block, dict)]


def calls_in(entry: Entry) -> list[Block]:
    """The ``tool_use`` blocks of an assistant's entry, those without an id left out."""
    if entry.get("type") != "assistant":
        return []
    return [
        block for block in blocks_of(entry) if block.get("type") == "tool_use" and _is_id(block.get("id"))
    ]


def results_in(entry: Entry) -> list[Block]:
    """The ``tool_result`` blocks of a user's entry, those without an id left out."""
    if entry.get("type") != "user":
        return []
    blocks = blocks_of(entry)
    return [b for b in blocks if b.get("type") == "tool_result" and _is_id(b.get("tool_use_id"))]


def message_of(entry: Entry) -> str | None:
    """The id of the model's message that an assistant's entry is a part of: the CLI writes a block an entry."""
    message = entry.get("message")
    identity = message.get("id") if isinstance(message, dict) else None
    return identity if isinstance(identity, str) and identity else uuid_of(entry)


def is_thinking(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _THINKING


def has_thinking(entry: Entry) -> bool:
    return any(map(is_thinking, content_of(entry)))


def plain_text(content: Any) -> str | None:
    """The text of a result's content; None if it holds anything but text (an image, a document)."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        return None
    parts = list(_texts(content))
    return "".join(parts) if len(parts) == len(content) else None


def with_content(entry: Entry, content: Sequence[Any]) -> Entry:
    """A copy of the entry whose message holds these blocks instead."""
    return {**entry, "message": {**entry["message"], "content": list(content)}}


def with_text(block: Block, text: str) -> Block:
    """A copy of a ``tool_result`` that says this instead, in the shape that it had."""
    if isinstance(block.get("content"), list):
        return {**block, "content": [{"type": "text", "text": text}]}
    return {**block, "content": text}


def _texts(content: list[Any]) -> Iterator[str]:
    for part in content:
        if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
            yield part["text"]


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _decode_slowly(payload: bytes) -> Any:
    # The standard parser takes what the fast one refuses: lone surrogates.
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return None
