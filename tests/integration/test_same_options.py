"""A session that goes on does so under the options it began with: in a retry, in the next process, after a kill."""

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from flower.core.tether import find_cli
from flower.rehearsal import Call, Fault, Rehearsal, Turn
from tests.support.processes import Spawned, alive, descendants, wait_until
from tests.support.runs import bash, lineage, play, rows, script_environment, stored, told

SCRIPT = """
import asyncio
from pathlib import Path

from claude_agent_sdk import AgentDefinition, HookMatcher, create_sdk_mcp_server, tool

from flower import AgentSpec, Resilience, Runtime, Step, Workflow

@tool("note", "Takes a note.", {"text": str})
async def note(arguments):
    with open("notes.txt", "a") as notes:
        notes.write(arguments["text"] + "\\n")
    return {"content": [{"type": "text", "text": "noted"}]}

async def refuse(call, tool_use_id, context):
    if "forbidden" not in str(call["tool_input"]):
        return {}
    answer = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not that"}
    return {"hookSpecificOutput": answer}

spec = AgentSpec(
    "handy",
    "Always whistle.",
    allowed_tools=["Bash", "Read", "Agent", "mcp__notes__note"],
    disallowed_tools=["WebFetch"],
    model="claude-sonnet-4-5",
    effort="high",
    max_turns=20,
    permission_mode="acceptEdits",
    agents={"helper": AgentDefinition(description="Helps on Tuesdays.", prompt="Help.", tools=["Read", "Glob"])},
    mcp_servers={"notes": create_sdk_mcp_server("notes", tools=[note])},
    hooks={"PreToolUse": [HookMatcher(matcher="Bash", hooks=[refuse])]},
    env={"OF_THE_ROLE": "yes"},
)

async def main():
    quick = Resilience(base_delay=0.1, max_delay=0.1)
    rt = Runtime(workspace="work", run_dir="runs", resilience=quick)
    await Workflow([Step("干活", spec, "do the work", resume_prompt="go on")]).run(rt)
    rt.close()

asyncio.run(main())
"""

# Of the user's and the project's settings, none of which may take part.
SETTINGS = '{"env": {"OF_A_SETTINGS_FILE": "yes"}, "model": "claude-haiku-4-5", "effortLevel": "low"}'

FORBIDDEN = bash("echo forbidden > forbidden.txt")
PLAY = play(
    Turn(calls=[FORBIDDEN]),
    Turn(calls=[Call(tool="mcp__notes__note", input={"text": "a note"})], faults=[Fault(status=500)]),
    Turn(
        calls=[
            bash(
                "env > environment; while [ -e ../slow ]; do python3 -c 'import time; time.sleep(0.1)'; done"
            )
        ]
    ),
    Turn(calls=[FORBIDDEN]),
    Turn(text="all done"),
    again=True,
)


class Child:
    """How one CLI was started: its arguments without those that name the session, its environment, its folder."""

    def __init__(self, file: Path) -> None:
        arguments = file.read_bytes().decode().split("\0")[:-1]
        self.session: tuple[str, ...] = ()
        self.arguments: list[str] = []
        while arguments:
            each = arguments.pop(0)
            if each in ("--session-id", "--resume"):
                self.session += (each, arguments.pop(0))
            elif each.startswith(("--session-id=", "--resume=")):
                self.session += tuple(each.split("=", 1))
            else:
                self.arguments.append(each)
        self.environment = dict(
            line.split("=", 1)
            for line in file.with_suffix(".env").read_bytes().decode().split("\0")
            if "=" in line
        )
        self.folder = file.with_suffix(".cwd").read_text().strip()


