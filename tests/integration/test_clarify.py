"""The clarifier on the real CLI: it asks through its own tool, and what it was told is never asked twice."""

import asyncio
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from flower import Event, Runtime, Workflow
from flower.core.human import TIMEOUT, HumanChannel
from flower.core.human_log import QuestionLog
from flower.rehearsal import Call, Rehearsal, Role, Scene, Script, Turn
from flower.workflow.clarify import clarify_step
from tests.support.processes import Spawned, eventually, wait_until
from tests.support.runs import environment, lineage, rows, script_environment, stored, told

BRIEF = """\
问完了。

## 目标
一个 {result}
## 验收标准
- 跑得通
## 边界
- 不做网页
## 未知与假设
- {result}"""


def asking(question: str, *options: str) -> Turn:
    return Turn(
        text=f"要知道: {question}",
        calls=[Call(tool="mcp__human__ask", input={"question": question, "options": list(options)})],
    )


def clarifier(*turns: Turn, resumed: tuple[Turn, ...] = ()) -> Script:
    """A clarifier that plays the turns, and others when it is told to go on."""
    scenes = [Scene(name="clarifier", role="clarifier", turns=list(turns))]
    if resumed:
        going_on = Scene(
            name="resumed", role="clarifier", prompt="不是重新开始", cuts_in=True, turns=list(resumed)
        )
        scenes.insert(0, going_on)
    return Script(
        roles={"clarifier": Role(thread="main", system="未知与假设", tools=["mcp__human__ask"])},
        scenes=scenes,
    )


class Clarification:
    """One folder and its person, who answers from a thread of their own."""

    def __init__(self, folder: Path, model: Rehearsal, timeout: float = 30) -> None:
        notes = folder / ".flower" / "notes"
        self.folder, self.model = folder, model
        self.brief, self.page = notes / "需求.md", notes / "问答记录.md"
        self.channel = HumanChannel(log_path=self.page, amend_path=self.brief, timeout_s=timeout)
        self.events: list[Event] = []

    async def run(self, answers: Mapping[str, str] | None = None) -> dict[str, object]:
        step = clarify_step(self.channel, brief_path=self.brief, prompt="做一个小工具")
        runtime = self.runtime = Runtime(
            workspace=self.folder, run_dir=self.folder / "runs", environment=environment(self.model)
        )
        over = threading.Event()
        person = threading.Thread(target=self._answer, args=(answers or {}, over))
        person.start()
        try:
            return await Workflow([step], channel=self.channel).run(runtime, on_event=self.events.append)
        finally:
            over.set()
            person.join()
            await runtime.aclose()

    def _answer(self, answers: Mapping[str, str], over: threading.Event) -> None:
        while not over.wait(0.02):
            for ask in self.channel.pending():
                if ask.question in answers:
                    self.channel.answer(ask.id, answers[ask.question])

    def asked(self) -> list[str]:
        """What the person was shown, in its order."""
        return [
            event.text for event in self.events if event.kind == "ask" and event.payload["state"] == "asked"
        ]


async def test_it_asks_twice_hears_the_answers_and_the_brief_is_frozen(tmp_path: Path) -> None:
    script = clarifier(
        asking("什么语言?", "Python", "Go"), asking("给谁用?", "自己", "同事"), Turn(text=BRIEF)
    )
    with Rehearsal(script) as model:
        here = Clarification(tmp_path, model)
        ctx = await here.run({"什么语言?": "Python", "给谁用?": "给我妈"})

        assert ctx.get("_failed_at") is None and here.asked() == ["什么语言?", "给谁用?"]
        first = next(event for event in here.events if event.kind == "ask")
        assert first.payload["options"] == ["Python", "Go"]
        assert "Python" in told(model.requests[1]) and "给我妈" in told(model.requests[2])
        offered = set(model.requests[0].tools) - {
            "DeferredToolPlaceholder"
        }  # the CLI's own, and no tool at all
        assert offered == {"mcp__human__ask", "Read", "Glob", "Grep", "WebFetch", "WebSearch"}
    assert here.brief.read_text().startswith("# 需求确认书\n") and "一个 给我妈" in here.brief.read_text()
    assert here.page.read_text().endswith(
        "- **Q**(q1) 什么语言?\n  - 选项:Python / Go\n  - **A**[answered] Python\n"
        "- **Q**(q2) 给谁用?\n  - 选项:自己 / 同事\n  - **A**[answered] 给我妈\n"
    )


