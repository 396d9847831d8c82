"""When a turn is broken off for a handoff: in the messages that the CLI was seen to send, in their order."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from flower import HandoffPolicy, Resilience, StepResult
from flower.core.claude import Conversation
from flower.core.recovery import Recovery
from flower.core.succession import Succession
from flower.core.turns import Turns
from flower.core.waits import Waits
from flower.core.windows import Windows

FULL = 160_000


class Told(Conversation):
    """A conversation whose CLI says what it is told to; ``broken_at`` is how much it had said when interrupted."""

    def __init__(self, *turns: list[Any]) -> None:
        super().__init__(ClaudeAgentOptions(), Path("no.lock"))
        self._turns = list(turns)
        self.said = 0
        self.broken_at: int | None = None

    async def _query(self, text: str) -> None:
        self._messages = self._say(self._turns.pop(0))

    async def _say(self, messages: list[Any]) -> AsyncIterator[Any]:
        for message in messages:
            self.said += 1
            yield message

    async def interrupt(self) -> None:
        self.broken_at = self.said


def says(*blocks: Any) -> AssistantMessage:
    return AssistantMessage(
        content=list(blocks), model="m", usage={"input_tokens": FULL, "output_tokens": 1}, session_id="s"
    )


def system(subtype: str, **data: Any) -> SystemMessage:
    return SystemMessage(subtype=subtype, data={"session_id": "s", **data})


def state(name: str) -> SystemMessage:
    return system("session_state_changed", state=name)


RUNNING, IDLE = state("running"), state("idle")
INIT = system("init")
SENT = says(ToolUseBlock(id="t", name="Agent", input={}))
BEGUN = system("task_started", task_id="a")
LAUNCHED = UserMessage(content=[ToolResultBlock(tool_use_id="t", content="launched")])
WAITING = says(TextBlock("it is on its way"))
RESULT = ResultMessage("success", 1, 1, False, 1, "s", total_cost_usd=0.0)
HOME = system("task_notification", task_id="a", status="completed")
LAST = says(TextBlock("all done"))


async def broken_off(*played: list[Any]) -> int | None:
    """How many messages of the turns had been said when one was broken off; None if none was."""
    environment: dict[str, str] = {}
    result = StepResult(step="干活")
    waits = Waits(result, "zh", lambda event: None)
    resilience = Resilience(enabled=False)
    runtime: Any = SimpleNamespace(
        resilience=resilience,
        child_environment=lambda: environment,
        probe=None,
        store=SimpleNamespace(unsaved=None),
        other_models=set(),
        on_session=None,
        language="zh",
    )
    succession = Succession(
        HandoffPolicy(window=200_000),
        Windows(environment),
        result,
        None,
        "zh",
        lambda event: None,
        lambda session, document: None,
    )
    recovery = Recovery(result, resilience, environment, waits, None)
    turns = Turns(runtime, result, recovery, waits, lambda event: None, succession)
    conversation = Told(*played)
    for _ in played:
        await turns.take(conversation, "go on")
    return conversation.broken_at


async def test_who_only_dispatches_hands_over_between_a_report_and_the_next_dispatch() -> None:
    back = [RUNNING, INIT, SENT, BEGUN, LAUNCHED, WAITING, RESULT, HOME, INIT]
    assert await broken_off([*back, LAST, RESULT, IDLE]) == len(back)


async def test_nothing_is_broken_off_while_a_subagent_works() -> None:
    assert (
        await broken_off([RUNNING, INIT, SENT, BEGUN, LAUNCHED, WAITING, RESULT, INIT, LAST, RESULT, IDLE])
        is None
    )


async def test_words_that_a_person_says_over_the_line_are_answered_first() -> None:
    answered = [RUNNING, INIT, LAST, RESULT, IDLE]
    assert await broken_off(answered, answered) is None
