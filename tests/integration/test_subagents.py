"""Work that a step gave to subagents belongs to the step: it ends when their reports have been answered."""

from pathlib import Path

from claude_agent_sdk import AgentDefinition

from flower import AgentSpec, Event, Runtime
from flower.rehearsal import Call, Rehearsal, Scene, Script, Turn
from tests.support.runs import bash, environment, rows, told

HELPER = AgentDefinition(description="Does a part.", prompt="Do your part.", tools=["Bash"])
SPEC = AgentSpec(
    "lead",
    "Give it away.",
    allowed_tools=["Agent", "Bash"],
    permission_mode="acceptEdits",
    agents={"helper": HELPER},
)


def sent(part: str) -> Call:
    task = {"subagent_type": "helper", "description": part, "prompt": f"Do the {part}."}
    return Call(tool="Agent", input=task)


def slowly(name: str, seconds: float) -> Turn:
    wait = f"python3 -c 'import time; time.sleep({seconds})'"
    return Turn(text=f"secret of {name}", calls=[bash(f"{wait}; echo {name} > {name}.txt")])


SCRIPT = Script(
    scenes=[
        Scene(
            name="lead",
            role="main",
            turns=[
                Turn(text="two of you", calls=[sent("long part"), sent("short part")]),
                Turn(text="one more", calls=[sent("last part")]),
                Turn(text="all of it is there", calls=[bash("ls *.txt")]),
                Turn(text="done"),
            ],
        ),
        *[
            Scene(
                name=name,
                role="worker",
                prompt=f"{name} part",
                turns=[slowly(name, seconds), Turn(text="did it")],
            )
            for name, seconds in (("long", 2.5), ("short", 0.2), ("last", 1.0))
        ],
    ]
)


async def test_a_step_ends_when_the_last_report_has_been_answered(tmp_path: Path) -> None:
    events: list[Event] = []
    with Rehearsal(SCRIPT) as model:
        runtime = Runtime(workspace=tmp_path / "w", run_dir=tmp_path / "r", environment=environment(model))
        result = await runtime.run(SPEC, "go", on_event=events.append)
        runtime.close()

        assert result.ok and result.text.endswith("all of it is there\ndone"), result
        assert sorted(file.name for file in (tmp_path / "w").glob("*.txt")) == [
            "last.txt",
            "long.txt",
            "short.txt",
        ]
        assert "last.txt" in told(model.requests[-1])
    assert [event.kind for event in events].count("result") > 1, "the CLI began turns of its own"
    assert rows(tmp_path / "r")[0]["attempts"] == 1
    said = [(event.text, event.payload["subagent"]) for event in events if event.kind == "text"]
    assert ("secret of long", True) in said and ("done", False) in said
    assert "secret" not in result.text and "did it" not in result.text, "the text is the main thread's alone"
    assert result.text.startswith("two of you")
