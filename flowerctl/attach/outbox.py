"""What a person said in an attachment, until a daemon has it: kept over connections, said again, given back.

Words go out with an id of their own and stay until the daemon has accepted them; said again after a reconnect, they
count once. An end of a hold without words has no id; what shows that it was heard is that the run goes on.
"""

import asyncio
import uuid
from collections import deque

from flower_protocol.control import Answer, Aside, FromClient, Interrupt, Resume, Say, Stop
from flower_protocol.events import EventRecord


class Outbox:
    """In the order in which it was said. ``work`` is set when there is something to send."""

    def __init__(self) -> None:
        self.work = asyncio.Event()
        self._fewer = asyncio.Event()
        self._queue: deque[FromClient] = deque()
        self._unaccepted: dict[str, Say | Answer | Aside] = {}
        self._unheard: Resume | None = None
        self._own_ids: set[str] = set()

    # -- what the person says

    def say(self, text: str) -> None:
        words = Say(text=text, id=uuid.uuid4().hex)
        self._own_ids.add(words.id)
        self._unaccepted[words.id] = words
        self._put(words)

    def answer(self, question_id: str, text: str) -> None:
        reply = Answer(question_id=question_id, text=text)
        self._unaccepted[question_id] = reply
        self._put(reply)

    def aside(self, text: str) -> None:
        question = Aside(text=text, id=uuid.uuid4().hex)
        self._unaccepted[question.id] = question
        self._put(question)

    def interrupt(self) -> None:
        self._put(Interrupt())

    def resume(self) -> None:
        self._unheard = Resume()
        self._put(self._unheard)

    def stop(self) -> None:
        self._put(Stop())

    # -- on its way

    def first(self) -> FromClient | None:
        """What is to be sent next; None when there is nothing."""
        return self._queue[0] if self._queue else None

    def sent(self) -> None:
        """`first` is on the line."""
        self._queue.popleft()
        self._fewer.set()

    def begin_again(self) -> None:
        """There is a new connection: what was not accepted over the last one is said again, first."""
        again = [said for said in self._unaccepted.values() if said not in self._queue]
        self._queue.extendleft(reversed(again))
        if self._unheard not in self._queue:
            self._unheard = None  # that hold has ended with its connection
        self.work.set()

    @property
    def interrupts(self) -> bool:
        """An interrupt is still to be sent."""
        return Interrupt() in self._queue

    # -- what became of it

    def settled(self, said_id: str) -> Say | Answer | Aside | None:
        """It was accepted or refused, and is kept no longer; None for what was not said here."""
        self._fewer.set()
        return self._unaccepted.pop(said_id, None)

    def heard_resume(self) -> None:
        """The run goes on."""
        self._unheard = None
        self._fewer.set()

    def owns(self, event: EventRecord) -> bool:
        """Whether the remark of this event was said here with an id."""
        return event.payload.get("id") in self._own_ids

    async def emptied(self) -> None:
        """Returns when everything that was said is with a daemon."""
        while self._queue or self._unaccepted or self._unheard:
            self._fewer.clear()
            await self._fewer.wait()

    def unsent(self) -> tuple[str, ...]:
        """The words that no daemon has accepted."""
        return tuple(said.text for said in self._unaccepted.values() if said.text)

    def _put(self, message: FromClient) -> None:
        self._queue.append(message)
        self.work.set()
