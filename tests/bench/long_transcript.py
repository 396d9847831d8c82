"""A made-up transcript of a long run, of any length."""

import uuid
from collections.abc import Iterator
from typing import Any

Entry = dict[str, Any]

SESSION = "6d2f7448-081d-4be8-9530-1f141e448cb4"
KEY = {"project_key": "-home-u-project", "session_id": SESSION}
_FRAME = {
    "isSidechain": False,
    "userType": "external",
    "entrypoint": "sdk-py",
    "cwd": "/home/u/project",
    "sessionId": SESSION,
    "version": "2.1.332",
    "gitBranch": "main",
    "timestamp": "2026-11-30T20:47:26.384Z",
}
_USAGE = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 300,
    "cache_read_input_tokens": 80_000,
    "output_tokens": 120,
    "service_tier": "standard",
    "cache_creation": {"ephemeral_5m_input_tokens": 300, "ephemeral_1h_input_tokens": 0},
}
_COMMANDS = (
    "git status --short",
    "pytest -q tests/unit",
    "ls -la src | head -20",
    "make -j2",
    "cat src/main.c",
)


def transcript(size: int) -> Iterator[Entry]:
    """`size` entries like those of a long run: calls and results, refused and interrupted ones, errors of the API."""
    parent: str | None = None
    for number, (kind, fields) in zip(range(size), _told(), strict=False):
        identity = str(uuid.UUID(int=number + 1))
        yield {"parentUuid": parent, **_FRAME, "type": kind, "uuid": identity, **fields}
        parent = identity


def _told() -> Iterator[tuple[str, Entry]]:
    yield "user", {"promptSource": "sdk", "message": {"role": "user", "content": "Please do it."}}
    turn = 0
    while True:
        turn += 1
        yield from _turn(turn)
        if turn % 97 == 0:
            yield "system", {"subtype": "api_error", "level": "error", "error": {"message": "overloaded"}}
            yield (
                "assistant",
                {"isApiErrorMessage": True, **_said({"type": "text", "text": "API Error: 529"}, "error")},
            )
            yield "user", {"promptSource": "sdk", "message": {"role": "user", "content": "Go on."}}


def _turn(turn: int) -> Iterator[tuple[str, Entry]]:
    message, call = f"msg_{turn:012x}", f"toolu_{turn:020x}"
    thought = "The next file should tell how that is done. " * 8
    yield "assistant", _said({"type": "thinking", "thinking": thought, "signature": "c2ln" * 60}, message)
    yield (
        "assistant",
        _said({"type": "text", "text": "Looking at the next part, then at its tests. " * 4}, message),
    )
    command = {"command": _COMMANDS[turn % len(_COMMANDS)], "description": "Run it"}
    yield "assistant", _said({"type": "tool_use", "id": call, "name": "Bash", "input": command}, message)
    if turn % 101:  # the others were interrupted
        yield "user", _denied(call) if turn % 50 == 0 else _done(call, turn)
    reminder = "<total_tokens>900000 tokens left</total_tokens>"
    yield (
        "attachment",
        {"attachment": {"type": "total_tokens_reminder", "text": reminder}, "renderedRole": "system"},
    )


def _said(block: Entry, message: str) -> Entry:
    model = "claude-opus-5"
    return {
        "message": {"model": model, "id": message, "role": "assistant", "content": [block], "usage": _USAGE}
    }


def _done(call: str, turn: int) -> Entry:
    output = f"line {turn} of what the command had to say\n" * (70 if turn % 4 == 0 else 12)
    result = {"tool_use_id": call, "type": "tool_result", "content": output, "is_error": False}
    account = {"stdout": output, "stderr": "", "interrupted": False}
    return {"message": {"role": "user", "content": [result]}, "toolUseResult": account}


def _denied(call: str) -> Entry:
    reason = "PreToolUse:Bash hook error: dispatch it"
    result = {"tool_use_id": call, "type": "tool_result", "content": reason, "is_error": True}
    return {"message": {"role": "user", "content": [result]}, "toolDenialKind": "permission-rule"}
