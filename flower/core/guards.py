"""Who may lay hands on what: hooks that the CLI asks before each tool call.

A tool list approves, it doesn't refuse; only a hook (or the exclusive list of the session) keeps a tool away, and
only a hook can tell the main thread from its workers, whose calls carry an ``agent_id``.
"""

from collections.abc import Iterable, Mapping
from typing import Any

HANDS_ON = "Bash|Write|Edit|NotebookEdit"


def whitelist_guard(allowed: Iterable[str], *, role: str = "这个角色") -> Any | None:
    """A matcher that refuses the main thread each hands-on tool that is not in ``allowed``; None if all are."""
    held = set(allowed)
    refused = [tool for tool in HANDS_ON.split("|") if tool not in held]
    if not refused:
        return None

    async def guard(call: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        if _of_worker(call):
            return {}
        return _refusal(
            f"{role}不使用 {call['tool_name']},这是有意的,不是故障。把结论写进你的回答里,不要换个办法去做同一件事。"
        )

    return _matcher("|".join(refused), guard)


def delegate_guard(*, tools: str = HANDS_ON, allow_glance: bool = False) -> Any:
    """A matcher that refuses ``tools`` to the main thread of a role that only delegates.

    ``allow_glance``: commands that only look (`flower.stores.expire.is_ephemeral`) may pass.
    """

    async def guard(call: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        if _of_worker(call):
            return {}
        if allow_glance and call["tool_name"] == "Bash" and _only_looks(call["tool_input"]):
            return {}
        return _refusal(
            f"协调者不直接使用 {call['tool_name']}。用 Agent 派一个人去做:说清目标和怎样算做完,"
            "长的输出让他写进 artifacts,只回路径和结论。"
        )

    return _matcher(tools, guard)


def merge_hooks(*groups: Mapping[str, list[Any]] | None) -> dict[str, list[Any]]:
    """The hooks of all groups, event by event, in order; a group of None adds nothing."""
    merged: dict[str, list[Any]] = {}
    for group in groups:
        for event, matchers in (group or {}).items():
            merged.setdefault(event, []).extend(matchers)
    return merged


def _only_looks(arguments: Mapping[str, Any]) -> bool:
    from flower.stores.expire import is_ephemeral

    return is_ephemeral(str(arguments.get("command", "")))


def _of_worker(call: Mapping[str, Any]) -> bool:
    return bool(call.get("agent_id"))


def _matcher(tools: str, guard: Any) -> Any:
    from claude_agent_sdk import HookMatcher

    return HookMatcher(matcher=tools, hooks=[guard])


def _refusal(reason: str) -> dict[str, Any]:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }
