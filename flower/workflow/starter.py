"""The flow behind a bare ``flower``, and the look that tells whether a folder can be continued."""

from pathlib import Path
from typing import TypedDict

from flower.core.agent import AgentSpec
from flower.core.documents import Brief, Goal
from flower.core.lineage import Lineage
from flower.core.roles import coordinator, worker
from flower.core.words import Words, language_of
from flower.workflow.base import Ctx, Step, Workflow

WORK = "干活"

CODER_PROMPT = """\
你来动手。先看清现状再改;每改一处就验证一处,不要攒到最后一起试。
做完的标准是你亲眼看到它跑通,不是代码看起来对。"""

GO_ON = """\
接着上次的活继续 —— 不是重新开始。你的上下文里有需求、做到哪了、试过什么。
先看一眼现场(文件、git 状态)是不是和你记得的一样,再从断的地方接着做;已经做完的不要重做。
如果全做完了,就说清楚结果在哪、怎么用。"""


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
    brief_name: str = "需求.md",
    goal_name: str = "目标.md",
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


def starter_flow(
    ask: str | None,
    *,
    workspace: Path | str = ".",
    run_dir: Path | str = "runs",
    new: bool = False,
    language: str | None = None,
) -> Workflow:
    """The flow of a bare ``flower``: a coordinator that dispatches a worker, continued from wake to wake.

    ``ask`` is the request in a new folder, a remark in a used one, and None or blank to go on as it was.
    ``new`` archives what was here and starts over. Raises `ValueError` when there is neither a request nor
    anything to go on with.
    """
    folder = Path(workspace).resolve()
    words = (ask or "").strip()
    lineage = Lineage.open(run_dir, folder)
    if not words and (new or not lineage.steps):
        raise ValueError(
            Words(
                "要给一句诉求,例如 flower '帮我做一个 X'",
                "a request is needed, for example: flower 'make me an X'",
            ).spoken(language or language_of({}))
        )
    if new:
        archive(folder, lineage)
    return Workflow([_work_step(words)], name="starter")


def archive(workspace: Path, lineage: Lineage) -> Path | None:
    """Move the faces of what was done here (lineage, brief, goal) together into the archive; None if there are none.

    Raises `OSError`.
    """
    notes = workbench_of(workspace) / "notes"
    faces = [notes / "需求.md", notes / "目标.md"]
    if not lineage.path.exists() and not any(face.exists() for face in faces):
        return None
    return lineage.archive(notes / "archive", extra=faces)


def _work_step(words: str) -> Step:
    # The session has the whole story; sent again in full, the request would read as a changed one.
    def go_on(ctx: Ctx) -> str:
        return f"{words}\n\n{GO_ON}" if words else GO_ON

    return Step(WORK, _coordinator(), words or GO_ON, resume_prompt=go_on)


def _coordinator() -> AgentSpec:
    coder = worker("写代码、改代码、跑命令、做验证的人。一次派一件说得清的活。", CODER_PROMPT)
    return coordinator("协调者", "", {"coder": coder})
