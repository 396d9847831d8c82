"""An assistant message as the Messages API streams it: server-sent events, in pieces."""

import json
from collections.abc import Iterator
from typing import Any

# Small answers come in a handful of pieces, so that a screen shows them grow; large ones in few large pieces.
_PIECES = 12
_SMALLEST, _LARGEST = 8, 4096


def stream(message: dict[str, Any]) -> Iterator[bytes]:
    """The events of `message`, each as the bytes of one event."""
    started = {**message["usage"], "output_tokens": 1}
    opening = {**message, "content": [], "stop_reason": None, "usage": started}
    yield event("message_start", message=opening)
    yield event("ping")
    for index, block in enumerate(message["content"]):
        yield event("content_block_start", index=index, content_block=_empty(block))
        for delta in _deltas(block):
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]}
    yield event("message_delta", delta=ending, usage=message["usage"])
    yield event("message_stop")


def event(name: str, **fields: Any) -> bytes:
    """One server-sent event; its name stands in its data too, as the API has it."""
    data = json.dumps({"type": name, **fields}, ensure_ascii=False)
    return f"event: {name}\ndata: {data}\n\n".encode()


def _empty(block: dict[str, Any]) -> dict[str, Any]:
    match block["type"]:
        case "text":
            return {"type": "text", "text": ""}
        case "thinking":
            return {"type": "thinking", "thinking": "", "signature": ""}
        case _:
            return {**block, "input": {}}


def _deltas(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    match block["type"]:
        case "text":
            for piece in _pieces(block["text"]):
                yield {"type": "text_delta", "text": piece}
        case "thinking":
            for piece in _pieces(block["thinking"]):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case _:
            for piece in _pieces(json.dumps(block["input"], ensure_ascii=False)):
                yield {"type": "input_json_delta", "partial_json": piece}


def _pieces(text: str) -> Iterator[str]:
    size = min(_LARGEST, max(_SMALLEST, len(text) // _PIECES))
    for start in range(0, len(text), size):
        yield text[start : start + size]
