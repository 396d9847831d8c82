"""What happened in a workspace lately, as short lines, for somebody who comes fresh to it. Pure."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

EVENTS: Final = 60
CHARACTERS: Final = 200
LOOKED_AT: Final = 600  # thinking, prompts and the small change between the events that tell something

# What nobody outside should hear, and what tells nothing.
_LEFT_OUT: Final = frozenset({"thinking", "prompt", "system", "result", "unknown"})


class _Glance(msgspec.Struct):
    kind: str
    text: str = ""
    tool: str = ""
    payload: dict[str, Any] = {}


def scene_of(lines: Sequence[bytes]) -> str:
    """The last `EVENTS` of these encoded events, a line each, the oldest first."""
    decoder = msgspec.json.Decoder(_Glance)
    events = (decoder.decode(line) for line in lines)
    told = [_line(event) for event in events if event.kind not in _LEFT_OUT]
    return "\n".join(told[-EVENTS:])


def _line(event: _Glance) -> str:
    whose = "subagent " if event.payload.get("subagent") else ""
    words = " ".join(f"{event.tool} {event.text}".split())
    return f"- [{whose}{event.kind}] {words[:CHARACTERS]}"
