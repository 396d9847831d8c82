"""Workers that get a working tree of their own, so that two of them can change the same files at once.

What the CLI makes of ``isolation="worktree"`` in an ``Agent`` call, measured: a git worktree of ``HEAD`` under
``.claude/worktrees/agent-<id>`` of the repository, on a branch ``worktree-agent-<id>``, as the worker's current
folder. What isn't committed isn't in it. The worker's Write and Edit are refused for files of the shared tree, its
commands are not. A tree without changes is removed with its branch when the worker ends; one with changes stays,
and merging it is up to whoever asked. That of a worker that was cut off stays as well, locked. Outside of a
repository, or before its first commit, the ``Agent`` call fails.
"""

import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from flower.core.guards.hook import Call, matcher
from flower.core.words import Words
from flower.core.workbench import Workbench

Agent = TypeVar("Agent")
OnInject = Callable[[str, str], None]

_MARK = "flower_isolated"
_GIT_SECONDS = 10.0  # it reads one reference; on a hanging network drive nothing else would work either


def isolated(agent: Agent, flag: bool = True) -> Agent:
    """Mark an agent (`AgentDefinition`) to work in a tree of its own, or take the mark away; returns the same one.

    Its copies, `dataclasses.replace` among them, are marked as it is.
    """
    if flag != wants_isolation(agent):
        # A field that is none of the dataclass would be lost by `replace`, which makes a new one of the same class.
        kind: Any = type(agent)
        agent.__class__ = _marked(kind) if flag else kind.__base__
    return agent


def wants_isolation(agent: Any) -> bool:
    """Whether `isolated` marked this agent, or the one it is a copy of; False for None."""
    return getattr(type(agent), _MARK, False)


def isolate_guard(agents: Mapping[str, Any], *, on_inject: OnInject | None = None) -> Any:
    """A matcher that gives each dispatch of a marked agent ``isolation="worktree"``.

    A call that names a ``cwd`` or an ``isolation`` of its own is left as it is. ``on_inject`` hears of each that
    was changed: the agent's name and the task's description.
    """

    async def guard(call: Call, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        asked = call["tool_input"]
        name = str(asked.get("subagent_type", ""))
        if asked.get("cwd") or asked.get("isolation") or not wants_isolation(agents.get(name)):
            return {}
        if on_inject is not None:
            on_inject(name, str(asked.get("description", "")))
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "allow",
                "updatedInput": {**asked, "isolation": "worktree"},
            }
        }

    return matcher("Agent", guard)


def isolation_obstacle(workbench: Workbench) -> Words | None:
    """Why workers can't have trees of their own with this workbench, for the person; None if they can.

    Runs git and waits for it, so keep it off an event loop's thread.
    """
    if not workbench.external:
        return Words(
            f"隔离干活要求工作台在 {workbench.workspace} 之外:隔离的人写不了共享目录里的文件。",
            f"isolated work needs a workbench outside {workbench.workspace}: "
            "an isolated worker can't write files of the shared folder.",
        )
    if not _has_commit(workbench):
        return Words(
            f"隔离干活要求 {workbench.workspace} 在一个 git 仓库里,并且至少有一次提交。",
            f"isolated work needs {workbench.workspace} to be in a git repository with at least one commit.",
        )
    return None


@cache
def _marked(kind: Any) -> type[Any]:
    return type(kind.__name__, (kind,), {_MARK: True, "__module__": kind.__module__})


def _has_commit(workbench: Workbench) -> bool:
    command = ["git", "-C", str(workbench.workspace), "rev-parse", "--verify", "--quiet", "HEAD^{commit}"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_GIT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
