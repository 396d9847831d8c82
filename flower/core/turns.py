"""One turn: what is said in it, what is seen of it, and why it did not end well if it didn't."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flower.core.claude import (
    ChildFailed,
    Conversation,
    api_error_of,
    limit_of,
    retry_of,
    session_of,
    task_cut_off,
)
from flower.core.events import Event, context_of, is_synthetic, normalize
from flower.core.outage import OutageWatch
from flower.core.recovery import OVERLOAD, Failure, Recovery
from flower.core.resilience import endpoint
from flower.core.result import StepResult
from flower.core.spending import Spending
from flower.core.succession import Succession
from flower.core.waits import Waits
from flower.core.windows import window_reported
from flower.core.words import Words

if TYPE_CHECKING:
    from flower.core.runtime import Runtime

CUT_OFF = "a subagent was ended before it could report, as it is when the budget is used up"

SAVED = Words("会话又存得进去了,等着的都已存好。", "saving works again, and all that waited is saved.")


class Turns:
    """The turns of one step; its result grows with each."""

    def __init__(
        self,
        runtime: "Runtime",
        result: StepResult,
        recovery: Recovery,
        waits: Waits,
        emit: Callable[[Event], None],
        succession: Succession,
    ) -> None:
        self.spending = Spending()
        self._runtime = runtime
        self._result = result
        self._recovery = recovery
        self._waits = waits
        self._emit = emit
        self._succession = succession
        self._model = ""
        self._unsaved = False
        self._named: str | None = None
        self._prose: list[str] = []

    @property
    def prose(self) -> str:
        """What the main thread itself has said so far."""
        return "\n".join(self._prose)

    def settle(self, session_cost: float | None) -> None:
        """A child has ended, and its session has cost this much by then."""
        self.spending.report(session_cost)
        self._result.cost_usd = self.spending.total

    async def take(self, conversation: Conversation, text: str) -> Failure | None:
        """One prompt and all that follows from it; returns why it did not end well, if it didn't."""
        failure: Failure | None = None
        complaints: list[str] = []
        until: float | None = None
        cut_off = reported = False
        breaking: asyncio.Task[None] | None = None
        watch = self._watch(conversation)
        looking = asyncio.create_task(self._look_after(watch, conversation), name="flower-outage-watch")
        try:
            async with aclosing(conversation.turn(text)) as messages:
                async for message in messages:
                    until = limit_of(message) or until
                    complaint = api_error_of(message)
                    if complaint:
                        complaints.append(complaint)
                    cut_off = cut_off or task_cut_off(message)
                    if type(message).__name__ == "ResultMessage":
                        reported = True
                        failure, cut_off = _failure_of(message, complaints, until), False
                        complaints = complaints if failure else []
                    self._look_at_store()
                    refusal = self._hear(message, watch)
                    self._see(message, failure)
                    if refusal is not None:
                        conversation.terminate()
                        return refusal
                    if self._is_time(message, conversation, reported):
                        self._succession.begin()
                        breaking = asyncio.create_task(conversation.interrupt(), name="flower-handoff")
        except ChildFailed as error:
            if watch.gave_up:
                return self._outage()
            return failure or Failure("\n".join([*complaints, str(error)]), broken=True)
        finally:
            looking.cancel()
            await asyncio.gather(looking, *([breaking] if breaking else []), return_exceptions=True)
        # A budget that a subagent uses up ends it and says no more: the words before were not the last.
        return failure or (Failure(CUT_OFF) if cut_off else None)

    async def write_handoff(self, conversation: Conversation, task: str) -> Failure | None:
        """The session that is nearly full writes its document; returns why it could not, if it couldn't.

        It is a turn like any other, as long as it takes, but nobody is shown it and the step's text has no part
        of it. ``task`` is what the session was to do.
        """
        aside = StepResult(step=self._result.step)
        writer = Turns(
            self._runtime, aside, self._recovery, self._waits, lambda event: None, self._succession
        )
        writer.spending = self.spending
        failure = await writer.take(conversation, self._succession.prompt)
        self._result.num_turns += aside.num_turns
        self._result.cost_usd = self.spending.total
        if failure is None:
            self._succession.take(writer.prose, task)
        return failure

    def _watch(self, conversation: Conversation) -> OutageWatch:
        return OutageWatch(
            self._runtime.resilience,
            self._runtime.child_environment(),
            self._waits,
            self._runtime.probe,
            lambda: conversation.works_locally,
            lambda: conversation.has_tasks,
        )

    async def _look_after(self, watch: OutageWatch, conversation: Conversation) -> None:
        if self._runtime.resilience.enabled:
            await watch.outlast()
            conversation.terminate()

    def _outage(self) -> Failure:
        host, port = endpoint(self._runtime.child_environment())
        return Failure(f"network error: {host}:{port} is unreachable", broken=True, outage=True)

    def _is_time(self, message: Any, conversation: Conversation, reported: bool) -> bool:
        """Whether to break off for a handoff: only where the model is about to be asked again.

        That is after a tool's result; or, when it has ``reported`` already, where the CLI begins a turn by itself
        with what a subagent brought: one who only dispatches has no other moment at which nobody works. After the
        last word the turn ends by itself, and while a tool or a subagent works that would be lost.
        """
        if not self._succession.due:
            return False
        result = type(message).__name__ == "UserMessage" and not message.parent_tool_use_id
        begins = reported and getattr(message, "subtype", None) == "init"
        return self._succession.urgent or ((result or begins) and not conversation.works_locally)

    def _hear(self, message: Any, watch: OutageWatch) -> Failure | None:
        """Take from a message how the model can be reached; returns the failure if the CLI should not go on trying."""
        answered = type(message).__name__ == "AssistantMessage" and not is_synthetic(message)
        if answered:
            self._recovery.progressed()
        watch.heard(answered)
        retry = retry_of(message)
        if retry is None:
            return None
        if retry.status is None:
            watch.complained()
        elif retry.status == 401:
            # The CLI would try again for minutes, and in vain.
            return Failure(f"API Error: 401 {retry.error}", broken=True)
        else:
            self._waits.begin("overload", OVERLOAD)
        return None

    def _look_at_store(self) -> None:
        """Say that nothing is saved for now when that begins, and that it is again."""
        unsaved = self._runtime.store.unsaved
        if (unsaved is not None) == self._unsaved:
            return
        self._unsaved = unsaved is not None
        words = unsaved if unsaved is not None else SAVED
        self._emit(Event("notice", words.spoken(self._runtime.language), payload=words._asdict()))

    def _see(self, message: Any, failure: Failure | None) -> None:
        """Take from a message what the result needs, and tell the subscriber."""
        session = session_of(message)
        if session is not None:
            self._see_session(session)
        match type(message).__name__:
            case "AssistantMessage" if not message.parent_tool_use_id and not is_synthetic(message):
                self._see_model(message.model)
                self._see_level(context_of(message.usage))
                self._prose += [
                    block.text for block in message.content if type(block).__name__ == "TextBlock"
                ]
            case "ResultMessage":
                self._see_result(message, failure)
                return
        for event in normalize(message):
            self._emit(event)

    def _see_result(self, message: Any, failure: Failure | None) -> None:
        self._result.num_turns += message.num_turns
        self._succession.see_window(window_reported(message.model_usage, self._model))
        own = self.spending.report(message.total_cost_usd)
        self._result.cost_usd = self.spending.total
        # The CLI's report of what a killed owner left behind is a result too, of no turn at all.
        if message.num_turns or message.is_error:
            (event,) = normalize(message)
            about = {**event.payload, "cost_usd": own, "error": failure.text if failure else None}
            self._emit(replace(event, payload=about))

    def _see_model(self, model: str) -> None:
        self._model = model
        told = self._succession.see_model(model)
        if told is not None and model not in self._runtime.other_models:
            self._runtime.other_models.add(model)
            self._emit(told)

    def _see_level(self, level: int) -> None:
        if level:
            self._result.context = level
            self._succession.see_level(level)

    def _see_session(self, session: str) -> None:
        if session == self._result.session_id and self._named == session:
            return
        self._named = session
        self._result.session_id = session
        if self._runtime.on_session is not None:
            self._runtime.on_session(session)


def _failure_of(message: Any, complaints: list[str], until: float | None) -> Failure | None:
    """What a result says went wrong, in its own words; None when all went well."""
    if not message.is_error and message.subtype == "success":
        return None
    said = [*complaints, *(message.errors or ()), message.result or ""]
    text = "\n".join(dict.fromkeys(part.strip() for part in said if part and part.strip()))
    return Failure(text or message.subtype, until=until)
