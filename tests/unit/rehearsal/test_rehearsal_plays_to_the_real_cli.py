"""The default script is played to the real SDK and the real CLI: real files come out of it."""

import asyncio
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import pytest
from claude_agent_sdk import (
    AgentDefinition,
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    Message,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ToolUseBlock,
)

from flower.rehearsal import Call, Fault, Rehearsal, Scene, Script, Turn, load_script
from tests.support.processes import descendants

TOOLS = ["Agent", "TodoWrite", "Read", "Write", "Edit", "Bash", "Glob", "Grep"]
RESUME = "上一轮在中途被打断,没有跑完。检查一下工作台里已经落盘的东西,从中断处接着做,不要重头来过。"
# The play takes about ten seconds; the rest is for a busy machine.
PATIENCE = 120


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "工作区"
    folder.mkdir()
    return folder


def options(rehearsal: Rehearsal, workspace: Path, **more: Any) -> ClaudeAgentOptions:
    coder = AgentDefinition(
        description="写代码的人",
        prompt="你来动手。",
        tools=["Read", "Write", "Edit", "Bash"],
        model="inherit",
    )
    return ClaudeAgentOptions(
        cwd=workspace,
        tools=TOOLS,
        allowed_tools=TOOLS,
        permission_mode="acceptEdits",
        setting_sources=[],
        agents={"coder": coder},
        system_prompt={"type": "preset", "preset": "claude_code", "append": "你是协调者。"},
        env={
            **rehearsal.env(),
            "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
            "CLAUDE_CODE_ENABLE_TASKS": "0",  # with its successor on, TodoWrite isn't offered
        },
        **more,
    )


class Session:
    """One session of the CLI, from its start to its end; `heard` is all that it sent."""

    def __init__(self, chosen: ClaudeAgentOptions) -> None:
        self.client = ClaudeSDKClient(chosen)
        self.heard: list[Message] = []
        self._unanswered: set[str] = set()

    async def __aenter__(self) -> Self:
        await self.client.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.disconnect()

    async def say(self, words: str) -> None:
        prompt_id = str(uuid.uuid4())
        self._unanswered.add(prompt_id)

        async def message() -> AsyncIterator[dict[str, Any]]:
            yield {
                "type": "user",
                "uuid": prompt_id,
                "message": {"role": "user", "content": words},
                "parent_tool_use_id": None,
            }

        await self.client.query(message())

    async def hear(self) -> AsyncIterator[Message]:
        """Until all that was said is answered, no turn runs and no agent works.

        Idle alone isn't the end: a resumed session may tell of its lost agents first, in a turn of its own.
        """
        async for message in self.client.receive_messages():
            self.heard.append(message)
            yield message
            if isinstance(message, ResultMessage):
                self._unanswered -= {message.user_message_uuid or "", *(message.user_message_uuids or ())}
            idle = isinstance(message, SystemMessage) and message.data.get("state") == "idle"
            if idle and not self._unanswered:
                return


async def step(chosen: ClaudeAgentOptions, prompt: str) -> list[Message]:
    """One session from `prompt` until all is done."""
    async with asyncio.timeout(PATIENCE), Session(chosen) as session:
        await session.say(prompt)
        async for _ in session.hear():
            pass
    return session.heard


async def killed_at(chosen: ClaudeAgentOptions, prompt: str, moment: Callable[[Message], bool]) -> None:
    """One session from `prompt`, whose CLI is killed as soon as a message is the `moment`."""
    before = set(descendants(os.getpid()))
    session = Session(chosen)
    async with asyncio.timeout(PATIENCE):
        await session.client.connect()
        await session.say(prompt)
        async for message in session.hear():
            if moment(message):
                break
        for pid in set(descendants(os.getpid())) - before:
            os.kill(pid, signal.SIGKILL)
        with suppress(ClaudeSDKError):  # it says that its child was killed
            await session.client.disconnect()


def spoken(seen: list[Message]) -> str:
    return "\n".join(
        block.text
        for message in seen
        if isinstance(message, AssistantMessage) and message.parent_tool_use_id is None
        for block in message.content
        if isinstance(block, TextBlock)
    )


def calls(message: Message) -> list[str]:
    if not isinstance(message, AssistantMessage):
        return []
    return [block.name for block in message.content if isinstance(block, ToolUseBlock)]


def results(seen: list[Message]) -> list[ResultMessage]:
    return [message for message in seen if isinstance(message, ResultMessage)]


def convert(workspace: Path, markdown: str) -> str:
    """What the converter that the play wrote makes of `markdown`."""
    (workspace / "mine.md").write_text(markdown, encoding="utf-8")
    command = [sys.executable, "md2html.py", "mine.md", "mine.html"]
    subprocess.run(command, cwd=workspace, check=True, timeout=30)
    return (workspace / "mine.html").read_text(encoding="utf-8")


