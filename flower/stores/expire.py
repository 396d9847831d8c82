"""Results that were true when they were given: a look at a state that has moved on since.

A model that resumes takes an old ``git status`` for the present one. So of such results only the latest are fed
back; of the others only that they are stale.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from .entries import (
    Block,
    Entry,
    calls_in,
    content_of,
    is_set_apart,
    message_of,
    plain_text,
    results_in,
    with_content,
    with_text,
)
from .glance import is_ephemeral
from .residue import is_left_over

__all__ = ["EphemeralPolicy", "expire", "is_ephemeral"]

# A command may be a page long; to know it again a line is enough.
_SHOWN = 200


@dataclass(frozen=True)
class EphemeralPolicy:
    """Which results of commands that only look (see `is_ephemeral`) are declared stale.

    The last `keep_recent` stay. One of more than `max_chars` is left to trimming, which keeps it readable.
    `text` takes ``{cmd}``, the command in backticks, and ``{age}``, how many of the model's messages ago it was.
    """

    enabled: bool = True
    keep_recent: int = 6
    max_chars: int = 2000
    text: str = "[{cmd} 的结果已过期(第 {age} 轮前),当前状态可能已变。需要请重新执行]"


@dataclass(frozen=True)
class _Look:
    """A call that only looked."""

    command: str
    turn: int  # which of the model's messages it was in


def expire(entries: list[Entry], policy: EphemeralPolicy) -> tuple[list[Entry], int]:
    """The entries, changed ones as copies, and how many results expired. `policy.enabled` is the caller's."""
    looks, turns = _looks(entries)
    found = [(at, result) for at, result in _results(entries) if _may_expire(result, looks, policy)]
    stale = found[: max(0, len(found) - policy.keep_recent)]
    texts: dict[int, dict[str, str]] = {}
    for at, result in stale:
        look = looks[result["tool_use_id"]]
        text = policy.text.format(cmd=f"`{_shown(look.command)}`", age=max(1, turns - look.turn))
        texts.setdefault(at, {})[result["tool_use_id"]] = text
    return [_replaced(entry, texts[at]) if at in texts else entry for at, entry in enumerate(entries)], len(
        stale
    )


def _looks(entries: list[Entry]) -> tuple[dict[str, _Look], int]:
    """The calls that only looked, by id, and how many messages of the model there are."""
    looks: dict[str, _Look] = {}
    turns, message = 0, None
    for entry in entries:
        if entry.get("type") == "assistant" and message_of(entry) != message:
            turns, message = turns + 1, message_of(entry)
        for call in calls_in(entry):
            command = _command(call)
            if command is not None and is_ephemeral(command):
                looks[call["id"]] = _Look(command, turns)
    return looks, turns


def _command(call: Block) -> str | None:
    arguments = call.get("input")
    command = arguments.get("command") if call.get("name") == "Bash" and isinstance(arguments, dict) else None
    return command if isinstance(command, str) else None


def _results(entries: list[Entry]) -> Iterator[tuple[int, Block]]:
    for at, entry in enumerate(entries):
        results = results_in(entry)
        if results and not is_set_apart(entry) and not is_left_over(entry):
            yield from ((at, result) for result in results)


def _may_expire(result: Block, looks: dict[str, _Look], policy: EphemeralPolicy) -> bool:
    text = plain_text(result.get("content"))
    return result["tool_use_id"] in looks and text is not None and len(text) <= policy.max_chars


def _replaced(entry: Entry, texts: dict[str, str]) -> Entry:
    return with_content(entry, [_with_text(block, texts) for block in content_of(entry)])


def _with_text(block: Block, texts: dict[str, str]) -> Block:
    call = block.get("tool_use_id") if isinstance(block, dict) else None
    return with_text(block, texts[call]) if isinstance(call, str) and call in texts else block


def _shown(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
