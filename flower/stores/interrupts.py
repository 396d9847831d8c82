"""What an interrupt leaves is made neutral: a model that reads it looks for a fault, or believes that it was refused.

An interrupt leaves two things: the result of the call that was running, and a line in the person's name. One note a
time is enough: the line goes where the model was told already, and has said nothing since.

A CLI that is ended kills its commands first, and may still write down how they ended. The last result before the end
that says so is none of the command's own.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from .entries import (
    Block,
    Entry,
    content_of,
    is_set_apart,
    lane_of,
    results_in,
    uuid_of,
    with_content,
    with_text,
)
from .residue import is_by_the_model, is_interrupt_mark, is_interrupted, killed_with


@dataclass(frozen=True)
class Neutral:
    """What `neutralize` did."""

    entries: list[Entry]  # still all of them; those that were made neutral are copies
    bodies: int  # how many bodies that were
    dropped: frozenset[str]  # the uuids of the lines that say nothing new


def neutralize(entries: list[Entry], text: str, fixed: Collection[str] = ()) -> Neutral:
    """Put `text` where an interrupt left words of its own. The entries with the uuids in `fixed` don't go."""
    told: set[tuple[bool, Any]] = set()  # the lanes that have a note which the model has said nothing to
    dropped: set[str] = set()
    neutral, bodies = [], 0
    cut = _cut_with_the_cli(entries)
    for number, entry in enumerate(entries):
        kind = entry.get("type")
        if kind == "assistant" and told and is_by_the_model(entry):
            told.discard(lane_of(entry))
        elif kind == "user" and not is_set_apart(entry):
            if is_interrupt_mark(entry):
                uuid = uuid_of(entry)
                if uuid is not None and uuid not in fixed and lane_of(entry) in told:
                    dropped.add(uuid)
                    neutral.append(entry)
                    continue
                changed = _neutral_mark(entry, text)
            else:
                changed = _neutral_results(entry, text, number in cut)
            if changed is not entry:
                told.add(lane_of(entry))
                bodies += _changes(entry, changed)
                entry = changed
        neutral.append(entry)
    return Neutral(neutral, bodies, frozenset(dropped))


def _neutral_mark(entry: Entry, text: str) -> Entry:
    message = entry["message"]
    if isinstance(message["content"], str):
        return {**entry, "message": {**message, "content": text}}
    return with_content(entry, [{**block, "text": text} for block in message["content"]])


def _neutral_results(entry: Entry, text: str, cut: bool) -> Entry:
    interrupted = {
        id(result): text + (killed_with(result) or "" if cut else "")
        for result in results_in(entry)
        if is_interrupted(result, entry) or (cut and _is_killed(result))
    }
    if not interrupted:
        return entry
    blocks = content_of(entry)
    return with_content(
        entry,
        [with_text(block, interrupted[id(block)]) if id(block) in interrupted else block for block in blocks],
    )


def _cut_with_the_cli(entries: list[Entry]) -> set[int]:
    """The places of those results of killed commands that the model never answered: its CLI ended first."""
    cut: set[int] = set()
    answered: dict[tuple[bool, Any], bool] = {}  # of each lane, whether the model itself speaks next
    for number in range(len(entries) - 1, -1, -1):
        entry = entries[number]
        if entry.get("type") == "assistant":
            answered[lane_of(entry)] = is_by_the_model(entry)
        elif entry.get("type") != "user" or is_set_apart(entry):
            continue
        elif not results_in(entry):
            answered[lane_of(entry)] = False  # a new prompt: the turn before it has ended
        elif not answered.get(lane_of(entry), False) and any(map(_is_killed, results_in(entry))):
            cut.add(number)
    return cut


def _is_killed(result: Block) -> bool:
    return killed_with(result) is not None


def _changes(before: Entry, after: Entry) -> int:
    return sum(old is not new for old, new in zip(content_of(before), content_of(after), strict=True))
