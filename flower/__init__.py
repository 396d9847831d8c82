"""flower: long jobs for coding agents that go on after a crash, a reboot or a dropped network.

What is public stands here. Names are loaded when they are first used, so that a program which only asks
`wake_state` doesn't pay for the rest. The type checker sees the imports, the program the table; a test compares
them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flower.core.agent import AgentSpec as AgentSpec
    from flower.core.agent import CompactPolicy as CompactPolicy
    from flower.core.agent import build_options as build_options
    from flower.core.documents import Brief as Brief
    from flower.core.documents import Goal as Goal
    from flower.core.documents import Handoff as Handoff
    from flower.core.documents import Verdict as Verdict
    from flower.core.events import Event as Event
    from flower.core.events import normalize as normalize
    from flower.core.guards import delegate_guard as delegate_guard
    from flower.core.guards import index_guard as index_guard
    from flower.core.guards import isolate_guard as isolate_guard
    from flower.core.guards import isolated as isolated
    from flower.core.guards import merge_hooks as merge_hooks
    from flower.core.guards import spill_guard as spill_guard
    from flower.core.guards import wants_isolation as wants_isolation
    from flower.core.guards import whitelist_guard as whitelist_guard
    from flower.core.guards import workbench_hooks as workbench_hooks
    from flower.core.handoff import HandoffPolicy as HandoffPolicy
    from flower.core.human import Ask as Ask
    from flower.core.human import HumanChannel as HumanChannel
    from flower.core.lineage import Lineage as Lineage
    from flower.core.resilience import Resilience as Resilience
    from flower.core.resilience import classify as classify
    from flower.core.resilience import endpoint as endpoint
    from flower.core.resilience import reachable as reachable
    from flower.core.result import StepResult as StepResult
    from flower.core.roles import CLARIFIER_RULES as CLARIFIER_RULES
    from flower.core.roles import COORDINATOR_RULES as COORDINATOR_RULES
    from flower.core.roles import JUDGE_RULES as JUDGE_RULES
    from flower.core.roles import ORACLE_RULES as ORACLE_RULES
    from flower.core.roles import WORKER_RULES as WORKER_RULES
    from flower.core.roles import clarify as clarify
    from flower.core.roles import coordinator as coordinator
    from flower.core.roles import judge as judge
    from flower.core.roles import oracle as oracle
    from flower.core.roles import worker as worker
    from flower.core.runtime import Runtime as Runtime
    from flower.core.windows import default_window as default_window
    from flower.core.workbench import Workbench as Workbench
    from flower.stores.expire import EphemeralPolicy as EphemeralPolicy
    from flower.stores.expire import is_ephemeral as is_ephemeral
    from flower.stores.prune import PrunePolicy as PrunePolicy
    from flower.stores.prune import PruningSessionStore as PruningSessionStore
    from flower.stores.sqlite import SqliteSessionStore as SqliteSessionStore
    from flower.stores.trim import TrimmingSessionStore as TrimmingSessionStore
    from flower.stores.trim import TrimPolicy as TrimPolicy
    from flower.stores.trim import trim_report as trim_report
    from flower.workflow.base import Step as Step
    from flower.workflow.base import StepAbort as StepAbort
    from flower.workflow.base import Workflow as Workflow
    from flower.workflow.clarify import BRIEF_KEY as BRIEF_KEY
    from flower.workflow.clarify import CLARIFY_RESUME as CLARIFY_RESUME
    from flower.workflow.clarify import MISSING_KEY as MISSING_KEY
    from flower.workflow.clarify import clarify_step as clarify_step
    from flower.workflow.goal import GOAL_KEY as GOAL_KEY
    from flower.workflow.goal import ROUND_KEY as ROUND_KEY
    from flower.workflow.goal import VERDICT_KEY as VERDICT_KEY
    from flower.workflow.goal import goal_step as goal_step
    from flower.workflow.goal import with_goal as with_goal
    from flower.workflow.starter import starter_flow as starter_flow
    from flower.workflow.starter import wake_state as wake_state

__version__ = "0.1.0"

_HOMES = {
    "flower.core.agent": ("AgentSpec", "CompactPolicy", "build_options"),
    "flower.core.documents": ("Brief", "Goal", "Handoff", "Verdict"),
    "flower.core.events": ("Event", "normalize"),
    "flower.core.guards": (
        "delegate_guard",
        "index_guard",
        "isolate_guard",
        "isolated",
        "merge_hooks",
        "spill_guard",
        "wants_isolation",
        "whitelist_guard",
        "workbench_hooks",
    ),
    "flower.core.human": ("Ask", "HumanChannel"),
    "flower.core.handoff": ("HandoffPolicy",),
    "flower.core.lineage": ("Lineage",),
    "flower.core.resilience": ("Resilience", "classify", "endpoint", "reachable"),
    "flower.core.result": ("StepResult",),
    "flower.core.roles": (
        "CLARIFIER_RULES",
        "COORDINATOR_RULES",
        "JUDGE_RULES",
        "ORACLE_RULES",
        "WORKER_RULES",
        "clarify",
        "coordinator",
        "judge",
        "oracle",
        "worker",
    ),
    "flower.core.runtime": ("Runtime",),
    "flower.core.workbench": ("Workbench",),
    "flower.stores.expire": ("EphemeralPolicy", "is_ephemeral"),
    "flower.stores.prune": ("PrunePolicy", "PruningSessionStore"),
    "flower.stores.sqlite": ("SqliteSessionStore",),
    "flower.stores.trim": ("TrimPolicy", "TrimmingSessionStore", "trim_report"),
    "flower.core.windows": ("default_window",),
    "flower.workflow.base": ("Step", "StepAbort", "Workflow"),
    "flower.workflow.clarify": ("BRIEF_KEY", "CLARIFY_RESUME", "MISSING_KEY", "clarify_step"),
    "flower.workflow.goal": ("GOAL_KEY", "ROUND_KEY", "VERDICT_KEY", "goal_step", "with_goal"),
    "flower.workflow.starter": ("starter_flow", "wake_state"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'flower' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
