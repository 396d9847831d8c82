"""A session that is nearly full hands over: when, what it leaves, who goes on, and what a kill in between leaves."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flower import AgentSpec, Event, Runtime, Step, StepResult, Workbench, Workflow
from flower.core.handoff import HandoffPolicy
from flower.rehearsal import Fault, Rehearsal, Scene, Script, Turn
from flower.rehearsal.script import Usage
from tests.support.runs import bash, environment, handy, lineage, rows, script_environment, told

POLICY = HandoffPolicy(window=200_000)
FULL, NEARLY_FULL = Usage(input=160_000), Usage(input=140_000)
DOCUMENT = """\
## 现在在做什么
making two files; one.txt is there
## 已经定下的
plain text, because a person reads it
## 走不通的路
touch is not allowed here
## 下一步
write two.txt
## 现场
one.txt"""


def scene(name: str, prompt: str, *turns: Turn) -> Scene:
    return Scene(name=name, role="main", prompt=prompt, cuts_in=True, turns=list(turns))


def relay(*writing: Turn, first: Turn | None = None) -> Script:
    """One session makes one.txt and is full, writes its document, and another makes two.txt."""
    full = first or Turn(text="making one", calls=[bash("echo one > one.txt")], tokens=FULL)
    more = Turn(text="some more", takes=5, calls=[bash("echo more > more.txt")], tokens=FULL)
    return Script(
        scenes=[
            scene("writer", "(?s)^停一下手里的活", *writing),
            scene(
                "successor",
                "你在接手一段",
                Turn(text="I take over", calls=[bash("echo two > two.txt")]),
                Turn(text="both are there"),
            ),
            scene("first", "(?s)^(?!.*你在接手).*do the work", full, more, Turn(text="never said", takes=5)),
        ]
    )


async def outcome(
    folder: Path, model: Rehearsal, policy: HandoffPolicy = POLICY, spec: AgentSpec | None = None
) -> tuple[StepResult, list[Event], dict[str, Any]]:
    events: list[Event] = []
    workspace = folder / "work"
    runtime = Runtime(
        workspace=workspace,
        run_dir=folder / "runs",
        environment=environment(model),
        handoff=policy,
        workbench=Workbench(workspace),
    )
    try:
        flow = Workflow([Step("干活", spec or handy(), "do the work", resume_prompt="go on")])
        ctx = await flow.run(runtime, on_event=events.append)
        return ctx["_results"]["干活"], events, ctx
    finally:
        runtime.close()


def phases(events: list[Event]) -> list[str]:
    return [event.payload["phase"] for event in events if event.kind == "handoff"]


def opening(model: Rehearsal, words: str) -> str:
    """What the session was told first in which ``words`` were said first."""
    firsts = [told(request) for request in model.requests if len(request.messages) <= 2]
    return next(text for text in firsts if words in text)


async def test_a_full_session_writes_a_document_and_a_fresh_one_goes_on_from_it(tmp_path: Path) -> None:
    with Rehearsal(relay(Turn(text=DOCUMENT))) as model:
        result, events, _ = await outcome(tmp_path, model)

        assert result.ok and result.attempts == 1, result
        assert result.text == "making one\nI take over\nboth are there", (
            "the document is no part of the step's text"
        )
        assert len(result.retired) == 1 and result.session_id not in result.retired
        assert lineage(tmp_path / "runs")["steps"] == {"干活": result.session_id}
        assert "handoffs" not in lineage(tmp_path / "runs")
        assert phases(events) == ["writing", "done"]
        levels = [event.payload["context"] for event in events if event.kind == "handoff"]
        assert levels[0] == levels[1] > 150_000, "what the writing took is no part of it"
        document = tmp_path / "work" / ".flower" / "notes" / "交接-干活.md"
        assert "touch is not allowed here" in document.read_text()
        successor = opening(model, "你在接手一段")
        assert "touch is not allowed here" in successor and "do the work" not in successor
        (row,) = rows(tmp_path / "runs")
        assert row["retired"] == result.retired and row["cost_usd"] > 0
        assert (tmp_path / "work" / "one.txt").exists() and (tmp_path / "work" / "two.txt").exists()


async def test_the_level_is_announced_once_before_it_is_reached(tmp_path: Path) -> None:
    near = Turn(text="making one", calls=[bash("echo one > one.txt")], tokens=NEARLY_FULL, times=3)
    script = Script(
        scenes=[scene("first", "do the work", near, Turn(text="done", tokens=NEARLY_FULL))],
    )
    with Rehearsal(script) as model:
        result, events, _ = await outcome(tmp_path, model)

    assert result.ok and not result.retired
    (event,) = [event for event in events if event.kind == "handoff"]
    assert event.payload | {"step": ""} == {
        "phase": "near",
        "step": "",
        "context": 140_000,
        "window": 200_000,
        "at": 150_000,
    }
    assert event.text == "上下文 140.0K/200K · 还有约 10K 到换代"


@pytest.mark.parametrize("said", ["", "300000"])
async def test_another_model_than_the_configured_one_is_told_once_unless_the_window_was_said(
    tmp_path: Path, said: str
) -> None:
    turns = [Turn(text="one", calls=[bash("echo one")]), Turn(text="two"), Turn(text="three")]
    script = Script(scenes=[Scene(name="only", role="main", turns=turns, again=True)], model="glm-4.6")
    events: list[Event] = []
    with Rehearsal(script) as model:
        more = {"ANTHROPIC_MODEL": "claude-opus-4-5", "FLOWER_WINDOW": said}
        runtime = Runtime(
            workspace=tmp_path / "work", run_dir=tmp_path / "runs", environment=environment(model, **more)
        )
        try:
            flow = Workflow([Step("one", handy(), "do it"), Step("two", handy(), "do it")])
            ctx = await flow.run(runtime, on_event=events.append)
        finally:
            runtime.close()

    assert ctx.get("_failed_at") is None
    told_of = [event for event in events if "model_mismatch" in event.payload]
    if said:
        assert told_of == []
    else:
        [event] = told_of
        assert event.payload["model_mismatch"] == {"answered": "glm-4.6", "configured": "claude-opus-4-5"}
        assert "claude-opus-4-5" in event.text and "FLOWER_WINDOW" in event.text


async def test_a_step_that_ends_over_the_line_ends(tmp_path: Path) -> None:
    script = Script(scenes=[scene("first", "do the work", Turn(text="all done", tokens=FULL))])
    with Rehearsal(script) as model:
        result, events, _ = await outcome(tmp_path, model)

    assert result.ok and not result.retired and not phases(events)


async def test_a_document_that_says_too_little_is_put_together_and_said_to_be(tmp_path: Path) -> None:
    with Rehearsal(relay(Turn(text="I would rather not."))) as model:
        result, events, _ = await outcome(tmp_path, model)

        assert result.ok and len(result.retired) == 1
        assert any(error.startswith("交接降级(") for error in result.errors)
        (done,) = [event for event in events if event.payload.get("phase") == "done"]
        assert done.payload["degraded"]
        successor = opening(model, "你在接手一段")
        assert "[降级:交接没写成]" in successor and "do the work" in successor


async def test_a_failure_in_the_middle_of_the_writing_is_waited_out(tmp_path: Path) -> None:
    writing = Turn(text=DOCUMENT, faults=[Fault(status=500, headers={"x-should-retry": "false"})])
    with Rehearsal(relay(writing)) as model:
        result, events, _ = await outcome(tmp_path, model)

    assert result.ok and len(result.retired) == 1 and result.attempts == 2
    assert phases(events) == ["writing", "done"]
    assert not any("降级" in error for error in result.errors)


async def test_an_overflow_hands_over_with_a_document_that_is_put_together(tmp_path: Path) -> None:
    overflow = Fault(status=400, message="prompt is too long: 214000 tokens > 200000 maximum", forever=True)
    first = Turn(text="never", faults=[overflow])
    with Rehearsal(relay(Turn(text=DOCUMENT), first=first)) as model:
        result, events, _ = await outcome(tmp_path, model)

        assert result.ok and len(result.retired) == 1, result
        assert phases(events) == ["writing", "done"]
        assert not any("停一下手里的活" in told(request) for request in model.requests), (
            "it could not be read"
        )


@pytest.mark.parametrize(
    "refused", [[], [Fault(status=400, message="not like this", forever=True)]], ids=["says no", "can't"]
)
async def test_a_successor_that_is_full_at_once_is_not_followed_for_ever(
    tmp_path: Path, refused: list[Fault]
) -> None:
    greedy = Turn(text="full at once", calls=[bash("echo again")], tokens=FULL)
    script = Script(
        scenes=[
            Scene(
                name="writer",
                role="main",
                prompt="^停一下",
                cuts_in=True,
                again=True,
                turns=[Turn(text="no", faults=refused)],
            ),
            Scene(name="greedy", role="main", again=True, turns=[greedy, Turn(text="never said", takes=5)]),
        ]
    )
    with Rehearsal(script) as model:
        result, _, _ = await outcome(tmp_path, model)

    assert not result.ok and len(result.retired) <= 3
    assert result.error is not None
    assert all(word in result.error for word in ("降级", "烧钱", "窗口", "余量"))


async def test_nothing_is_handed_over_when_it_is_turned_off(tmp_path: Path) -> None:
    work = Turn(text="making one", calls=[bash("echo one > one.txt")], tokens=FULL)
    script = Script(scenes=[scene("first", "do the work", work, Turn(text="done", tokens=FULL))])
    with Rehearsal(script) as model:
        result, events, _ = await outcome(tmp_path, model, HandoffPolicy(enabled=False, window=200_000))

    assert result.ok and not result.retired and not phases(events)


SCRIPT = """
import asyncio, os, signal, sys
from pathlib import Path
from flower import Runtime, Step, Workbench, Workflow
from flower.core.handoff import HandoffPolicy
from tests.support.runs import handy

