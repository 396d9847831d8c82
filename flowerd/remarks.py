"""What a person said in a workspace, out of its journal: what counts already, and what reached nobody."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

_MODEL_SPEAKS: Final = frozenset({"text", "thinking", "tool_call"})


class _Glance(msgspec.Struct):
    """As much of an event as matters here."""

    kind: str
    text: str = ""
    payload: dict[str, Any] = {}


@dataclass(slots=True)
class _Remark:
    text: str
    at_boundary: bool = False  # a tool boundary has come since: the model's next words are an answer to it


@dataclass(frozen=True, slots=True)
class Said:
    """``ids`` are those of all remarks that are kept; ``unheard`` the words the last run did not get to hear."""

    ids: frozenset[str]
    unheard: tuple[str, ...]


def said(lines: Iterable[bytes]) -> Said:
    """Reads a journal's lines, oldest first.

    A run that ended in good order says itself what it left unheard. After one that was cut off, a remark counts
    as heard once the main thread has passed a tool boundary and spoken: better said twice than never.
    """
    decoder = msgspec.json.Decoder(_Glance)
    ids: set[str] = set()
    waiting: list[_Remark] = []
    for line in lines:
        if b'"kind":"remark"' in line or b'"kind":"run_' in line or waiting:
            try:
                event = decoder.decode(line)
            except msgspec.DecodeError:
                continue
            if event.kind == "remark":
                ids.add(str(event.payload.get("id", "")))
            waiting = _after(waiting, event)
    return Said(frozenset(ids), tuple(remark.text for remark in waiting))


def _after(waiting: list[_Remark], event: _Glance) -> list[_Remark]:
    match event.kind:
        case "remark":
            return [*waiting, _Remark(event.text)]
        case "run_started":
            # Its first prompt carries what was unheard before, and what the person asked for.
            words = [*(event.payload.get("unheard") or ()), event.payload.get("ask")]
            return [_Remark(str(text), at_boundary=True) for text in words if text]
        case "run_ended" if event.payload.get("outcome") != "interrupted":
            return [_Remark(str(text)) for text in event.payload.get("unheard") or ()]
        case "tool_result" | "result" if not event.payload.get("subagent"):
            for remark in waiting:
                remark.at_boundary = True
            return waiting
        case kind if kind in _MODEL_SPEAKS and not event.payload.get("subagent"):
            return [remark for remark in waiting if not remark.at_boundary]
        case _:
            return waiting
