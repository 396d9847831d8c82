"""A conversation as the CLI holds it, without the CLI: what it would send, and what it does with an answer."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from flower.rehearsal.conversation import read_request
from flower.rehearsal.script import Script
from flower.rehearsal.stage import Reply, answer

TOOLS = ("Agent", "TodoWrite", "Read", "Write", "Edit", "Bash")
LAUNCHED = (
    "Async agent launched successfully. (This tool result is internal metadata — never quote it.)\n"
    "agentId: {agent} (internal ID - do not mention to user.)\n"
    "The agent is working in the background. You will be notified automatically when it completes."
)
NOTIFICATION = """[SYSTEM NOTIFICATION - NOT USER INPUT]
This is an automated background-task event, NOT a message from the user.

<task-notification>
<task-id>{agent}</task-id>
{call}<status>{status}</status>
<summary>Agent finished</summary>
{result}</task-notification>"""
KILLED = (
    "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is "
    "unknown. Check whether it took effect before relying on it or running it again.]"
)
ENVIRONMENT = (
    "# Environment\nYou have been invoked in the following environment: \n"
    " - Primary working directory: {cwd}\n - Is a git repository: false"
)
_NUMBERS = itertools.count()  # no two tokens are the same, whichever conversation they stand in


class Talk:
    """One thread of a session. `messages` is its whole state, as on the CLI's side."""

    def __init__(
        self,
        script: Script,
        *,
        tools: Sequence[str] = TOOLS,
        system: str = "",
        agent: str = "",
        cwd: str = "/somewhere",
    ) -> None:
        self.script = script
        self.tools = tools
        self.system = system
        self.agent = agent
        self.messages: list[dict[str, Any]] = []
        self._environment = ENVIRONMENT.format(cwd=cwd)

    def body(self, **more: Any) -> dict[str, Any]:
        """The request that the CLI would send now."""
        return {
            "model": "claude-opus-5-5",
            "stream": True,
            "max_tokens": 32000,
            "system": [
                {"type": "text", "text": "x-anthropic-billing-header: cc_version=2;"},
                {"type": "text", "text": self.system, "cache_control": {"type": "ephemeral"}},
            ],
            "tools": [{"name": name, "input_schema": {"type": "object"}} for name in self.tools],
            "messages": [
                *self.messages[:1],
                {"role": "system", "content": [{"type": "text", "text": self._environment}]},
                *self.messages[1:],
            ],
            **more,
        }

    def says(self, words: str) -> None:
        """A person speaks, the CLI's reminders around the words."""
        reminder = {"type": "text", "text": "<system-reminder>\nToday is a day.\n</system-reminder>\n"}
        self.messages.append({"role": "user", "content": [reminder, {"type": "text", "text": words}]})

    def answers(self, token: Callable[[], str] | None = None, **more: Any) -> Reply:
        """The reply to the request that the CLI would send now; the answer joins the conversation."""
        request = read_request(self.body(**more), agent=self.agent)
        reply = answer(self.script, request, token or (lambda: f"t{next(_NUMBERS)}"))
        self.messages.append({"role": "assistant", "content": reply.message["content"]})
        return reply

    def calls(self) -> list[dict[str, Any]]:
        """The calls of the last answer."""
        return [block for block in self.messages[-1]["content"] if block["type"] == "tool_use"]

    def brings(self, text: str = "ok") -> None:
        """Each call of the last answer brings `text`."""
        self.messages.append({"role": "user", "content": [result(call, text) for call in self.calls()]})

    def launches(self, agent: str) -> None:
        """The Agent call of the last answer starts `agent`, which works in the background; the rest is done."""
        launched = LAUNCHED.format(agent=agent)
        content = [result(call, launched if call["name"] == "Agent" else "ok") for call in self.calls()]
        self.messages.append({"role": "user", "content": content})

    def notified(
        self, agent: str, result_text: str = "", *, call: str = "", status: str = "completed"
    ) -> None:
        """A background agent came home, or was stopped."""
        text = NOTIFICATION.format(
            agent=agent,
            call=f"<tool-use-id>{call}</tool-use-id>\n" if call else "",
            status=status,
            result=f"<result>{result_text}</result>\n" if result_text else "",
        )
        wrapped = f"<system-reminder>\n{text}\n</system-reminder>"
        self.messages.append({"role": "user", "content": [{"type": "text", "text": wrapped}]})

    def plays(self, prompt: str, bring: str = "ok", limit: int = 200) -> list[Reply]:
        """Says `prompt`, and lets every call bring `bring` until the model ends its turn."""
        self.says(prompt)
        replies = []
        for _ in range(limit):
            replies.append(self.answers())
            if not self.calls():
                return replies
            self.brings(bring)
        raise AssertionError(f"the model did not end its turn in {limit} answers")


def result(call: dict[str, Any], text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": text}]}


def words(reply: Reply) -> str:
    return "\n".join(block["text"] for block in reply.message["content"] if block["type"] == "text")


def places(replies: Sequence[Reply]) -> list[tuple[str, int]]:
    return [(reply.scene, reply.turn) for reply in replies]
