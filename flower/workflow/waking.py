"""What lies in a folder that was used before: whether it can be continued, and how it is put away."""

import shutil
from pathlib import Path
from typing import TypedDict

from flower.core.documents import Brief, Goal
from flower.core.durable import stamped_folder
from flower.core.lineage import Lineage

BRIEF_NAME = "需求.md"
GOAL_NAME = "目标.md"
ARCHIVE = "archive"


class WakeState(TypedDict):
    """What `wake_state` found."""

    waking: bool
    brief: Path
    goal: Path
    checks: int
    woke: int
    steps: dict[str, str]


def wake_state(
    workspace: Path | str = ".",
    *,
    run_dir: Path | str = "runs",
    isolate: bool = False,
    brief_name: str = BRIEF_NAME,
    goal_name: str = GOAL_NAME,
) -> WakeState:
    """Whether this folder can be continued, and what there is to continue. Writes not one byte.

    ``waking``: the brief is there with all its four sections. ``checks``: how many checks the goal has.
    ``woke``: how many times it was woken. ``steps``: the session of each step. Never raises for what it finds.
    """
    notes = workbench_of(Path(workspace).resolve(), isolate=isolate) / "notes"
    brief, goal = notes / brief_name, notes / goal_name
    confirmed, aim = Brief.load(brief), Goal.load(goal)
    lineage = Lineage.open(run_dir, workspace)
    return {
        "waking": confirmed is not None and confirmed.complete(),
        "brief": brief,
        "goal": goal,
        "checks": len(aim.checks) if aim is not None else 0,
        "woke": lineage.woke,
        "steps": dict(lineage.steps),
    }


def workbench_of(workspace: Path, *, isolate: bool = False) -> Path:
    """Where a workspace's workbench is: inside it, or beside it when workers get worktrees of their own."""
    return workspace.parent / f".flower-{workspace.name}" if isolate else workspace / ".flower"


def archive(notes: Path, lineage: Lineage, faces: list[Path]) -> Path | None:
    """Move the faces of what was done here (lineage, brief, goal) together below ``notes``; None without any.

    Raises `OSError`.
    """
    if not lineage.path.exists() and not any(face.exists() for face in faces):
        return None
    return lineage.archive(notes / ARCHIVE, extra=faces)


def put_away(*pages: Path) -> Path | None:
    """Move those of the pages of one folder that are there into the archive beside them; None without any.

    Raises `OSError`.
    """
    there = [page for page in pages if page.exists()]
    if not there:
        return None
    folder = stamped_folder(there[0].parent / ARCHIVE)
    for page in there:
        shutil.move(page, folder / page.name)
    return folder
