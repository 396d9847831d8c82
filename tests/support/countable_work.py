"""Work that shows how often each part of it was begun and ended: a script of one's own, and what its model says."""

from flower.rehearsal import Call, Scene, Script, Turn
from tests.support.runs import bash

STEP = "干活"
LAST_WORDS = "all of it is done"

SCRIPT = """
import asyncio, sys, time
from pathlib import Path

from claude_agent_sdk import AgentDefinition

from flower import AgentSpec, Runtime, Step, Workflow

helper = AgentDefinition(description="Does a part.", prompt="Do your part.", tools=["Bash"])
tools = ["Bash", "Read", "Write", "Agent"]
spec = AgentSpec("handy", "Do it.", allowed_tools=tools, permission_mode="acceptEdits", agents={"helper": helper})

async def main():
    runtime = Runtime(workspace="work", run_dir="runs")
    try:
        ctx = await Workflow([Step("干活", spec, "do the work", resume_prompt="go on")]).run(runtime)
        return ctx.get("_failed_at") is None
    finally:
        runtime.close()

ended_well = asyncio.run(main())
Path("over.txt").write_text("well" if ended_well else "badly")
time.sleep(600 if "linger" in sys.argv else 0)
"""


def counted(name: str) -> Call:
    """A command that may be done again, and counts how often it was begun and how often it came to its end."""
    slow = "python3 -I -S -c 'import time; time.sleep(0.1)'"
    return bash(f"echo {name} >> begun; {slow}; echo {name} > {name}.txt; echo {name} >> ended")


def persistent(*calls: Call, text: str) -> list[Turn]:
    """Makes the calls; and again, as a model would, when it reads that a command was killed.

    A CLI that is told to end kills its commands first, and may still write down how they ended.
    """
    killed = r"Exit code 1(37|43)"
    return [Turn(text=text, calls=[*calls]), *[Turn(text="again", calls=[*calls], when=killed)] * 3]


_HELPER = {"subagent_type": "helper", "description": "a part", "prompt": "Do the part."}

WORK = Script(
    closing=LAST_WORDS,
    scenes=[
        Scene(
            name="main",
            role="main",
            turns=[
                *persistent(counted("a"), text="first"),
                Turn(
                    calls=[Call(tool="Write", input={"file_path": "{cwd}/note.txt", "content": "a note\n"})]
                ),
                *persistent(counted("b"), text="then"),
                Turn(text="somebody else does a part", calls=[Call(tool="Agent", input=_HELPER)]),
                *persistent(counted("c"), text="on with it"),
                *persistent(counted("d"), counted("e"), text="two at once"),
                *persistent(counted("f"), text="the last one"),
                Turn(text=LAST_WORDS),
            ],
        ),
        Scene(
            name="part",
            role="worker",
            turns=[Turn(calls=[counted("x")]), Turn(calls=[counted("y")]), Turn(text="the part is done")],
        ),
    ],
)
ALONE = "abcf"  # the calls of the main thread that are made one at a time