async def main():
    work = Path("work").resolve()
    runtime = Runtime(workspace=work, run_dir="runs", handoff=HandoffPolicy(window=200_000), workbench=Workbench(work))

    def on_event(event):
        if event.kind == "handoff" and event.payload["phase"] == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGKILL)

    await Workflow([Step("干活", handy(), "do the work", resume_prompt="go on")]).run(runtime, on_event=on_event)

asyncio.run(main())
"""


@pytest.mark.parametrize("phase", ["writing", "done"])
async def test_a_kill_in_the_handoff_is_gone_on_from_at_the_right_side(tmp_path: Path, phase: str) -> None:
    with Rehearsal(relay(Turn(text=DOCUMENT), Turn(text=DOCUMENT))) as model:
        killed = subprocess.run(
            [sys.executable, "-c", SCRIPT, phase],
            cwd=tmp_path,
            env=script_environment(model),
            timeout=60,
            check=False,
        )
        assert killed.returncode == -signal.SIGKILL
        document = tmp_path / "work" / ".flower" / "notes" / "交接-干活.md"
        assert document.exists() == (phase == "done")
        if phase == "done":
            document.write_text(document.read_text().replace("plain text", "rich text, says a person"))

        result, events, _ = await outcome(tmp_path, model)

        assert result.ok, result
        assert (tmp_path / "work" / "two.txt").exists()
        if phase == "done":
            # The document was there: nothing is written again, and the successor reads what a person made of it.
            assert "rich text, says a person" in opening(model, "你在接手一段")
            assert phases(events) == []
        assert lineage(tmp_path / "runs")["steps"] == {"干活": result.session_id}
