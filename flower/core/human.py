"""The channel between a run and its person: questions that wait for an answer, and words that nobody asked for.

A question and its answer are in ``问答记录.md`` before anybody hears of them, so a kill at any moment loses neither.
"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from flower.core.documents import ADDED_MIDWAY, Brief
from flower.core.events import Event
from flower.core.human_log import Entry, QuestionLog
from flower.core.inbox import Inbox, Mail
from flower.core.open_questions import Ask, OpenQuestions, State
from flower.core.words import Words, language_of

__all__ = ["DECLINED", "INVALID", "OVER_BUDGET", "TIMEOUT", "Ask", "HumanChannel", "Mail"]

logger = logging.getLogger(__name__)

_OVER_BUDGET = Words(
    "提问额度已用完。不要再问了 —— 把剩下的不确定项写进「未知与假设」那一段,按你自己的判断继续。",
    "There are no questions left. Don't ask any more: write what is still unclear under 未知与假设, and go on by your"
    " own judgement.",
)
_TIMEOUT = Words(
    "无人应答。按你自己的判断继续,并把这个问题和你采用的假设写进「未知与假设」那一段。"
    "不要重复提问,也不要停在这里。",
    "Nobody answered. Go on by your own judgement, and write this question and what you assume under 未知与假设."
    " Don't ask again, and don't stop here.",
)
_DECLINED = Words(
    "对方跳过了这个问题。按你自己的判断继续,并把假设写进「未知与假设」。",
    "They skipped this question. Go on by your own judgement, and write what you assume under 未知与假设.",
)
_INVALID = Words("问题是空的。把问题写清楚再问。", "The question is empty. Write down clearly what you ask.")
OVER_BUDGET, TIMEOUT, DECLINED, INVALID = _OVER_BUDGET.zh, _TIMEOUT.zh, _DECLINED.zh, _INVALID.zh


class HumanChannel:
    """One run's line to its person.

    ``on_event`` gets an `Event` of kind ``ask`` for each question, outcome and remark. ``max_asks``: how many
    questions an agent may ask, None for as many as it likes. ``timeout_s``: how long a question waits; None for
    ever, 0 or less not at all: it falls through at once, and nobody is bothered. ``log_path`` is the page where
    questions and answers are kept, ``amend_path`` the brief that takes up what the person adds. The three texts
    are what the agent is told instead of an answer, `OVER_BUDGET`, `TIMEOUT` and `DECLINED` by default.
    ``language`` (zh or en; None: by ``FLOWER_LANG``) is that of the words to the agent.

    ``asks`` and ``mail`` hold everything so far, ``ui_errors`` what the subscriber raised.
    """

    def __init__(
        self,
        *,
        on_event: Callable[[Event], None] | None = None,
        max_asks: int | None = None,
        timeout_s: float | None = 1800.0,
        log_path: Path | str | None = None,
        amend_path: Path | str | None = None,
        over_budget_text: str | None = None,
        timeout_text: str | None = None,
        declined_text: str | None = None,
        language: str | None = None,
    ) -> None:
        self.on_event = on_event
        self.language = language or language_of(os.environ)
        self.max_asks = max_asks
        self.timeout_s = timeout_s
        self.amend_path = None if amend_path is None else Path(amend_path)
        self.asks: list[Ask] = []
        self.ui_errors: list[str] = []
        self._log = None if log_path is None else QuestionLog(log_path)
        self._texts: dict[State, str] = {
            "over_budget": over_budget_text or _OVER_BUDGET.spoken(self.language),
            "timeout": timeout_text or _TIMEOUT.spoken(self.language),
            "declined": declined_text or _DECLINED.spoken(self.language),
            "invalid": _INVALID.spoken(self.language),
        }
        self._questions = OpenQuestions(self._keep_outcome, self._announce)
        self._inbox = Inbox(self.language, self._tell)
        # Settled when their agent had been interrupted; of the loop's thread.
        self._unheard: dict[str, Ask] = {}
        # Guards the questions and what is below; nothing is awaited while it is held.
        self._lock = threading.Lock()
        self._number: int | None = None
        self._counted = 0
        self._complained = False

    @property
    def log_path(self) -> Path | None:
        return None if self._log is None else self._log.path

    @property
    def mail(self) -> list[Mail]:
        return self._inbox.mail

    @property
    def remaining(self) -> int:
        """How many questions are left; -1 when there is no limit."""
        return -1 if self.max_asks is None else max(0, self.max_asks - self._counted)

    # Who asks

    async def ask(self, question: str, options: Sequence[str] | None = None, *, counted: bool = True) -> Ask:
        """Ask, and wait for the outcome, which is in the `Ask` that comes back. Raises only when cancelled.

        An interrupt leaves a question open, and the agent comes back to it: it is then waited for, not asked again,
        and what was answered meanwhile is not asked again either. Not ``counted``, it is asked whatever the quota
        says: the flow's own questions.
        """
        words = question.strip()
        unheard = self._unheard.pop(words, None)
        if unheard is not None:
            return unheard
        waiting = self._questions.same(words)
        if waiting is None:
            ask = await asyncio.to_thread(self._new, words, list(options or ()), counted)
            if ask.state != "asked":
                self._tell_of(ask)
                return ask
            waiting = self._questions.put(ask, self.timeout_s)
            self._tell_of(ask)
        await self._questions.outcome(waiting)
        return waiting.ask

    def spoken(self, ask: Ask) -> str:
        """What the agent is told of a question's outcome."""
        return self._texts.get(ask.state) or ask.answer

    # Who answers

    def pending(self) -> list[Ask]:
        """The questions that wait, the oldest first."""
        return self._questions.asks()

    async def next_ask(self, timeout: float | None = None) -> Ask | None:
        """The next question that waits and was not given out here before; None after ``timeout`` seconds."""
        try:
            async with asyncio.timeout(timeout):
                return await self._questions.next()
        except TimeoutError:
            return None

    def answer(self, id: str, text: str) -> bool:
        """Answer a question; False when it doesn't wait (any more). Blank words decline it. From any thread.

        When this returns, the answer is on disk. If its agent was interrupted meanwhile, it goes to the inbox.
        """
        words = text.strip()
        return self._questions.settle(id, "answered", words) if words else self.decline(id)

    def decline(self, id: str, reason: str = "") -> bool:
        """Leave a question to the agent's own judgement; False when it doesn't wait. From any thread."""
        return self._questions.settle(id, "declined", reason.strip())

    def close(self, reason: str = "") -> None:
        """Decline whatever is open: nobody is there any more who asks. From any thread."""
        for ask in self.pending():
            self.decline(ask.id, reason)

    # Who speaks unasked

    def send(self, text: str) -> Mail | None:
        """Words for the agent's inbox, also added to the brief; None for blank ones. From any thread."""
        words = text.strip()
        if not words:
            return None
        self._keep(lambda log: log.say(words))
        return self._inbox.post(words, amended=str(self.amend_path) if self.amend(words) else "")

    def amend(self, text: str, *, label: str = ADDED_MIDWAY) -> bool:
        """Add words to the brief; whether they stand there now. What it said before stays as it was."""
        if self.amend_path is None or not text.strip():
            return False
        try:
            Brief().append(text, label=label, path=self.amend_path)
        except OSError as error:
            self._complain(self.amend_path, error)
            return False
        return True

    def pending_mail(self) -> list[Mail]:
        """What the agent has not read yet."""
        return self._inbox.pending()

    def read_mail(self) -> str:
        """What the agent's look into its inbox brings; all of it counts as read from now on."""
        return self._inbox.read()

    # What was said

    def transcript(self) -> str:
        """The questions of this channel and their outcomes, as text."""
        asks = (f"{ask.id} {ask.question}\n[{ask.state}] {ask.answer}".rstrip() for ask in self.asks)
        return "\n\n".join(asks)

    def begin_chapter(self) -> None:
        """Another matter begins: `asked_before` forgets what was asked about the last one."""
        self._keep(lambda log: log.begin_chapter())

    def asked_before(self) -> list[Entry]:
        """The questions of this chapter and what became of them, whichever process asked them."""
        if self._log is None:
            return []
        try:
            return self._log.chapter()
        except OSError as error:
            self._complain(self._log.path, error)
            return []

    def mcp_servers(self, *, inbox: bool = True) -> dict[str, Any]:
        """The tools ``mcp__human__ask`` and, with ``inbox``, ``mcp__human__inbox``, as an `AgentSpec` takes them."""
        from flower.core.human_tools import human_server

        return {"human": human_server(self, inbox=inbox)}

    # A new question

    def _new(self, words: str, options: list[str], counted: bool) -> Ask:
        """A question with its number, written down; one that nobody is asked has its outcome already."""
        before = self.asked_before() if words else []
        with self._lock:
            again = self._left_open(words, before)
            ask = Ask(f"q{again or self._next_number()}", words, options, time.time())
            ask.state = self._fate(words, counted)
            if ask.state != "asked":
                ask.settled_at = ask.asked_at
            if counted and ask.state in ("asked", "timeout"):
                self._counted += 1
            self.asks.append(ask)
        if words and again is None:
            self._keep(lambda log: log.ask(_number(ask), words, options))
        if words and ask.state != "asked":
            self._keep_outcome(ask)
        return ask

    def _fate(self, words: str, counted: bool) -> State:
        if not words:
            return "invalid"
        if counted and self.remaining == 0:
            return "over_budget"
        return "timeout" if self.timeout_s is not None and self.timeout_s <= 0 else "asked"

    def _left_open(self, words: str, before: list[Entry]) -> int | None:
        """The number of the same question that a process before this one died over; None if there is none."""
        here = {ask.id for ask in self.asks}
        left = (entry.number for entry in before if not entry.state and entry.question == words)
        return next((number for number in left if f"q{number}" not in here), None)

    def _next_number(self) -> int:
        # It goes on where the log ended: an answer that comes late must not meet another question of its number.
        if self._number is None:
            self._number = 0
            if self._log is not None:
                with suppress(OSError):
                    self._number = self._log.highest()
        self._number += 1
        return self._number

    # What the page keeps

    def _keep_outcome(self, ask: Ask) -> None:
        self._keep(lambda log: log.settle(_number(ask), ask.state, ask.answer))

    def _keep(self, write: Callable[[QuestionLog], None]) -> None:
        if self._log is None:
            return
        try:
            write(self._log)
        except OSError as error:
            self._complain(self._log.path, error)

    def _complain(self, path: Path, error: OSError) -> None:
        """Say once that something can't be kept; the run goes on."""
        logger.warning("could not use %s: %s", path, error)
        if self._complained:
            return
        self._complained = True
        words = Words(f"{path} 写不进:{error.strerror}。", f"could not write {path}: {error.strerror}.")
        self._tell(Event("notice", words.spoken(self.language), payload=words._asdict()))

    # What the subscriber hears

    def _announce(self, ask: Ask, awaited: bool) -> None:
        self._tell_of(ask)
        if awaited:
            return
        self._unheard[ask.question] = ask
        if ask.state == "answered":
            self._inbox.post_answer(ask)

    def _tell_of(self, ask: Ask) -> None:
        about = {
            "kind": "question",
            "id": ask.id,
            "options": list(ask.options),
            "state": ask.state,
            "answer": ask.answer,
            "remaining": self.remaining,
            "asked_at": ask.asked_at,
        }
        self._tell(Event("ask", ask.question, payload=about, raw=ask))

    def _tell(self, event: Event) -> None:
        if self.on_event is None:
            return
        try:
            self.on_event(event)
        except Exception as error:
            # A subscriber is a guest: what it raises must not cost the answer.
            logger.exception("a subscriber failed on an event of kind %s", event.kind)
            self.ui_errors.append(f"{type(error).__name__}: {error}")


def _number(ask: Ask) -> int:
    return int(ask.id.removeprefix("q"))
