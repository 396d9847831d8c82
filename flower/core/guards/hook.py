"""What all guards share: the shape of a hook, and whose call it looks at."""

from collections.abc import Mapping
from typing import Any

Call = Mapping[str, Any]  # what the CLI tells a hook of a tool call


def matcher(tools: str, guard: Any) -> Any:
    """A `HookMatcher` that has ``guard`` look at each call of ``tools``, which are names joined by ``|``."""
    from claude_agent_sdk import HookMatcher

    return HookMatcher(matcher=tools, hooks=[guard])


def of_worker(call: Call) -> bool:
    """Whether a subagent makes the call; the main thread's calls carry no ``agent_id``."""
    return bool(call.get("agent_id"))


def refusal(reason: str) -> dict[str, Any]:
    """The answer that keeps a call from being made; the model reads the reason."""
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }
