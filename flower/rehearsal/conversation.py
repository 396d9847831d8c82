"""One request of the CLI, read into what happened in its conversation so far, in order.

The CLI mixes much into `messages` that nobody said: reminders in tags around the user's words, messages of
role `system`, reports of background agents, its own remarks about interrupts. Each shape below was seen in
requests of the bundled CLI. What is of no known shape is skipped, never refused.
"""

import html
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from flower.rehearsal.call_ids import CallId, Mark

# A result that begins so is none: the call was cut off. The first four are the CLI's words, the last of them after
# a kill; the other two are what stands there after a session was read back from its store.
_INTERRUPTED_RESULTS = (
    "The user doesn't want to proceed with this tool use",
    "[Request interrupted",
    "[Tool call interrupted",
    "The tool call was interrupted before a result was received",
    "[上一轮在此处被中断",
    "[这一步被打断了",
)
_INTERRUPTED_WORDS = "[Request interrupted"
_REMARK = "The user sent a new message while you were working:\n"
_REMARK_END = "\n\nThis is how Claude Code surfaces"
_SUMMARY = "This session is being continued from a previous conversation"
_COMPACTION = "Respond with TEXT ONLY. Do NOT call any tools."
_NOT_SAID = ("<system-reminder>", "<local-command", "<command-name>", "[SYSTEM NOTIFICATION")
_LAUNCHED = re.compile(r"Async agent launched successfully\..*?^agentId: (\w+)", re.DOTALL | re.MULTILINE)
_HAND_BACK = re.compile(r"\[Subagent hand-back\].*?The report follows:\n(.*?)\nagentId: ", re.DOTALL)
_NOTIFICATION = re.compile(r"<task-notification>(.*?)</task-notification>", re.DOTALL)
_FOLDER = " - Primary working directory: "


@dataclass(frozen=True)
class Human:
    """A person, or whoever gave a subagent its task, said `text`."""

    text: str


@dataclass(frozen=True)
class Said:
    """The model said `text`."""

    text: str


@dataclass(frozen=True)
class Called:
    """The model made a call that a script asked for."""

    id: str
    call: CallId


@dataclass(frozen=True)
class Result:
    """A call brought `text`; `launched` names the agent that it started and that still works."""

    id: str
    text: str
    interrupted: bool
    launched: str = ""


@dataclass(frozen=True)
class Report:
    """A background agent came home with `text`, or was stopped on its way."""

    agent: str
    call: str
    text: str
    stopped: bool


@dataclass(frozen=True)
class Interrupted:
    """A person broke the model's turn off."""


Happening = Human | Said | Called | Result | Report | Interrupted | Mark


@dataclass(frozen=True)
class Conversation:
    """What a script needs to know of a request to answer it."""

    model: str
    stream: bool
    system: str
    tools: tuple[str, ...]
    messages: list[Any] = field(repr=False)
    happenings: tuple[Happening, ...]
    agent: str  # the CLI's id of the subagent that asks; "" for the main thread
    cwd: str
    schema: Mapping[str, Any] | None
    compaction: bool

    @property
    def thread(self) -> str:
        return "worker" if self.agent else "main"

    @property
    def prompt(self) -> str:
        """The latest words of a person (of the launching agent, for a subagent)."""
        return next((each.text for each in reversed(self.happenings) if isinstance(each, Human)), "")


def read_request(body: Mapping[str, Any], *, agent: str = "") -> Conversation:
    """Reads a decoded request; `agent` is the CLI's `x-claude-code-agent-id` header.

    Raises ValueError when `messages` or `model` isn't what the Messages API takes.
    """
    model, messages = body.get("model"), body.get("messages")
    if not isinstance(model, str) or not model:
        raise ValueError("model: field required")
    if not isinstance(messages, list) or not messages:
        raise ValueError("messages: at least one message is required")
    system = "\n".join(_texts(body.get("system")))
    if not agent and "cc_is_subagent=true" in system:
        agent = "unnamed"
    tools = [tool.get("name") for tool in _dicts(body.get("tools"))]
    return Conversation(
        model=model,
        stream=body.get("stream") is True,
        system=system,
        tools=tuple(name for name in tools if isinstance(name, str)),
        messages=messages,
        happenings=tuple(_happenings(messages)),
        agent=agent,
        cwd=_working_folder(system, messages),
        schema=_schema(body),
        compaction=any(_COMPACTION in text[:200] for text in _texts(_content(messages[-1]))),
    )


