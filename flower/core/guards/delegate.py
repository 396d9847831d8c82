"""A role that delegates has no hands: its main thread at most looks."""

from typing import Any

from flower.core.guards.hook import Call, matcher, of_worker, refusal
from flower.core.guards.whitelist import HANDS_ON
from flower.core.words import Words
from flower.stores.glance import is_ephemeral

_REFUSED = Words(
    "协调者不直接使用 {tool}。用 Agent 派一个人去做:说清目标和怎样算做完,长的输出让他写进 artifacts,只回路径和结论。",
    "The coordinator doesn't use {tool} itself. Send somebody by Agent: say the aim and when it counts as done; long"
    " output goes into artifacts, and the reply holds paths and conclusions only.",
)


def delegate_guard(*, tools: str = HANDS_ON, allow_glance: bool = False, language: str = "zh") -> Any:
    """A matcher that refuses ``tools`` to the main thread of a role that only delegates.

    ``allow_glance``: commands that only look (`flower.stores.glance.is_ephemeral`) may pass.
    """

    async def guard(call: Call, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        if of_worker(call) or (allow_glance and _only_looks(call)):
            return {}
        return refusal(_REFUSED.spoken(language).format(tool=call["tool_name"]))

    return matcher(tools, guard)


def _only_looks(call: Call) -> bool:
    return call["tool_name"] == "Bash" and is_ephemeral(str(call["tool_input"].get("command", "")))
