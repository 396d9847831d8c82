"""From an event to bytes and to frames: what goes in comes out, and nothing is too large."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from flower.core.events import Event
from flower_protocol.codec import MAX_FRAME, decode_from_daemon
from flower_protocol.control import Happened
from flower_protocol.events import EventRecord
from flower_protocol.handshake import Snapshot
from flowerd import wire
from flowerd.wire import CUT_NOTE, LONGEST_LINE, Draft


def _record(line: bytes) -> EventRecord:
    frame = decode_from_daemon(wire.happened([line]))
    assert isinstance(frame, Happened)
    return frame.events[0]


@given(
    some.text(), some.dictionaries(some.text(), some.none() | some.booleans() | some.integers() | some.text())
)
def test_any_text_and_payload_makes_one_line_of_json(text: str, payload: dict[str, Any]) -> None:
    line = wire.line(7, 1.5, Draft("text", text, "Bash", payload))

    assert line.count(b"\n") == 1 and line.endswith(b"\n") and b"\r" not in line
    assert json.loads(line)["text"] == text.encode("utf-8", "replace").decode()


def test_the_sdks_own_object_never_crosses() -> None:
    event = Event("text", "hi", "", {"a": 1}, raw=object())

    assert _record(wire.line(1, 2.0, wire.drafted(event))) == EventRecord(
        seq=1, at=2.0, kind="text", text="hi", payload={"a": 1}
    )


class _Loop(dict[str, Any]):
    def __init__(self) -> None:
        self["me"] = self


@pytest.mark.parametrize(
    "odd", [object(), {1, 2}, 2**100, b"\xff", _Loop(), float("nan"), "\ud800", {"\ud800": 1}]
)
def test_a_payload_that_is_no_json_does_not_lose_the_event(odd: object) -> None:
    record = _record(wire.line(1, 2.0, Draft("text", "hi", payload={"odd": odd})))

    assert (record.text, "odd" in record.payload) == ("hi", True)


@pytest.mark.parametrize("text", ["x" * 20_000_000, "\x01" * 3_000_000, "长" * 4_000_000])
def test_a_text_that_is_too_long_is_cut_with_a_note_and_fits(text: str) -> None:
    line = wire.line(1, 2.0, Draft("text", text, payload={"kept": True}))

    record = _record(line)
    assert len(wire.happened([line])) <= MAX_FRAME
    assert record.text.endswith(CUT_NOTE) and len(record.text) > 1_000_000
    assert record.payload == {"kept": True}


def test_a_payload_that_is_too_long_is_cut_before_the_text_is() -> None:
    call = Draft("tool_call", "out.txt", "Write", {"input": {"content": "x" * 9_000_000, "path": "out.txt"}})

    record = _record(wire.line(1, 2.0, call))

    assert record.text == "out.txt" and record.payload["input"]["path"] == "out.txt"
    assert record.payload["input"]["content"].endswith(CUT_NOTE)


def test_an_event_that_can_not_be_cut_to_fit_keeps_its_kind() -> None:
    many = Draft("tool_call", "t", "Write", {str(number): "x" * 50_000 for number in range(300)})

    line = wire.line(1, 2.0, many)

    assert len(line) <= LONGEST_LINE
    assert (_record(line).kind, _record(line).text) == ("tool_call", CUT_NOTE)


def test_a_snapshot_holds_encoded_events_under_other_numbers() -> None:
    line = wire.line(41, 2.0, Draft("text", 'seq":99'))

    snapshot = decode_from_daemon(wire.snapshot("g", 0, [wire.renumbered(line, -3)], omitted=5))

    event = EventRecord(seq=-3, at=2.0, kind="text", text='seq":99')
    assert snapshot == Snapshot(generation="g", last_seq=0, events=(event,), omitted=5)