def _happenings(messages: list[Any]) -> Iterator[Happening]:
    for message in messages:
        if not isinstance(message, dict):
            continue
        if message.get("role") == "assistant":
            yield from _of_assistant(message)
        elif message.get("role") == "user":
            yield from _of_user(message)
        else:
            for text in _texts(_content(message)):
                yield from _reports(text)


def _of_assistant(message: dict[str, Any]) -> Iterator[Happening]:
    for block in _blocks(message):
        if block.get("type") == "text":
            yield Said(str(block.get("text")))
        elif block.get("type") == "tool_use":
            call = CallId.parse(str(block.get("id")))
            if call is not None:
                yield Called(str(block.get("id")), call)


def _of_user(message: dict[str, Any]) -> Iterator[Happening]:
    for block in _blocks(message):
        if block.get("type") == "tool_result":
            yield _result(block)
        elif block.get("type") == "text":
            yield from _words(str(block.get("text")))


def _result(block: dict[str, Any]) -> Result:
    text = "\n".join(_texts(block.get("content")))
    launched = _LAUNCHED.match(text)
    hand_back = _HAND_BACK.search(text)
    if hand_back is not None:
        text = textwrap.dedent(hand_back[1])
    return Result(
        id=str(block.get("tool_use_id")),
        text=text,
        interrupted=text.startswith(_INTERRUPTED_RESULTS),
        launched=launched[1] if launched else "",
    )


def _words(text: str) -> Iterator[Happening]:
    stripped = text.strip()
    if "<task-notification>" in text and stripped.startswith(_NOT_SAID):
        yield from _reports(text)
    elif stripped.startswith(_INTERRUPTED_WORDS):
        yield Interrupted()
    elif stripped.startswith(_SUMMARY):
        yield from Mark.find_all(text)
    elif stripped.startswith(_REMARK):
        yield Human(stripped.removeprefix(_REMARK).partition(_REMARK_END)[0].strip())
    elif stripped and not stripped.startswith(_NOT_SAID):
        yield Human(stripped)


def _reports(text: str) -> Iterator[Report]:
    for body in _NOTIFICATION.findall(text):
        # "stopped": the process ended under it. "killed": a person stopped it. "failed" is a result too.
        status = _tag(body, "status")
        yield Report(
            agent=_tag(body, "task-id"),
            call=_tag(body, "tool-use-id"),
            text=_tag(body, "result") or _tag(body, "summary"),
            stopped=status in ("stopped", "killed"),
        )


def _tag(body: str, name: str) -> str:
    match = re.search(f"<{name}>(.*?)</{name}>", body, re.DOTALL)
    # The CLI writes what stands between its tags as XML has it.
    return html.unescape(match[1].strip()) if match else ""


def _working_folder(system: str, messages: list[Any]) -> str:
    """The folder the CLI names in its environment block; "" where it names none."""
    # The block stands in the system prompt, in a `system` message or in a reminder, by model; and a summary
    # that we wrote ourselves repeats it. It comes early, or right after an early message.
    for text in (system, *(text for message in messages[:4] for text in _texts(_content(message)))):
        _, found, rest = text.partition(_FOLDER)
        if found:
            return rest.partition("\n")[0].strip()
    return ""


def _schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    config = body.get("output_config")
    form = config.get("format") if isinstance(config, dict) else None
    schema = form.get("schema") if isinstance(form, dict) else None
    return schema if isinstance(schema, dict) else None


def _content(message: Any) -> Any:
    return message.get("content") if isinstance(message, dict) else None


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return _dicts(content)


def _texts(content: Any) -> list[str]:
    """The texts of a string or of a list of blocks."""
    if isinstance(content, str):
        return [content]
    return [str(block["text"]) for block in _dicts(content) if "text" in block]


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
