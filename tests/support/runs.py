"""Real runs for tests: a rehearsed model, the real CLI, and what both leave behind."""

import json
import os
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from flower.core.agent import AgentSpec
from flower.core.documents import Brief
from flower.rehearsal import Call, Rehearsal, Role, Scene, Script, Turn
from flower.workflow.waking import BRIEF_NAME, workbench_of


def bash(command: str) -> Call:
    return Call(tool="Bash", input={"command": command, "description": "a command"})


def slow_once(marker: str, seconds: float = 60) -> Call:
    """A command that says by a file that it runs, and takes its time; called again, it is quick."""
    slow = f'python3 -c "import time; time.sleep({seconds})"'
    return bash(f"if [ -e {marker} ]; then echo again; else echo started > {marker}; {slow}; fi")


def play(*turns: Turn, again: bool = False) -> Script:
    """A script of one scene for the main thread."""
    return Script(scenes=[Scene(name="only", role="main", turns=list(turns), again=again)])


BRIEF = "## 目标\nthe work\n## 验收标准\nit is done\n## 边界\nnothing else\n## 未知与假设\nnone"
GOAL = "# 目标\nthe work is done\n# 判定清单\n- look: it is done"
ACHIEVED = "# 结论\n达成\n# 理由\nseen\n# 未通过\n- 无"

ROLES = {
    "coordinator": Role(thread="main", tools=["Agent"]),
    "clarifier": Role(thread="main", without=["Agent"], system="未知与假设"),
    "setter": Role(thread="main", without=["Agent"], system="判定清单"),
    "judge": Role(thread="main", without=["Agent"], system="未通过"),
}


def agreeable() -> list[Scene]:
    """Those around the work in the starter's flow: nobody asks, and all is found well."""
    said = {"clarifier": BRIEF, "setter": GOAL, "judge": ACHIEVED}
    return [Scene(name=role, role=role, again=True, turns=[Turn(text=text)]) for role, text in said.items()]


def settle(workspace: Path) -> Path:
    """Freeze a brief in the workspace, and return it: with ``goal=False`` a run there is the work alone.

    For tests that are about something else than the flow: each of those around the work costs a CLI of its own.
    """
    Brief.parse(BRIEF).write(workbench_of(workspace) / "notes" / BRIEF_NAME)
    return workspace


def crew(*work: Turn) -> Script:
    """A script for the starter's flow: a coordinator that has the work done, then the rest of it, and concludes."""
    return Script(
        roles=ROLES,
        scenes=[
            Scene(
                name="lead",
                role="coordinator",
                again=True,
                turns=[
                    Turn(text="sending someone", calls=[_dispatch("the work")]),
                    Turn(text="sending someone again", calls=[_dispatch("the rest")]),
                    Turn(text="all of it is done"),
                ],
            ),
            Scene(name="work", role="worker", prompt="the work", turns=[*work, Turn(text="worked")]),
            Scene(
                name="rest",
                role="worker",
                prompt="the rest",
                turns=[Turn(text="finishing", calls=[bash("echo three > three.txt")]), Turn(text="finished")],
            ),
            *agreeable(),
        ],
    )


def _dispatch(task: str) -> Call:
    return Call(tool="Agent", input={"subagent_type": "coder", "description": task, "prompt": f"Do {task}."})


def handy(name: str = "handy") -> AgentSpec:
    """An agent with hands of its own."""
    tools = ["Bash", "Read", "Write"]
    return AgentSpec(name, "Do what you are told.", allowed_tools=tools, permission_mode="acceptEdits")


def environment(rehearsal: Rehearsal, **more: str) -> dict[str, str]:
    """A client's environment that leads to the rehearsed model."""
    return {**os.environ, **rehearsal.env(), **more}


def script_environment(rehearsal: Rehearsal) -> dict[str, str]:
    """The same for a Python script of its own that imports flower from this tree."""
    return environment(rehearsal, PYTHONPATH=os.pathsep.join(path for path in sys.path if path))


def told(request: Any) -> str:
    """Everything that the model was shown in a request, as one text."""
    return json.dumps(request.messages, ensure_ascii=False)


def rows(run_dir: Path) -> list[dict[str, Any]]:
    return json.loads((run_dir / "manifest.json").read_text())  # type: ignore[no-any-return]


def lineage(run_dir: Path) -> dict[str, Any]:
    return json.loads((run_dir / "lineage.json").read_text())  # type: ignore[no-any-return]


def stored(run_dir: Path, session_id: str) -> list[dict[str, Any]]:
    """The entries of a session's main transcript in ``sessions.db``, read without flower."""
    with sqlite3.connect(f"file:{run_dir / 'sessions.db'}?mode=ro", uri=True) as database:
        query = "SELECT payload FROM entries WHERE store_key LIKE ? ORDER BY seq"
        found = database.execute(query, (f"%/{session_id}",)).fetchall()
    database.close()
    return [json.loads(payload) for (payload,) in found]


def entries_of(transcript: str) -> list[dict[str, Any]]:
    """The whole lines of a CLI's own transcript."""
    found = []
    for line in transcript.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def assert_each_once(written: list[dict[str, Any]], kept: list[dict[str, Any]]) -> None:
    """Every entry that was written is kept; once, as far as its uuid tells it from others of the same content."""
    before, after = _count(written), _count(kept)
    lost = before - after
    assert not lost, f"not in the store: {list(lost)}"
    doubled = [key for key, times in after.items() if times > 1 and not key.startswith("{")]
    assert not doubled, f"more than once in the store: {doubled}"


def _count(entries: list[dict[str, Any]]) -> Counter[str]:
    return Counter(str(entry.get("uuid") or _content(entry)) for entry in entries)


def _content(entry: dict[str, Any]) -> str:
    # A resume moves the bookmark off what it leaves out.
    return json.dumps({name: value for name, value in entry.items() if name != "leafUuid"}, sort_keys=True)
