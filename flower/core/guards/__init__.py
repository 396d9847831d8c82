"""Who may lay hands on what, and what becomes of results: hooks that the CLI asks around each tool call.

A tool list approves, it doesn't refuse; only a hook (or the exclusive list of the session) keeps a tool away, and
only a hook can tell the main thread from its workers, whose calls carry an ``agent_id``. A hook that fails is a
hook without an opinion: the CLI goes on as if it weren't there.
"""

from flower.core.guards.delegate import delegate_guard
from flower.core.guards.hooks import merge_hooks, workbench_hooks
from flower.core.guards.index import index_guard
from flower.core.guards.isolate import isolate_guard, isolated, isolation_obstacle, wants_isolation
from flower.core.guards.spill import spill_guard
from flower.core.guards.whitelist import HANDS_ON, whitelist_guard

__all__ = [
    "HANDS_ON",
    "delegate_guard",
    "index_guard",
    "isolate_guard",
    "isolated",
    "isolation_obstacle",
    "merge_hooks",
    "spill_guard",
    "wants_isolation",
    "whitelist_guard",
    "workbench_hooks",
]