async def test_nobody_answers_and_the_assumption_is_written_down(tmp_path: Path) -> None:
    with Rehearsal(clarifier(asking("什么语言?"), Turn(text=BRIEF))) as model:
        here = Clarification(tmp_path, model, timeout=0.3)
        ctx = await here.run()

        assert ctx.get("_failed_at") is None
        assert TIMEOUT in told(model.requests[-1]) and TIMEOUT in here.brief.read_text()
    assert "**A**[timeout]" in here.page.read_text()


KILLED_AS_THE_SECOND_ANSWER_IS_ACCEPTED = """
import asyncio, os, signal, threading, time
from flower import Runtime, Workflow
from flower.core.human import HumanChannel
from flower.workflow.clarify import clarify_step

def watch(event):
    # On disk and announced; the agent itself has not been told.
    if event.kind == "ask" and event.payload["id"] == "q2" and event.payload["state"] == "answered":
        os.kill(os.getpid(), signal.SIGKILL)

notes = ".flower/notes/"
channel = HumanChannel(log_path=notes + "问答记录.md", amend_path=notes + "需求.md")

def person():
    while True:
        for ask in channel.pending():
            channel.answer(ask.id, {"q1": "Python", "q2": "给我妈"}[ask.id])
        time.sleep(0.02)

threading.Thread(target=person, daemon=True).start()

async def main():
    runtime = Runtime(workspace=".", run_dir="runs")
    step = clarify_step(channel, brief_path=notes + "需求.md", prompt="做一个小工具")
    await Workflow([step], channel=channel).run(runtime, on_event=watch)

asyncio.run(main())
"""


def test_killed_after_two_of_three_answers_it_asks_only_the_third(tmp_path: Path, spawned: Spawned) -> None:
    script = clarifier(
        asking("什么语言?"),
        asking("给谁用?"),
        asking("什么时候要?"),
        Turn(text=BRIEF),
        resumed=(asking("什么时候要?"), Turn(text=BRIEF)),
    )
    (tmp_path / "script.py").write_text(KILLED_AS_THE_SECOND_ANSWER_IS_ACCEPTED)
    with Rehearsal(script) as model:
        killed = spawned.start([sys.executable, "script.py"], cwd=tmp_path, env=script_environment(model))
        wait_until(lambda: killed.poll() is not None, timeout=60, what="the kill")
        assert killed.returncode == -signal.SIGKILL
        assert not (tmp_path / ".flower/notes/需求.md").exists()
        session = lineage(tmp_path / "runs")["steps"]["确认需求"]

        here = Clarification(tmp_path, model)
        asyncio.run(here.run({"什么时候要?": "明天"}))

        resumed = next(request for request in model.requests if request.scene == "resumed")
        conversation = told(resumed)
        # The first answer is in the session's own transcript; the second never got there, and is told with the prompt.
        assert "做一个小工具" in conversation and "接着刚才那次没问完的需求确认继续" in resumed.prompt
        assert "问:给谁用?\n  答:给我妈" in resumed.prompt
    assert here.asked() == ["什么时候要?"]
    entries = QuestionLog(here.page).chapter()
    assert [(entry.number, entry.answer) for entry in entries] == [(1, "Python"), (2, "给我妈"), (3, "明天")]
    assert "一个 明天" in here.brief.read_text()
    assert {row["session_id"] for row in rows(tmp_path / "runs")} == {session}
    results = [entry for entry in stored(tmp_path / "runs", session) if "toolUseResult" in entry]
    assert sum("给我妈" in str(entry) for entry in results) == 0


async def test_an_interrupt_leaves_the_question_open_for_the_agent_to_come_back_to(tmp_path: Path) -> None:
    with Rehearsal(clarifier(asking("什么语言?"), Turn(text=BRIEF))) as model:
        here = Clarification(tmp_path, model)
        running = asyncio.create_task(here.run())
        ask = await here.channel.next_ask(30)
        assert ask is not None
        here.runtime.interrupt("先等等")
        await eventually(lambda: [event.kind for event in here.events].count("tool_call") == 2, timeout=30)
        assert here.channel.answer(ask.id, "Python")
        await running

        assert here.asked() == ["什么语言?"] and "Python" in here.brief.read_text()
