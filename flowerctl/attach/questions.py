"""Which question of the agent a person is asked now: one at a time, the oldest first, and always in sight."""

from flower_protocol.events import EventRecord
from flower_protocol.workspaces import Question


class Questions:
    """What is open, as the status and the events tell it, and which question was shown last on this screen."""

    def __init__(self) -> None:
        self._standing: Question | None = None
        self._open: dict[str, None] = {}
        self._settled: set[str] = set()
        self._shown = ""

    @property
    def current(self) -> Question | None:
        """The one that an answer goes to; None once it was answered, here or elsewhere."""
        question = self._standing
        return None if question is None or question.id in self._settled else question

    @property
    def count(self) -> int:
        """How many wait for an answer."""
        known = set(self._open) | ({self._standing.id} if self._standing is not None else set())
        return len(known - self._settled)

    def stands(self, question: Question | None) -> None:
        """The status names the oldest that is open, or none."""
        self._standing = question
        if question is None:
            self._open.clear()

    def waits(self, event: EventRecord) -> bool:
        """Whether the question of this event need not be shown: it is in sight, or it isn't its turn yet."""
        if not is_question(event) or event.payload.get("state") != "asked":
            return False
        asked = str(event.payload.get("id"))
        return asked == self._shown or (self.current is not None and self.current.id != asked)

    def heard(self, event: EventRecord) -> None:
        """Takes in what an event tells of questions; an event that `waits` doesn't put its question in sight."""
        if event.kind in ("run_started", "run_ended"):
            self._open.clear()
            self._settled.clear()
            self._shown = ""
        if event.kind == "resumed":
            self._shown = ""  # what was said about the interrupt stands in between
        if not is_question(event):
            return
        name = str(event.payload.get("id"))
        if event.payload.get("state") != "asked":
            self.settle(name)
            return
        self._shown = self._shown if self.waits(event) else name
        self._settled.discard(name)  # woken again, a run asks again
        self._open[name] = None

    def settle(self, question_id: str) -> None:
        """It was answered or skipped, or its time is over."""
        self._open.pop(question_id, None)
        self._settled.add(question_id)

    def reopen(self, question_id: str) -> None:
        """What was said to it was not taken."""
        self._settled.discard(question_id)

    def lost_from_sight(self) -> None:
        """What was shown last has scrolled by."""
        self._shown = ""

    def to_show(self) -> Question | None:
        """The one to be answered, if it isn't in sight; it is from now on."""
        question = self.current
        if question is None or question.id == self._shown:
            return None
        self._shown = question.id
        return question


def is_question(event: EventRecord) -> bool:
    """Whether the event tells of a question, not of words that somebody said unasked."""
    return event.kind == "ask" and event.payload.get("kind") != "mail"
