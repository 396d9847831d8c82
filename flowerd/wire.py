"""Translates what a run tells into what is said over the line: the one place that knows both.

An event is encoded once, when it gets its number; journal and frames then hold those bytes as they are. Text goes
through as it came, control characters included: whoever shows it cleans it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from flower.core.events import Event
from flower_protocol.codec import MAX_FRAME, encode
from flower_protocol.events import EventRecord

# Leaves room in a frame for what stands around a single event.
LONGEST_LINE: Final = MAX_FRAME - 64 * 1024
CUT_NOTE: Final = "\n…(太长,从这里截断;cut here, too long for one message)"
_LONG_VALUE: Final = 64 * 1024
_DEEPEST: Final = 20


@dataclass(frozen=True, slots=True)
class Draft:
    """An event that has no number yet."""

    kind: str
    text: str = ""
    tool: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)


def drafted(event: Event) -> Draft:
    """What of a library event crosses the line; the SDK's own object (``raw``) never does."""
    return Draft(event.kind, event.text, event.tool, event.payload)


def line(seq: int, at: float, draft: Draft) -> bytes:
    """The event's JSON with a newline, at most `LONGEST_LINE` bytes; what is too long is cut, with a note."""
    if len(draft.text) > LONGEST_LINE:
        draft = replace(draft, text=draft.text[:LONGEST_LINE] + CUT_NOTE)
    encoded = _encoded(seq, at, draft)
    if len(encoded) > LONGEST_LINE:
        draft = replace(draft, payload=_shortened(draft.payload))
        encoded = _encoded(seq, at, draft)
    kept = len(draft.text)
    while len(encoded) > LONGEST_LINE:
        if not kept:
            return _encoded(seq, at, Draft(draft.kind, CUT_NOTE, draft.tool[:_LONG_VALUE]))
        kept = min(kept - 1, kept * LONGEST_LINE // len(encoded))
        encoded = _encoded(seq, at, replace(draft, text=draft.text[:kept] + CUT_NOTE))
    return encoded


def renumbered(encoded: bytes, seq: int) -> bytes:
    """The same line under another number."""
    return b'{"seq":%d' % seq + encoded[encoded.index(b",") :]


def happened(lines: Sequence[bytes]) -> bytes:
    """A `Happened` of encoded events."""
    return _encoder.encode(_Happened(events=_raw(lines)))


def snapshot(generation: str, last_seq: int, lines: Sequence[bytes], omitted: int) -> bytes:
    """A `Snapshot` of encoded events."""
    return _encoder.encode(
        _Snapshot(generation=generation, last_seq=last_seq, events=_raw(lines), omitted=omitted)
    )


class _Happened(msgspec.Struct, tag="happened"):
    events: list[msgspec.Raw]


class _Snapshot(msgspec.Struct, tag="snapshot"):
    generation: str
    last_seq: int
    events: list[msgspec.Raw]
    omitted: int


_encoder = msgspec.json.Encoder()


def _raw(lines: Sequence[bytes]) -> list[msgspec.Raw]:
    return [msgspec.Raw(each) for each in lines]


def _encoded(seq: int, at: float, draft: Draft) -> bytes:
    def record(plain: Draft) -> bytes:
        return encode(
            EventRecord(
                seq=seq, at=at, kind=plain.kind, text=plain.text, tool=plain.tool, payload=dict(plain.payload)
            )
        )

    try:
        return record(draft) + b"\n"
    except (msgspec.EncodeError, TypeError, ValueError, OverflowError, RecursionError):
        # Lone surrogates (file names), objects of no JSON type, cycles: an event must not fail for its payload.
        payload = _plain(draft.payload, 0)
        return record(Draft(draft.kind, _sound(draft.text), _sound(draft.tool), payload)) + b"\n"


def _plain(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        return {_sound(str(name)): _plain(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each, depth + 1) for each in value]
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else str(value)
    return _sound(str(value))


def _sound(text: str) -> str:
    """``text`` with lone surrogates replaced: they have no UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _shortened(value: Any) -> Any:
    """``value`` with its long strings cut."""
    if isinstance(value, Mapping):
        return {name: _shortened(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(each) for each in value]
    if isinstance(value, str) and len(value) > _LONG_VALUE:
        return value[:_LONG_VALUE] + CUT_NOTE
    return value
