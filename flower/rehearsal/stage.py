"""Decides what the scripted model answers: from a script and one request to a reply, and nothing else."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flower.core.words import Words
from flower.rehearsal.call_ids import CallId
from flower.rehearsal.conversation import Conversation, Said
from flower.rehearsal.programme import follow, on_stage
from flower.rehearsal.progress import Progress
from flower.rehearsal.script import Call, Fault, Role, Scene, Script, Usage
from flower.rehearsal.wording import fill, fill_all

SIDE = "side"
_SIDE_WORDS = Words("排练", "rehearsal")


@dataclass(frozen=True)
class Reply:
    """What is sent back, and how: `message` is an assistant message of the Messages API."""

    message: dict[str, Any]
    role: str
    scene: str = ""
    turn: int = -1
    takes: float = 0.0
    hold: str = ""
    faults: tuple[Fault, ...] = ()


def answer(script: Script, conversation: Conversation, token: Callable[[], str]) -> Reply:
    """The reply to a request. `token` gives new short strings of letters and digits, for ids."""
    conversation = replace(conversation, model=script.model or conversation.model)
    roles = [name for name, role in script.all_roles().items() if _is_role(role, conversation)]
    scenes = [scene for scene in script.scenes if not scene.role or scene.role in roles]
    all_progress = follow(scenes, conversation.happenings)
    if conversation.compaction:
        return _plain(conversation, _summary(all_progress, conversation, script.language), SIDE, token)
    if not conversation.tools and not roles:
        return _plain(conversation, _side_words(conversation, script.language), SIDE, token)
    progress = on_stage(all_progress, conversation.prompt)
    if progress is None:
        return _plain(conversation, script.closing, roles[0] if roles else "", token)
    role = progress.scene.role or (roles[0] if roles else "")
    turn = progress.next_turn
    if progress.waiting:
        words = turn.meanwhile or script.meanwhile
        reply = _plain(conversation, words, role, token, turn.meanwhile_tokens)
        return replace(reply, scene=progress.scene.name, turn=progress.turn)
    blocks = list(_blocks(progress, conversation, token))
    blocks += _handed_over(scenes, conversation, blocks, token)
    return Reply(
        message=_message(conversation, blocks, turn.tokens, token),
        role=role,
        scene=progress.scene.name,
        turn=progress.turn,
        takes=turn.takes,
        hold=turn.hold,
        faults=tuple(turn.faults),
    )


def _handed_over(
    scenes: Sequence[Scene],
    conversation: Conversation,
    blocks: Sequence[dict[str, Any]],
    token: Callable[[], str],
) -> list[dict[str, Any]]:
    """What follows in the same breath when a scene says its last words and a person asked for another one.

    Words alone end the model's turn in the CLI: what was asked for in the meantime would have to wait until
    somebody speaks again.
    """
    if any(block["type"] == "tool_use" for block in blocks):
        return []
    said = tuple(Said(block["text"]) for block in blocks if block["type"] == "text")
    after = replace(conversation, happenings=(*conversation.happenings, *said))
    all_progress = follow(scenes, after.happenings)
    following = on_stage(all_progress, after.prompt)
    if following is None or following.begun or not following.scene.prompt:
        return []
    blocks = list(_blocks(following, after, token))
    return blocks + _handed_over(scenes, after, blocks, token)


def _blocks(
    progress: Progress, conversation: Conversation, token: Callable[[], str]
) -> Iterator[dict[str, Any]]:
    turn = progress.next_turn
    values = {
        "cwd": conversation.cwd or ".",
        "prompt": conversation.prompt,
        "result": progress.result,
        "round": str(progress.round),
        **progress.found,
    }
    if turn.thinking:
        yield {"type": "thinking", "thinking": fill(turn.thinking, values), "signature": token()}
    if turn.text:
        # The API takes no empty text, and a placeholder may have nothing to stand for.
        yield _text(fill(turn.text, values) or "…")
    calls = [call for call in turn.calls if _is_made(call, conversation)]
    for number, call in enumerate(calls, start=1):
        call_id = CallId(progress.scene.name, progress.turn, progress.round, number, len(calls))
        yield {
            "type": "tool_use",
            "id": call_id.text(token()),
            "name": call.tool,
            "input": fill_all(call.input, values),
        }


def _is_made(call: Call, conversation: Conversation) -> bool:
    return not call.optional or call.tool in conversation.tools


def _is_role(role: Role, conversation: Conversation) -> bool:
    return (
        role.side is not bool(conversation.tools)
        and role.thread in ("", conversation.thread)
        and re.search(role.system, conversation.system) is not None
        and set(role.tools) <= set(conversation.tools)
        and not set(role.without) & set(conversation.tools)
    )


def _message(
    conversation: Conversation, blocks: list[dict[str, Any]], tokens: Usage, token: Callable[[], str]
) -> dict[str, Any]:
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {
        "id": f"msg_{token()}",
        "type": "message",
        "role": "assistant",
        "model": conversation.model,
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": _usage(conversation, blocks, tokens),
    }


def _usage(conversation: Conversation, blocks: list[dict[str, Any]], tokens: Usage) -> dict[str, int]:
    # Plausible and small: a conversation that grows slowly. A script that cares gives its own numbers.
    estimated_input = min(5000, 2000 + 60 * len(conversation.happenings))
    estimated_output = min(4000, 20 + sum(len(str(block)) for block in blocks) // 4)
    return {
        "input_tokens": estimated_input if tokens.input is None else tokens.input,
        "output_tokens": estimated_output if tokens.output is None else tokens.output,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation_input_tokens": tokens.cache_creation,
    }


def _plain(
    conversation: Conversation, words: str, role: str, token: Callable[[], str], tokens: Usage | None = None
) -> Reply:
    return Reply(_message(conversation, [_text(words)], tokens or Usage(), token), role)


def _side_words(conversation: Conversation, language: str) -> str:
    if conversation.schema is None:
        return _SIDE_WORDS.spoken(language)
    return json.dumps(_example_value(conversation.schema, _SIDE_WORDS.spoken(language)), ensure_ascii=False)


def _summary(all_progress: Sequence[Progress], conversation: Conversation, language: str) -> str:
    """A summary in the CLI's form; what the script must still know afterwards goes with it."""
    marks = [progress.mark.text() for progress in all_progress if progress.mark is not None]
    folder = f" - Primary working directory: {conversation.cwd}"
    side = _SIDE_WORDS.spoken(language)
    return "\n".join(["<analysis>", side, "</analysis>", "<summary>", *marks, folder, "</summary>"])


def _example_value(schema: Mapping[str, Any], words: str) -> Any:
    properties = schema.get("properties")
    values: dict[Any, Any] = {
        "object": {name: _example_value(inner, words) for name, inner in (properties or {}).items()},
        "array": [],
        "number": 0,
        "integer": 0,
        "boolean": False,
    }
    return values.get(schema.get("type"), words)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
