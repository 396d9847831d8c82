"""What the person said unasked, until the agent looks into its inbox."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from flower.core.events import Event
from flower.core.open_questions import Ask
from flower.core.words import Words

_EMPTY = Words("收件箱是空的。", "The inbox is empty.")
_KEPT = Words("已追加进需求确认书", "added to the brief")
_NOT_KEPT = Words(
    "没有落盘,它可能活不过这一个步骤,要紧的自己记下来",
    "not on disk: it may not outlive this step, so note what matters",
)
_ANSWERED_LATE = Words(
    "你问过「{question}」,后来被打断了。回答是:{answer}",
    "You had asked: {question}. You were interrupted since. The answer is: {answer}",
)


@dataclass
class Mail:
    """What the person said unasked. ``taken``: the agent has read it. ``amended``: the file it was added to."""

    id: str
    text: str
    sent_at: float
    taken: bool = False
    amended: str = ""


class Inbox:
    """The mail of one run, from any thread.

    ``tell`` gets an `Event` of kind ``ask`` when a mail is put in, and when it is read. ``language`` is that of
    the words to the agent. ``mail`` holds everything so far.
    """

    def __init__(self, language: str, tell: Callable[[Event], None]) -> None:
        self.mail: list[Mail] = []
        self._language = language
        self._tell = tell
        self._lock = threading.Lock()  # guards the list; nothing is called or awaited while it is held

    def post(self, words: str, *, amended: str = "") -> Mail:
        """Put words in."""
        with self._lock:
            mail = Mail(f"m{len(self.mail) + 1}", words, time.time(), amended=amended)
            self.mail.append(mail)
        self._tell(_event(mail))
        return mail

    def post_answer(self, ask: Ask) -> None:
        """Put in the answer to a question whose agent was interrupted meanwhile."""
        words = _ANSWERED_LATE.spoken(self._language)
        self.post(words.format(question=ask.question, answer=ask.answer))

    def pending(self) -> list[Mail]:
        """What the agent has not read yet."""
        with self._lock:
            return [mail for mail in self.mail if not mail.taken]

    def read(self) -> str:
        """What the agent's look into it brings; all of it counts as read from now on."""
        with self._lock:
            fresh = [mail for mail in self.mail if not mail.taken]
            for mail in fresh:
                mail.taken = True
        for mail in fresh:
            self._tell(_event(mail))
        letters = [_letter(mail, self._language) for mail in fresh]
        return "\n\n".join(letters) or _EMPTY.spoken(self._language)


def _letter(mail: Mail, language: str) -> str:
    kept = _KEPT if mail.amended else _NOT_KEPT
    return f"{mail.text}\n({kept.spoken(language)})"


def _event(mail: Mail) -> Event:
    state = "delivered" if mail.taken else "queued"
    about = {"kind": "mail", "id": mail.id, "state": state, "amended": mail.amended}
    return Event("ask", mail.text, payload=about, raw=mail)
