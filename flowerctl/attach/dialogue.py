"""The person's side of an attachment: what a typed line or a key does to the conversation."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from flower_protocol.workspaces import Question, State
from flowerctl.attach.commands import (
    Aside,
    GoOn,
    Leave,
    Mistyped,
    Nothing,
    Remark,
    Reply,
    ShowHelp,
    ShowStatus,
    StartOver,
    StopRun,
    understood,
)
from flowerctl.attach.conversation import Conversation
from flowerctl.attach.keys import Effect, Stage, pressed
from flowerctl.attach.outcome import End, Outcome
from flowerctl.attach.surface import Surface
from flowerctl.figures import clock, duration
from flowerctl.language import Texts
from flowerctl.output import Style

STOP_SECONDS: Final = 5.0  # as long as the daemon may take to write a run's last row
_WAITING: Final = {State.OFFLINE: "state_offline", State.LIMITED: "state_limited_unknown"}


class Dialogue:
    """``answering``: somebody can type. Without that, an interrupt would hold the run for ever, and is not offered."""

    def __init__(
        self,
        conversation: Conversation,
        surface: Surface,
        texts: Texts,
        *,
        answering: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._conversation = conversation
        self._surface = surface
        self._texts = texts
        self._answering = answering
        self._clock = clock
        self._stage = Stage.CALM
        self._interrupts_later = False
        self._typing = False
        self._typed_for = ""
        conversation.when_connected = self._connected

    @property
    def stopping(self) -> bool:
        """Ctrl-C was pressed twice."""
        return self._stage is Stage.STOPPING

    def prompt(self) -> str:
        """What stands before the typed text."""
        if self._conversation.on_hold:
            return self._texts("prompt_interrupted")
        if self._question is not None:
            return self._texts("prompt_question")
        return self._texts("prompt_words")

    def waiting_for(self) -> str:
        """Why nothing moves, empty while it does: shown for as long as it lasts."""
        status, now = self._conversation.status, self._clock()
        if status is None:
            return ""
        if not self._conversation.connected:
            return self._texts("daemon_gone")
        if status.state is State.LIMITED and status.until:
            reason = self._texts("state_limited", until=clock(status.until))
            return self._texts("left_to_wait", reason=reason, time=duration(status.until - now))
        name = _WAITING.get(status.state, "")
        if status.state is State.RUNNING and self._conversation.overloaded:
            name = "state_overloaded"
        if not name:
            return ""
        waited = duration(now - self._conversation.since)
        return self._texts("waited", reason=self._texts(name), time=waited)

    def typing(self, typed: str) -> None:
        """The line reads so far. What it answers is settled by its first character, not by what opens after that."""
        question = self._conversation.questions.current
        if typed and not self._typing:
            self._typed_for = question.id if question is not None else ""
        self._typing = bool(typed)

    def line(self, typed: str) -> None:
        """A line was typed, Enter included."""
        status = self._conversation.status
        command = understood(typed, self._question, on_hold=self._conversation.on_hold)
        self._typing = False
        if self._stage is Stage.ARMED:
            self._stage = Stage.CALM
        match command:
            case Nothing():
                return
            case Remark(text):
                self.remark(text)
            case Reply(question_id, text):
                self._conversation.answer(question_id, text)
            case GoOn(text):
                if text:
                    self._surface.tell(f"> {text}", Style.BOLD)
                self._conversation.go_on(text)
            case Aside(text):
                self._aside(text)
            case Leave():
                self.leave()
            case StartOver(text):
                self._conversation.finish(Outcome(End.START_OVER, words=text))
            case ShowStatus():
                if status is not None:
                    self._surface.stands(status)
            case StopRun():
                self._surface.tell(self._texts("stopping"), Style.WARN)
                self._conversation.stop()
            case ShowHelp():
                self._surface.tell(self._texts("help"))
            case Mistyped(word):
                self._surface.tell(self._texts("unknown_command", word=word), Style.WARN)
        self._surface.changed()

    def remark(self, text: str) -> None:
        """Words for the running agent, shown as they were said."""
        self._surface.tell(f"> {text}", Style.BOLD)
        self._conversation.say(text)

    def ctrl_c(self) -> None:
        """Once: interrupt. Twice: stop the run and leave. Once more: don't wait for it."""
        if self._stage is Stage.ARMED and self._answering and not self._conversation.on_hold:
            self._stage = Stage.CALM  # what the first press had held goes on again
        self._stage, effect = pressed(self._stage)
        match effect:
            case Effect.INTERRUPT:
                self._interrupt()
            case Effect.STOP:
                self._stop()
            case Effect.GIVE_UP_WAITING:
                self._unsure()
        self._surface.changed()

    def leave(self) -> None:
        """The run goes on."""
        self._conversation.finish(Outcome(End.LEFT))

    def hang_up(self) -> None:
        """The terminal has gone: leaving, without a word."""
        self._conversation.finish(Outcome(End.HUNG_UP))

    @property
    def _question(self) -> Question | None:
        """What the line answers; None when it was begun before that was asked, for it was meant for something else."""
        question = self._conversation.questions.current
        if question is not None and self._typing and self._typed_for != question.id:
            return None
        return question

    def _aside(self, text: str) -> None:
        words = text[1:].strip()
        if not words:
            self._surface.tell(self._texts("aside_empty"), Style.WARN)
            return
        self._surface.tell(f"> {text}", Style.BOLD)
        if not self._conversation.aside(words):
            self._surface.tell(self._texts("no_asides"), Style.WARN)

    def _interrupt(self) -> None:
        if not self._answering:
            self._surface.tell(self._texts("interrupt_alone"), Style.WARN)
            return
        self._conversation.interrupt()
        if not self._conversation.connected:
            self._interrupts_later = True
            self._surface.tell(self._texts("interrupt_later"), Style.WARN)
            return
        self._on_hold()

    def _connected(self) -> None:
        if self._interrupts_later and self._conversation.on_hold:
            self._on_hold()
        self._interrupts_later = False

    def _on_hold(self) -> None:
        self._surface.tell(self._texts("interrupt_now"), Style.WARN)
        if waiting := self._conversation.questions.count:
            self._surface.tell(self._texts("interrupt_questions", count=waiting))
        self._surface.tell(self._texts("interrupt_what"))

    def _stop(self) -> None:
        self._surface.tell(self._texts("stopping"), Style.WARN)
        self._conversation.stop()
        if self._conversation.connected:
            asyncio.get_running_loop().call_later(STOP_SECONDS, self._unsure)
        else:
            self._unsure()

    def _unsure(self) -> None:
        self._conversation.finish(Outcome(End.UNSURE))
