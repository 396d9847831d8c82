"""Each guard's opinion of a call, asked the way the CLI asks."""

import copy
import dataclasses
import subprocess
from pathlib import Path
from typing import Any

import pytest

from flower import (
    Workbench,
    delegate_guard,
    index_guard,
    isolate_guard,
    isolated,
    merge_hooks,
    wants_isolation,
    whitelist_guard,
    workbench_hooks,
    worker,
)
from flower.core.guards import isolation_obstacle


async def ask(matcher: Any, tool: str, agent_id: str = "", **tool_input: Any) -> dict[str, Any]:
    """What the guard of a matcher says to a call; ``{}`` is no opinion."""
    call = {"tool_name": tool, "tool_input": tool_input, "cwd": "/nowhere"}
    if agent_id:
        call["agent_id"] = agent_id
    [hook] = matcher.hooks
    return (await hook(call, "toolu_1", {"signal": None})).get("hookSpecificOutput", {})  # type: ignore[no-any-return]


@pytest.fixture
def workbench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path / "work").ensure()


# ---------------------------------------------------------------- walls


async def test_the_whitelist_refuses_the_main_thread_what_the_role_does_not_have() -> None:
    guard = whitelist_guard(["Read", "Bash"], role="判定者")

    assert guard is not None
    assert guard.matcher == "Write|Edit|NotebookEdit"
    answer = await ask(guard, "Write", file_path="x")
    assert answer["permissionDecision"] == "deny"
    assert "判定者" in answer["permissionDecisionReason"]
    assert "有意的" in answer["permissionDecisionReason"]
    assert await ask(guard, "Write", agent_id="a1", file_path="x") == {}


def test_a_role_with_all_hands_needs_no_whitelist() -> None:
    assert whitelist_guard(["Bash", "Write", "Edit", "NotebookEdit"]) is None


async def test_a_delegate_may_at_most_look() -> None:
    blind, looking = delegate_guard(), delegate_guard(allow_glance=True)

    assert (await ask(blind, "Bash", command="git status"))["permissionDecision"] == "deny"
    assert await ask(looking, "Bash", command="git status") == {}
    assert (await ask(looking, "Bash", command="git commit -m x"))["permissionDecision"] == "deny"
    refused = await ask(looking, "Write", file_path="x", content="y", command="ls")
    assert refused["permissionDecisionReason"].startswith("协调者不直接使用 Write")
    assert await ask(blind, "Bash", agent_id="a1", command="rm x") == {}


# ---------------------------------------------------------------- index


async def test_what_is_written_into_the_workbench_is_in_the_index_at_once(workbench: Workbench) -> None:
    guard = index_guard(workbench)
    note = workbench.notes / "decision.md"
    note.write_text("# decided")

    assert guard.matcher == "Write|Edit"
    assert await ask(guard, "Write", file_path=str(note), content="…") == {}

    assert "decided" in workbench.index_path.read_text(encoding="utf-8")


@pytest.mark.parametrize("file_path", ["/elsewhere/a.md", ".flower/notes/a.md", "a\0b", 7])
async def test_what_is_written_elsewhere_leaves_the_index_alone(
    workbench: Workbench, file_path: object
) -> None:
    # The relative one is relative to where the caller stands, which isn't the workspace.
    assert await ask(index_guard(workbench), "Write", file_path=file_path) == {}

    assert not workbench.index_path.exists()


# ---------------------------------------------------------------- isolation


def test_the_mark_is_put_on_the_agent_itself_and_taken_away_again() -> None:
    coder = worker("codes", "You code.")
    plain = worker("codes", "You code.")

    assert not wants_isolation(coder)
    assert isolated(coder) is coder
    assert isolated(coder) is coder
    assert wants_isolation(coder)
    assert isolated(coder, False) == plain
    assert not wants_isolation(coder)
    assert not wants_isolation(None)


def test_the_mark_survives_copies_and_is_not_shared() -> None:
    coder = isolated(worker("codes", "You code."))

    assert wants_isolation(dataclasses.replace(coder, model="sonnet"))
    assert wants_isolation(copy.copy(coder))
    assert wants_isolation(copy.deepcopy(coder))
    assert not wants_isolation(worker("codes", "You code."))
    assert dataclasses.asdict(coder) == dataclasses.asdict(worker("codes", "You code."))


async def test_the_dispatch_of_a_marked_agent_gets_a_tree_of_its_own() -> None:
    told: list[tuple[str, str]] = []
    agents = {"coder": isolated(worker("codes", "You code.")), "reader": worker("reads", "You read.")}
    guard = isolate_guard(agents, on_inject=lambda name, task: told.append((name, task)))
    asked = {"subagent_type": "coder", "description": "the work", "prompt": "Do it."}

    answer = await ask(guard, "Agent", **asked)

    assert guard.matcher == "Agent"
    assert answer["permissionDecision"] == "allow"
    assert answer["updatedInput"] == {**asked, "isolation": "worktree"}
    assert told == [("coder", "the work")]
    assert await ask(guard, "Agent", **asked, isolation="remote") == {}
    assert await ask(guard, "Agent", **asked, cwd="/somewhere") == {}
    assert await ask(guard, "Agent", subagent_type="reader", prompt="x") == {}
    assert await ask(guard, "Agent", prompt="x") == {}
    assert len(told) == 1


def test_what_stands_in_the_way_of_isolation_is_said_beforehand(tmp_path: Path) -> None:
    work = tmp_path / "work"
    outside = Workbench(work, home=tmp_path / ".flower-work")
    work.mkdir()
    git = ["git", "-C", str(work), "-c", "user.name=a", "-c", "user.email=a@example.org"]

    assert "git" in (isolation_obstacle(outside) or ("",))[0]
    subprocess.run([*git, "init", "-q"], check=True)
    assert "git" in (isolation_obstacle(outside) or ("",))[0]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    assert isolation_obstacle(outside) is None
    assert "工作台" in (isolation_obstacle(Workbench(work)) or ("",))[0]


# ---------------------------------------------------------------- together


def matchers(hooks: dict[str, list[Any]]) -> dict[str, list[str]]:
    return {event: [each.matcher for each in guards] for event, guards in hooks.items()}


def test_a_session_with_a_workbench_gets_what_its_role_needs(workbench: Workbench) -> None:
    hands, bulky = "Bash|Write|Edit|NotebookEdit", "Bash|Read|Grep|Glob|WebFetch|WebSearch"
    crew = {"coder": isolated(worker("codes", "You code.")), "reader": worker("reads", "You read.")}

    assert matchers(workbench_hooks(workbench)) == {
        "PreToolUse": [hands],
        "PostToolUse": ["Write|Edit", bulky],
    }
    assert matchers(workbench_hooks(workbench, agents=crew))["PreToolUse"] == [hands, "Agent"]
    assert matchers(workbench_hooks(workbench, agents={"reader": crew["reader"]}))["PreToolUse"] == [hands]
    for none in (0, None):
        assert matchers(workbench_hooks(workbench, delegate_only=False, spill_threshold=none)) == {
            "PostToolUse": ["Write|Edit"]
        }


async def test_a_session_with_a_workbench_may_look_if_its_role_may(workbench: Workbench) -> None:
    [guard] = workbench_hooks(workbench, allow_glance=True)["PreToolUse"]

    assert await ask(guard, "Bash", command="git status") == {}


def test_hooks_of_several_origins_are_put_in_a_row() -> None:
    assert merge_hooks({"a": [1], "b": [2]}, None, {"a": [1, 3]}) == {"a": [1, 1, 3], "b": [2]}
