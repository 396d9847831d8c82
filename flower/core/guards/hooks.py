"""Guards put together: the hooks that a session with a workbench has, and hooks of several origins as one."""

from collections.abc import Mapping
from typing import Any

from flower.core.guards.delegate import delegate_guard
from flower.core.guards.index import index_guard
from flower.core.guards.isolate import isolate_guard, wants_isolation
from flower.core.guards.spill import spill_guard
from flower.core.workbench import Workbench


def workbench_hooks(
    workbench: Workbench,
    *,
    delegate_only: bool = True,
    spill_threshold: int | None = 4000,
    agents: Mapping[str, Any] | None = None,
    allow_glance: bool = False,
    language: str = "zh",
) -> dict[str, list[Any]]:
    """The hooks of a session that works with ``workbench``, as `AgentSpec.hooks` takes them.

    ``delegate_only`` and ``allow_glance`` as in `delegate_guard`. ``spill_threshold`` of None or 0: no result is
    moved to a file. ``agents``: those among them that are marked `isolated` get trees of their own. ``language`` (zh
    or en) is that of the words to the agent.
    """
    before = [delegate_guard(allow_glance=allow_glance, language=language)] if delegate_only else []
    if any(map(wants_isolation, (agents or {}).values())):
        before.append(isolate_guard(agents or {}))
    after = [index_guard(workbench)]
    if spill_threshold:
        after.append(spill_guard(workbench, threshold=spill_threshold, language=language))
    return {"PreToolUse": before, "PostToolUse": after} if before else {"PostToolUse": after}


def merge_hooks(*groups: Mapping[str, list[Any]] | None) -> dict[str, list[Any]]:
    """The hooks of all groups, event by event, in order; a group of None adds nothing.

    A guard that stands in two groups is asked twice.
    """
    merged: dict[str, list[Any]] = {}
    for group in groups:
        for event, matchers in (group or {}).items():
            merged.setdefault(event, []).extend(matchers)
    return merged
