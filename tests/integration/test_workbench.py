"""The workbench and its guards on the real CLI: what the model sees of large results, and where workers work."""

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

from flower import AgentSpec, Runtime, StepResult, Workbench, coordinator, isolated, worker
from flower.rehearsal import Call, Rehearsal, Scene, Script, Turn
from tests.support.runs import bash, environment, handy, play

NUMBERS = "\n".join(map(str, range(1, 3001)))
# The CLI itself cuts a result of more than 30,000 characters, and then keeps its last line end.
MORE_NUMBERS = "".join(f"{number}\n" for number in range(1, 8001))
PAGE = "".join(f"line {number} of the page\n" for number in range(400))


async def run(spec: AgentSpec, rehearsal: Rehearsal, workbench: Workbench, run_dir: Path) -> StepResult:
    runtime = Runtime(
        workspace=workbench.workspace,
        run_dir=run_dir,
        workbench=workbench,
        environment=environment(rehearsal),
    )
    try:
        return await runtime.run(spec, "begin")
    finally:
        await runtime.aclose()


def seen(request: Any) -> list[str]:
    """The results of tool calls that the model was shown in a request."""
    return [
        text_of(block["content"])
        for message in request.messages
        if message["role"] == "user" and isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def kept(workbench: Workbench, text: str) -> Path:
    """Where a result with this text is to be found."""
    return workbench.root / "spill" / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.txt"


async def test_the_model_sees_a_pointer_for_a_large_result_and_the_whole_when_it_looks(
    tmp_path: Path,
) -> None:
    workbench = Workbench(tmp_path / "w").ensure()
    (workbench.workspace / "page.txt").write_text(PAGE)
    script = play(
        Turn(text="few", calls=[bash("echo few")]),
        Turn(text="many", calls=[bash("seq 1 3000")]),
        Turn(text="more", calls=[bash("seq 1 8000")]),
        Turn(text="page", calls=[read(workbench.workspace / "page.txt")]),
        Turn(text="look", calls=[read(kept(workbench, PAGE))]),
        Turn(text="done"),
    )

    with Rehearsal(script) as rehearsal:
        result = await run(handy(), rehearsal, workbench, tmp_path / "runs")

        assert result.ok, result.error
        few, many, more, page, look = seen(rehearsal.requests[-1])
    assert few == "few"
    for shown, whole in ((many, NUMBERS), (more, MORE_NUMBERS), (page, PAGE)):
        path = kept(workbench, whole)
        assert path.read_text() == whole
        assert f"{len(whole)} 字符" in shown and str(path) in shown
        assert len(shown) < 1_000
    assert many.endswith(NUMBERS[:400].rstrip())
    assert more.startswith("[")
    assert "line 399 of the page" in look


async def test_what_the_model_writes_to_the_workbench_is_in_the_index_before_the_step_ends(
    tmp_path: Path,
) -> None:
    workbench = Workbench(tmp_path / "w").ensure()
    (workbench.notes / "需求.md").write_text("# 需求确认书\n")
    index = workbench.index_path
    script = play(
        Turn(text="write", calls=[write(workbench.notes / "choice.md", "# We take the second one\n")]),
        Turn(text="look", calls=[read(index)]),
        Turn(text="done"),
    )

    with Rehearsal(script) as rehearsal:
        result = await run(handy(), rehearsal, workbench, tmp_path / "runs")

        assert result.ok, result.error
        first = rehearsal.requests[0]
        assert "需求确认书" in first.prompt
        assert "需求确认书" not in first.system
        assert "`.flower/notes/choice.md` — We take the second one" in seen(rehearsal.requests[-1])[-1]


async def test_a_marked_worker_works_in_a_tree_of_its_own_and_reaches_the_workbench(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    workbench = Workbench(workspace, home=tmp_path / ".flower-w").ensure()
    make_repository(workspace)
    note = workbench.notes / "from-worker.md"
    crew = {"coder": isolated(worker("codes", "You code.", tools=["Bash", "Write"]))}
    script = Script(
        scenes=[
            Scene(name="lead", role="main", turns=[dispatch("clean"), dispatch("change"), Turn(text="done")]),
            Scene(
                name="clean",
                role="worker",
                prompt="clean",
                turns=[
                    Turn(text="where", calls=[bash("pwd")]),
                    Turn(text="count", calls=[bash("seq 1 3000")]),
                    Turn(text="note", calls=[write(note, "# Counted\n")]),
                    Turn(text="counted"),
                ],
            ),
            Scene(
                name="change",
                role="worker",
                prompt="change",
                turns=[
                    Turn(text="change", calls=[bash("pwd; echo new > made.txt")]),
                    Turn(text="there", calls=[write(workspace / "shared.txt", "not mine\n")]),
                    Turn(text="changed"),
                ],
            ),
        ]
    )

    with Rehearsal(script) as rehearsal:
        result = await run(coordinator("lead", "", crew), rehearsal, workbench, tmp_path / "runs")

        assert result.ok, result.error
        workers = {request.scene: request for request in rehearsal.requests if request.role == "worker"}
        assert set(workers) == {"clean", "change"}
        where, count, _ = seen(workers["clean"])
        changed, refused = seen(workers["change"])
    trees = workspace / ".claude" / "worktrees"
    assert Path(where).parent == trees
    assert str(kept(workbench, NUMBERS)) in count
    assert kept(workbench, NUMBERS).read_text() == NUMBERS
    assert f"`{note}` — Counted" in workbench.index_path.read_text(encoding="utf-8")
    assert "isolated" in refused and not (workspace / "shared.txt").exists()
    # The tree without changes is gone, the one with changes is left to whoever wants them.
    assert [tree / "made.txt" for tree in trees.iterdir()] == [Path(changed) / "made.txt"]
    assert (Path(changed) / "made.txt").read_text() == "new\n"


def read(path: Path) -> Call:
    return Call(tool="Read", input={"file_path": str(path)})


def write(path: Path, content: str) -> Call:
    return Call(tool="Write", input={"file_path": str(path), "content": content})


def dispatch(task: str) -> Turn:
    asked = {"subagent_type": "coder", "description": task, "prompt": f"Do {task}."}
    return Turn(text=task, calls=[Call(tool="Agent", input=asked)])


def make_repository(folder: Path) -> None:
    folder.mkdir()
    (folder / "README").write_text("a project\n")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *arguments], check=True)
