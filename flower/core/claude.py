"""The only door to the SDK's client: one CLI child and the conversation in it.

A turn is over when everything that was said in it has been answered by a result, and the CLI says that it is idle.
A result alone is not the end: subagents run asynchronously, each that ends starts a turn of the CLI's own, and who
leaves at the first result kills them. Nor does idle alone mean that a prompt was answered: a resume after a kill
begins with a turn in which the CLI reports the subagents that were lost. So each thing said carries an id of its own,
and a result names those that it took in.
"""

import asyncio
import contextlib
import logging
import os
import signal
import uuid
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flower.core.events import is_synthetic
from flower.core.lease import child_of

logger = logging.getLogger(__name__)

CHILD_SETTINGS = {
    # Makes the CLI say when it is idle: the one reliable sign that a step's work is over.
    "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "1",
    # With the newer task tools on, TodoWrite isn't there even when it is named.
    "CLAUDE_CODE_ENABLE_TASKS": "0",
}
ANSWER_SECONDS = 2.0  # an interrupt is answered within milliseconds, or never
INTERRUPT_SECONDS = 15.0  # an interrupted turn ends within 20 ms as a rule; a CLI that doesn't is ended
SETTLE_SECONDS = (
    10.0  # idle with something said unanswered: it is taken up at once, however busy the machine, or never
)
CLOSE_SECONDS = 30.0  # the SDK's own closing takes up to 20 s before it kills


class ChildFailed(Exception):
    """The child ended, or its conversation broke, before the turn was over. The text is for people."""


class Conversation:
    """One child, from its start to its end. Make it by `open`; `close` it whatever happens."""

    def __init__(self, options: Any, lock: Path) -> None:
        from claude_agent_sdk import ClaudeSDKClient

        self._lock = lock
        self.stderr: deque[str] = deque(maxlen=20)
        options.stderr = self.stderr.append
        self._client = ClaudeSDKClient(options)
        self._messages: AsyncIterator[Any] | None = None
        self._state: str | None = None
        self._tasks: set[str] = set()
        self._calls: set[str] = set()
        self._unanswered: set[str] = set()
        self._said: dict[str, str] = {}
        self._watchdog: asyncio.TimerHandle | None = None
        self._breaking: set[asyncio.Task[None]] = set()
        self.in_turn = False

    async def open(self) -> None:
        """Start the child. Raises `ChildFailed`."""
        try:
            await self._client.connect()
        except Exception as error:  # the SDK raises several types and bare Exception here
            raise ChildFailed(self._reason(error)) from error
        self._messages = aiter(self._client.receive_messages())

    @property
    def works_locally(self) -> bool:
        """Whether a tool call or a task is under way: something that may not need the model for a while."""
        return bool(self._calls or self._tasks)

    @property
    def has_tasks(self) -> bool:
        """Whether subagents, or commands in the background, are at work."""
        return bool(self._tasks)

    @property
    def unanswered(self) -> dict[str, str]:
        """What was said, by its uuid, and no result has named: the child may have ended before it heard it."""
        return dict(self._said)

    async def turn(self, prompt: str) -> AsyncGenerator[Any, None]:
        """Send ``prompt`` and yield every message until the CLI is idle again. Raises `ChildFailed`."""
        self.in_turn = True
        results = 0
        try:
            await self._query(prompt)
            while True:
                message = await self._next(SETTLE_SECONDS if results and self._state == "idle" else None)
                if message is None:
                    return
                results += type(message).__name__ == "ResultMessage"
                self._follow(message)
                yield message
                if results and self._over():
                    return
        finally:
            self.in_turn = False
            self._unanswered.clear()
            self._calls.clear()
            self._disarm()
            if self._breaking:
                # One that is still on its way would break off the next turn.
                _, late = await asyncio.wait(self._breaking, timeout=ANSWER_SECONDS)
                for task in late:
                    task.cancel()
                await asyncio.gather(*late, return_exceptions=True)

    async def say(self, text: str) -> None:
        """Words for the running turn; the model sees them beside its next tool result. Raises `ChildFailed`."""
        await self._query(text)

    async def interrupt(self) -> None:
        """Break the running turn off; what it did so far stays. The turn then ends by itself, or is ended.

        Words that wait to be taken up are in the session then, and nothing is done about them. Said again before
        that, it changes nothing.
        """
        if self._watchdog is not None:
            return
        loop = asyncio.get_running_loop()
        self._watchdog = loop.call_later(INTERRUPT_SECONDS, self.terminate)
        await self._break()

    def terminate(self) -> None:
        """End the child and all below it now, within seconds, without waiting for it. Any time, from any thread."""
        with contextlib.suppress(OSError):
            launcher = child_of(self._lock)
            if launcher is not None:
                os.kill(launcher, signal.SIGTERM)

    async def close(self) -> None:
        """End the child in good order and wait for it; it is dead afterwards. Never raises."""
        self._disarm()
        closing = asyncio.create_task(self._client.disconnect(), name="flower-close-child")
        done, _ = await asyncio.wait({closing}, timeout=CLOSE_SECONDS)
        if not done:
            self.terminate()
            closing.cancel()
        elif closing.exception() is not None:
            logger.warning("closing a child: %s", closing.exception())

    async def _break(self) -> None:
        with contextlib.suppress(Exception):
            # It may have ended meanwhile; then the turn's own end says all there is to say.
            await self._client.interrupt()

    async def _query(self, text: str) -> None:
        said = str(uuid.uuid4())
        self._unanswered.add(said)
        self._said[said] = text
        message = {
            "type": "user",
            "message": {"role": "user", "content": text},
            "parent_tool_use_id": None,
            "uuid": said,
            # Words that begin with a slash are words: the CLI's own commands (/clear, …) are none of ours.
            "client_composed": text.lstrip().startswith("/"),
        }
        try:
            await self._client.query(_once(message))
        except Exception as error:  # several types and bare Exception, all meaning a dead child
            del self._said[said]
            raise ChildFailed(self._reason(error)) from error

    async def _next(self, timeout: float | None) -> Any:
        """The next message; None when ``timeout`` seconds passed without one."""
        assert self._messages is not None, "a turn needs an open conversation"
        coming = asyncio.ensure_future(anext(self._messages))
        try:
            done, _ = await asyncio.wait({coming}, timeout=timeout)
            if not done:
                # Only after the CLI said it is idle: nothing is lost that belonged to the turn.
                return None
            return coming.result()
        except StopAsyncIteration:
            raise ChildFailed(self._reason(None)) from None
        except Exception as error:  # ResultError, ProcessError, CLIJSONDecodeError or bare Exception
            raise ChildFailed(self._reason(error)) from error
        finally:
            if not coming.done():
                coming.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await coming
                self._messages = aiter(self._client.receive_messages())

    def _follow(self, message: Any) -> None:
        """Keep track of what the CLI says of its own state."""
        subtype = getattr(message, "subtype", None)
        data = getattr(message, "data", None) or {}
        kind = type(message).__name__
        if kind == "ResultMessage":
            for named in (message.user_message_uuid, *(message.user_message_uuids or ())):
                self._unanswered.discard(named)
                self._said.pop(named, None)
        elif kind == "AssistantMessage":
            self._calls.update(
                block.id for block in message.content if type(block).__name__ == "ToolUseBlock"
            )
        elif kind == "UserMessage" and not isinstance(message.content, str):
            self._calls.difference_update(getattr(block, "tool_use_id", None) for block in message.content)
        elif subtype == "init" and self._watchdog is not None:
            # Broken off, the CLI takes up at once what waits: that would be work that nobody wants just now.
            task = asyncio.create_task(self._break(), name="flower-interrupt-again")
            self._breaking.add(task)
            task.add_done_callback(self._breaking.discard)
        elif subtype == "session_state_changed":
            self._state = data.get("state")
        elif subtype == "task_started":
            self._tasks.add(str(data.get("task_id")))
        elif subtype in ("task_notification", "task_updated"):
            status = data.get("status") or (data.get("patch") or {}).get("status")
            if status in ("completed", "failed", "stopped", "killed"):
                self._tasks.discard(str(data.get("task_id")))

    def _over(self) -> bool:
        # A CLI that never tells its state is over at a result with no task alive.
        quiet = self._state == "idle" or (self._state is None and not self._tasks)
        return quiet and not self._unanswered

    def _disarm(self) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()
            self._watchdog = None

    def _reason(self, error: Exception | None) -> str:
        said = str(error) if error is not None else ""
        last = next((line for line in reversed(self.stderr) if line.strip()), "")
        return " ".join(part for part in (said, last) if part) or "the CLI ended in mid-turn"


