"""What a run tells the outside: one `Event` per thing that happened, made from the SDK's messages.

No SDK type crosses the library's outer wall: who shows or records a run sees events only. The kinds are
``text thinking prompt tool_call tool_result task system reset result error unknown`` (from messages), ``retry
interrupt handoff notice`` (from `Runtime`), ``step`` (from `Workflow`), ``ask`` (from `HumanChannel`), ``judge``
(from `with_goal`). A reader must have an else branch: kinds are added, never renamed.

`normalize` goes by the names of the SDK's message classes rather than by the classes, so that it needs no import
of the SDK and survives a message that this version doesn't know.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

SUMMARY_CHARS = 200
RESULT_CHARS = 500


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    ``text`` is for people, ``tool`` names the tool of a ``tool_call``, ``payload`` is JSON-safe. ``raw`` is the
    SDK message or object the event was made from, for a subscriber in the same process; it is never shown.
    """

    kind: str
    text: str = ""
    tool: str = ""
    payload: dict[str, Any] = field(default_factory=dict)
    raw: Any = None

    def __str__(self) -> str:
        if self.kind == "tool_call":
            return f"[{self.tool}] {self.text}"
        return self.text or f"<{self.kind}>"


def normalize(message: Any) -> list[Event]:
    """The events that one SDK message stands for, in its order; ``[]`` for messages that say nothing."""
    match type(message).__name__:
        case "AssistantMessage":
            return _assistant(message)
        case "UserMessage":
            return _user(message)
        case "ResultMessage":
            return [_result(message)]
        case "TaskStartedMessage" | "TaskProgressMessage" | "TaskNotificationMessage" as kind:
            return [_task(message, kind)]
        case "SystemMessage":
            return _system(message)
        case "ConversationResetMessage":
            return [
                Event("reset", "conversation reset", payload={"subtype": "conversation_reset"}, raw=message)
            ]
        case "RateLimitEvent":
            info = message.rate_limit_info
            about = {"subtype": "rate_limit", "status": info.status, "resets_at": info.resets_at}
            return [Event("system", "rate_limit", payload=about, raw=message)]
        case "StreamEvent" | "HookEventMessage" | "TaskUpdatedMessage":
            return []
        case name:
            return [Event("unknown", name, raw=message)]


def context_of(usage: dict[str, Any] | None) -> int:
    """The context that a turn really saw, in tokens: fresh, read from the cache and written to it."""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return sum(int((usage or {}).get(name) or 0) for name in names)


def is_synthetic(message: Any) -> bool:
    """Whether the CLI made this assistant message up to report an API error."""
    return bool(getattr(message, "error", None)) or getattr(message, "model", "") == "<synthetic>"


def _assistant(message: Any) -> list[Event]:
    if is_synthetic(message):
        said = _prose(message.content)
        # "No response requested." stands between an interrupted turn and the next prompt; it is no error.
        return [Event("error", said, payload={"synthetic": True}, raw=message)] if message.error else []
    payload = _origin(message)
    context = context_of(message.usage)
    if context and not payload["subagent"]:
        payload["context"] = context
    return list(_blocks(message.content, "text", payload, message))


def _user(message: Any) -> list[Event]:
    payload = _origin(message)
    if isinstance(message.content, str):
        return [Event("prompt", message.content, payload=payload, raw=message)]
    return list(_blocks(message.content, "prompt", payload, message))


def _blocks(content: Iterable[Any], prose: str, payload: dict[str, Any], message: Any) -> Iterable[Event]:
    for block in content:
        match type(block).__name__:
            case "TextBlock":
                yield Event(prose, block.text, payload=payload, raw=message)
            case "ThinkingBlock":
                yield Event("thinking", block.thinking, payload=payload, raw=message)
            case "ToolUseBlock" | "ServerToolUseBlock":
                call = {**payload, "id": block.id, "input": block.input}
                yield Event("tool_call", _summary(block.input), block.name, call, message)
            case "ToolResultBlock":
                result = {**payload, "tool_use_id": block.tool_use_id, "is_error": bool(block.is_error)}
                yield Event("tool_result", _plain(block.content)[:RESULT_CHARS], "", result, message)


def _result(message: Any) -> Event:
    payload = {
        "session_id": message.session_id,
        "cost_usd": message.total_cost_usd or 0.0,
        "num_turns": message.num_turns,
        "is_error": message.is_error,
        "window": window_of(message.model_usage),
    }
    return Event("result", message.subtype, payload=payload, raw=message)


def window_of(model_usage: dict[str, Any] | None) -> int:
    """The largest window that the CLI reports for a model it used, in tokens; 0 when it reports none."""
    return max((int(each.get("contextWindow") or 0) for each in (model_usage or {}).values()), default=0)


def _task(message: Any, kind: str) -> Event:
    payload = {"kind": kind, "id": message.task_id, "status": getattr(message, "status", None)}
    text = message.summary if kind == "TaskNotificationMessage" else message.description
    return Event("task", text or "", payload=payload, raw=message)


def _system(message: Any) -> list[Event]:
    data = message.data
    match message.subtype:
        case "compact_boundary" | "microcompact_boundary" as subtype:
            about = data.get("compact_metadata") or data.get("compactMetadata") or {}
            before, after = about.get("pre_tokens"), about.get("post_tokens")
            payload = {
                "trigger": about.get("trigger"),
                "pre_tokens": before,
                "post_tokens": after,
                "micro": subtype.startswith("micro"),
                "subtype": subtype,
            }
            text = f"压缩({about.get('trigger')}) {before} → {after} tokens"
            return [Event("reset", text, payload=payload, raw=message)]
        # The CLI's own new tries: what of them a person should know, `Runtime` tells as ``retry``.
        case "api_retry" | "session_state_changed" | "background_tasks_changed" | "thinking_tokens":
            return []
        case subtype:
            about = {"subtype": subtype, "session_id": data.get("session_id")}
            return [Event("system", subtype, payload=about, raw=message)]


def _origin(message: Any) -> dict[str, Any]:
    parent = message.parent_tool_use_id
    return {"subagent": True, "parent_tool_use_id": parent} if parent else {"subagent": False}


def _summary(arguments: dict[str, Any]) -> str:
    """What a call is about, in one line."""
    for name in (
        "file_path",
        "command",
        "pattern",
        "description",
        "path",
        "url",
        "query",
        "question",
        "prompt",
    ):
        value = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())[:SUMMARY_CHARS]
    todos = [each for each in arguments.get("todos") or () if isinstance(each, dict)]
    current = next(
        (each for each in todos if each.get("status") == "in_progress"), todos[-1] if todos else {}
    )
    return " ".join(str(current.get("content", "")).split())[:SUMMARY_CHARS]


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(
        block["text"]
        for block in content or ()
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    )


def _prose(content: Iterable[Any]) -> str:
    return "\n".join(block.text for block in content if type(block).__name__ == "TextBlock")
