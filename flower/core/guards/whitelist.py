"""Hands-on tools that a role doesn't have are kept from its main thread."""

from collections.abc import Iterable
from typing import Any

from flower.core.guards.hook import Call, matcher, of_worker, refusal
from flower.core.words import Words

HANDS_ON = "Bash|Write|Edit|NotebookEdit"


_REFUSED = Words(
    "{role}不使用 {tool},这是有意的,不是故障。把结论写进你的回答里,不要换个办法去做同一件事。",
    "{role} doesn't use {tool}: that is intended, not a fault. Put the conclusion into your reply, and don't look for"
    " another way to do the same.",
)


def whitelist_guard(allowed: Iterable[str], *, role: str = "这个角色", language: str = "zh") -> Any | None:
    """A matcher that refuses the main thread each hands-on tool that is not in ``allowed``; None if all are."""
    held = set(allowed)
    refused = [tool for tool in HANDS_ON.split("|") if tool not in held]
    if not refused:
        return None

    async def guard(call: Call, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        if of_worker(call):
            return {}
        return refusal(_REFUSED.spoken(language).format(role=role, tool=call["tool_name"]))

    return matcher("|".join(refused), guard)