class House:
    """A folder with a script in it, and a CLI that notes how it was started before it is the real one."""

    def __init__(self, folder: Path, model: Rehearsal, spawned: Spawned) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.run_dir = folder / "runs"
        self.model = model
        self._spawned = spawned
        self._notes = folder / "notes"
        self._notes.mkdir()
        (folder / "script.py").write_text(SCRIPT)
        for place in (Path.home() / ".claude", self.work / ".claude"):
            place.mkdir(parents=True, exist_ok=True)
            (place / "settings.json").write_text(SETTINGS)
            (place / "CLAUDE.md").write_text("Never whistle.")
        (self.work / "CLAUDE.md").write_text("Never whistle.")
        recorder = folder / "cli"
        recorder.write_text(
            "#!/bin/sh\n"
            f'note="{self._notes}/$$"\n'
            'printf "%s\\0" "$@" > "$note.arguments"; env -0 > "$note.env"; pwd > "$note.cwd"\n'
            f'exec "{find_cli({})}" "$@"\n'
        )
        recorder.chmod(0o700)
        self._environment = {
            **script_environment(model),
            "FLOWER_CLI": str(recorder),
            "CLAUDE_CODE_MAX_RETRIES": "0",
        }

    def start(self) -> "subprocess.Popen[bytes]":
        return self._spawned.start([sys.executable, "script.py"], cwd=self.folder, env=self._environment)

    def run(self) -> None:
        assert self.start().wait(timeout=90) == 0

    def children(self) -> list[Child]:
        files = sorted(self._notes.glob("*.arguments"), key=lambda file: file.stat().st_mtime_ns)
        return [Child(file) for file in files]

    def killed_in(self, turn: int) -> None:
        """A process of its own, killed while the model's turn of that number is carried out."""
        asked = len(self.model.requests)
        process = self.start()
        wait_until(lambda: turn in [each.turn for each in self.model.requests[asked:]], timeout=60)
        wait_until((self.work / "environment").exists, what="the call to be made")
        below = descendants(process.pid)
        process.kill()
        wait_until(lambda: not any(alive(pid) for pid in below), timeout=10)


@pytest.fixture
def house(tmp_path: Path, spawned: Spawned) -> Iterator[House]:
    folder = tmp_path / "house"
    folder.mkdir()
    with Rehearsal(PLAY) as model:
        yield House(folder, model, spawned)


def test_options_are_the_same_in_a_retry_in_the_next_process_and_after_a_kill(house: House) -> None:
    house.run()  # its first child meets a failure, a second one goes on
    (house.work / "environment").unlink()
    (house.folder / "slow").touch()
    house.killed_in(turn=2)
    (house.folder / "slow").unlink()
    house.run()

    assert_started_alike(house)
    assert_shown_alike(house)
    assert_guarded(house)


def assert_started_alike(house: House) -> None:
    session = lineage(house.run_dir)["steps"]["干活"]
    assert [(row["session_id"], row["ok"]) for row in rows(house.run_dir)] == [(session, True)] * 2
    first, *others = house.children()
    assert first.session == ("--session-id", session)
    assert [child.session for child in others] == [("--resume", session)] * 3
    for child in others:
        assert child.arguments == first.arguments
        assert child.environment == first.environment
        assert child.folder == first.folder == str(house.work)
    assert first.environment["OF_THE_ROLE"] == "yes"
    assert {
        ("--model", "claude-sonnet-4-5"),
        ("--effort", "high"),
        ("--max-turns", "20"),
        ("--permission-mode", "acceptEdits"),
        ("--disallowedTools", "WebFetch"),
        ("--append-system-prompt", "Always whistle."),
    } <= set(pairwise(first.arguments))


def assert_shown_alike(house: House) -> None:
    requests = [request for request in house.model.requests if request.tools]
    assert {request.model for request in requests} == {"claude-sonnet-4-5"}
    assert {request.tools for request in requests} == {("Agent", "Bash", "Glob", "Read", "mcp__notes__note")}
    assert len({request.system for request in requests}) == 1 and "Always whistle." in requests[0].system
    assert all("Helps on Tuesdays." in told(request) for request in requests)
    assert not any("Never whistle." in told(request) + request.system for request in requests)


def assert_guarded(house: House) -> None:
    """The role's hook has refused a call in each child, and the role's own server has taken its notes."""
    assert not (house.work / "forbidden.txt").exists()
    session = lineage(house.run_dir)["steps"]["干活"]
    assert json.dumps(stored(house.run_dir, session)).count("PreToolUse:Bash hook error: not that") >= 4
    assert (house.folder / "notes.txt").read_text() == "a note\n" * 2
    assert "OF_A_SETTINGS_FILE" not in (house.work / "environment").read_text()
