"""A role that delegates has no hands: its main thread at most looks."""

from typing import Any

from flower.core.guards.hook import Call, matcher, of_worker, refusal
from flower.core.guards.whitelist import HANDS_ON
from flower.stores.glance import is_ephemeral


def delegate_guard(*, tools: str = HANDS_ON, allow_glance: bool = False) -> Any:
    """A matcher that refuses ``tools`` to the main thread of a role that only delegates.

    ``allow_glance``: commands that only look (`flower.stores.glance.is_ephemeral`) may pass.
    """

    async def guard(call: Call, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        if of_worker(call) or (allow_glance and _only_looks(call)):
            return {}
        return refusal(
            f"协调者不直接使用 {call['tool_name']}。用 Agent 派一个人去做:说清目标和怎样算做完,"
            "长的输出让他写进 artifacts,只回路径和结论。"
        )

    return matcher(tools, guard)


def _only_looks(call: Call) -> bool:
    return call["tool_name"] == "Bash" and is_ephemeral(str(call["tool_input"].get("command", "")))