async def test_the_first_job_is_done_and_a_resume_with_words_adds_to_it(workspace: Path) -> None:
    session_id = str(uuid.uuid4())
    with Rehearsal(load_script("default")) as rehearsal:
        first = await step(
            options(rehearsal, workspace, session_id=session_id), "照这份需求做:\n\n写个 md 转 html 的脚本"
        )

        assert "做好了, 产出核对过" in spoken(first)
        page = convert(workspace, "# 标题\n\n一段 **粗** 和 `a<b`\n\n- 一\n- 二\n\n```python\npass\n```\n")
        for part in ("<h1>标题</h1>", "<strong>粗</strong>", "<code>a&lt;b</code>", "<li>二</li>"):
            assert part in page
        assert "keyword" not in page

        second = await step(options(rehearsal, workspace, resume=session_id), "顺便支持代码块高亮")

        assert "高亮加好了" in spoken(second)
        assert '<code class="language-python"><span class="keyword">pass</span></code>' in convert(
            workspace, "```python\npass\n```\n"
        )

        third = await step(options(rehearsal, workspace, resume=session_id), "接着做")

        assert "这次没有要改的地方" in spoken(third)
        assert {result.session_id for result in results(first + second + third)} == {session_id}
        assert not any(result.is_error for result in results(first + second + third))
        assert {"TodoWrite", "Agent", "Read"} <= {name for message in first for name in calls(message)}
        assert {request.status for request in rehearsal.requests} == {200}


async def test_a_killed_session_goes_on_at_the_next_turn_with_a_new_endpoint(workspace: Path) -> None:
    script, session_id = load_script("default"), str(uuid.uuid4())
    with Rehearsal(script) as rehearsal:
        await killed_at(
            options(rehearsal, workspace, session_id=session_id),
            "照这份需求做:\n\n写个 md 转 html 的脚本",
            lambda message: "Write" in calls(message),
        )
        assert not (workspace / "sample.html").exists()

    with Rehearsal(script) as rehearsal:
        await step(options(rehearsal, workspace, resume=session_id), RESUME)

        of_main = [request for request in rehearsal.requests if request.role == "coordinator"]

    # The worker died with its CLI: it is sent again, and what comes after its report follows.
    assert [(request.scene, request.turn) for request in of_main] == [
        ("first", 0),
        ("first", 0),
        ("first", 1),
        ("first", 2),
    ]
    assert "<h1>一</h1>" in convert(workspace, "# 一")
    assert (workspace / "sample.html").exists()


async def test_a_remark_in_mid_run_is_taken_up_when_the_scene_has_ended(workspace: Path) -> None:
    with Rehearsal(load_script("default")) as rehearsal:
        async with asyncio.timeout(PATIENCE), Session(options(rehearsal, workspace)) as session:
            await session.say("照这份需求做:\n\n写个 md 转 html 的脚本")
            remarks = ["顺便支持代码块高亮"]
            async for message in session.hear():
                if "Write" in calls(message) and remarks:
                    await session.say(remarks.pop())

    said = spoken(session.heard)
    marks = ["做好了, 产出核对过", "要加代码块高亮", "高亮加好了"]
    assert sorted(marks, key=said.find) == marks
    assert all(said.count(mark) == 1 for mark in marks)
    assert 'class="keyword"' in convert(workspace, "```python\npass\n```\n")


FAULTS = {
    "overloaded": Fault(status=529),
    "broken": Fault(status=500),
    "too many": Fault(status=429, retry_after="0"),
    "dropped before": Fault(drop="before"),
    "dropped in the middle": Fault(drop="middle"),
    "offline": Fault(offline_seconds=0.3),
}


def two_turns(*faults: Fault) -> Script:
    look = Call(tool="Bash", input={"command": "pwd"})
    turns = [Turn(text="看一眼。", calls=[look], faults=list(faults)), Turn(text="好了。")]
    return Script(scenes=[Scene(name="job", turns=turns)])


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_the_cli_gets_over_a_passing_fault_by_itself(workspace: Path, fault: Fault) -> None:
    with Rehearsal(two_turns(fault)) as rehearsal:
        seen = await step(options(rehearsal, workspace), "开始")

        assert [request.status for request in rehearsal.requests] == [fault.status or 0, 200, 200]
    # What was cut off in the middle may have been shown before it comes again.
    assert list(dict.fromkeys(spoken(seen).split("\n"))) == ["看一眼。", "好了。"]
    assert [result.is_error for result in results(seen)] == [False]


async def test_the_cli_gives_up_at_once_when_its_key_is_refused(workspace: Path) -> None:
    with Rehearsal(two_turns(Fault(status=401, forever=True))) as rehearsal:
        seen = await step(options(rehearsal, workspace), "开始")

        assert [request.status for request in rehearsal.requests] == [401]
    assert [(result.is_error, result.api_error_status) for result in results(seen)] == [(True, 401)]