class Mirror:
    """The store as the SDK sees it: it takes entries and has none.

    With nothing to load, the SDK leaves a resume to the CLI's own files, which `flower.core.transcripts` wrote,
    instead of making a temporary folder with a copy of the credentials.
    """

    def __init__(self, store: Any, project_key: str) -> None:
        self._store = store
        self._project_key = project_key

    async def append(self, key: Any, entries: list[Any]) -> None:
        # The SDK derives the key from the folder of the CLI's file, which has a name of its own.
        await self._store.append({**key, "project_key": self._project_key}, entries)

    async def load(self, key: Any) -> None:
        return None


async def _once(message: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    yield message


@dataclass(frozen=True)
class Retry:
    """The CLI will send a request again. ``status`` is HTTP's, None when the request did not get through."""

    status: int | None
    error: str


def retry_of(message: Any) -> Retry | None:
    """The retry that a message announces, if it does."""
    data = getattr(message, "data", None) or {}
    if getattr(message, "subtype", None) != "api_retry":
        return None
    return Retry(data.get("error_status"), str(data.get("error") or ""))


def limit_of(message: Any) -> float | None:
    """When the usage limit ends that a message says was met, in epoch seconds."""
    about = getattr(message, "rate_limit_info", None)
    return (
        float(about.resets_at)
        if about is not None and about.status == "rejected" and about.resets_at
        else None
    )


def task_cut_off(message: Any) -> bool:
    """Whether the message says that a subagent was ended from outside."""
    data = getattr(message, "data", None) or {}
    return getattr(message, "subtype", None) == "task_notification" and data.get("status") in (
        "stopped",
        "killed",
    )


def session_of(message: Any) -> str | None:
    """The session id that a message names, if it does."""
    named = getattr(message, "session_id", None) or (getattr(message, "data", None) or {}).get("session_id")
    return named if isinstance(named, str) and named else None


def api_error_of(message: Any) -> str | None:
    """The text of an API error that the CLI put into the conversation as if the model had said it."""
    if type(message).__name__ != "AssistantMessage" or not message.error or not is_synthetic(message):
        return None
    return "\n".join(getattr(block, "text", "") for block in message.content).strip()
