"""A streamed message has the shape of the API's own, whatever stands in it."""

import json
from typing import Any

from flower.rehearsal.sse import stream

MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5-5",
    "content": [
        {"type": "thinking", "thinking": "想一想" * 20, "signature": "sig"},
        {"type": "text", "text": "说一句\n\n再说一句" * 10},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "echo '你好'"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 100, "output_tokens": 42},
}


def events(message: dict[str, Any]) -> list[dict[str, Any]]:
    parsed = []
    for event in stream(message):
        head, data, *rest = event.decode().split("\n")
        assert rest == ["", ""]
        decoded = json.loads(data.removeprefix("data: "))
        assert head == f"event: {decoded['type']}"
        parsed.append(decoded)
    return parsed


def deltas(parsed: list[dict[str, Any]], index: int) -> list[dict[str, Any]]:
    return [
        event["delta"]
        for event in parsed
        if event["type"] == "content_block_delta" and event["index"] == index
    ]


def test_it_opens_and_ends_as_a_message_does() -> None:
    parsed = events(MESSAGE)

    assert [event["type"] for event in parsed[:2]] == ["message_start", "ping"]
    assert parsed[0]["message"] == {
        **MESSAGE,
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 100, "output_tokens": 1},
    }
    assert parsed[-2] == {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": MESSAGE["usage"],
    }
    assert parsed[-1] == {"type": "message_stop"}


def test_each_block_starts_empty_and_stops_before_the_next_one() -> None:
    parsed = [event for event in events(MESSAGE) if event["type"].startswith("content_block_")]
    borders = [(event["type"], event["index"]) for event in parsed if not event["type"].endswith("delta")]

    assert borders == [(f"content_block_{what}", index) for index in range(3) for what in ("start", "stop")]
    assert [event["content_block"] for event in parsed if event["type"] == "content_block_start"] == [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}},
    ]


def test_the_pieces_make_up_the_whole() -> None:
    parsed = events(MESSAGE)
    thinking, text, call = (deltas(parsed, index) for index in range(3))

    assert "".join(delta.get("thinking", "") for delta in thinking) == "想一想" * 20
    assert thinking[-1] == {"type": "signature_delta", "signature": "sig"}
    assert "".join(delta["text"] for delta in text) == "说一句\n\n再说一句" * 10
    assert json.loads("".join(delta["partial_json"] for delta in call)) == {"command": "echo '你好'"}
    assert len(text) > 1


def test_much_text_comes_in_pieces_that_are_neither_many_nor_huge() -> None:
    text = "x" * 1_000_000
    pieces = deltas(events({**MESSAGE, "content": [{"type": "text", "text": text}]}), 0)

    assert "".join(piece["text"] for piece in pieces) == text
    assert len(pieces) < 300
