"""One attachment as the person means it: it outlives connections, and shows each event once whatever happens."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final

from flower_protocol.control import (
    Accepted,
    Answer,
    Aside,
    Changed,
    Failure,
    FromDaemon,
    Happened,
    Say,
    Unknown,
)
from flower_protocol.events import EventRecord
from flower_protocol.handshake import Hello, Snapshot, Welcome
from flower_protocol.workspaces import Place, State, WorkspaceStatus
from flowerctl.attach.bookmark import Bookmark
from flowerctl.attach.exchange import Exchange
from flowerctl.attach.outbox import Outbox
from flowerctl.attach.outcome import End, Outcome
from flowerctl.attach.questions import Questions
from flowerctl.attach.surface import Surface
from flowerctl.attachment import Attachment, Lost
from flowerctl.client import Refused
from flowerctl.language import Texts
from flowerctl.output import Style
from flowerctl.sanitize import clean_line

CHUNK: Final = 100  # events shown in one go: between two of them the keyboard gets its turn
SETTLE_SECONDS: Final = 1.5  # a daemon that just came up may be about to go on with the run by itself
# The connection is closed over these, and another one would be too.
_HOPELESS: Final = frozenset({"bad-frame", "too-large", "client-older", "daemon-older"})
# That question is not open any more, whoever saw to it.
_OVER: Final = frozenset({"already-answered", "not-waiting", "no-question", "not-running"})
# By what is known of the brief.
_RECEIPTS: Final = {True: "received", False: "received_loose", None: "received_only"}
_FAILURES: Final = {State.FAILED: "run_failed", State.LOGIN: "login_refused"}


class Conversation:
    """What was said, heard and shown in one attachment to ``place``.

    ``generation`` and ``cursor`` are where to begin; without them the daemon begins with its latest events.
    """

    def __init__(
        self,
        place: Place,
        surface: Surface,
        texts: Texts,
        *,
        explain: Callable[[Failure], str],
        generation: str | None = None,
        cursor: int | None = None,
        who: str = "",
    ) -> None:
        self.place = place
        self.status: WorkspaceStatus | None = None
        self.since = 0.0  # in epoch seconds: it has waited, or stood as it does, since then
        self.overloaded = False
        self.on_hold = False
        self.connected = False
        self.questions = Questions()
        self.when_connected: Callable[[], None] = lambda: None
        self.outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._surface = surface
        self._texts = texts
        self._explain = explain
        self._bookmark = Bookmark(generation, cursor)
        self._who = who
        self._outbox = Outbox()
        self._hold_awaited = False
        self._capabilities: tuple[str, ...] = ()
        self._ended: EventRecord | None = None
        self._settling: asyncio.TimerHandle | None = None
        self._showing = False

    # -- what the person does

    def say(self, text: str) -> None:
        """A remark; its receipt is shown when the daemon has it on disk."""
        self._outbox.say(text)

    def answer(self, question_id: str, text: str) -> None:
        """To an open question; it counts as answered from now on, and what became of it is shown when it happens."""
        self.questions.settle(question_id)
        self._outbox.answer(question_id, text)

    def aside(self, text: str) -> bool:
        """A side question; False when this daemon takes none."""
        if "aside" not in self._capabilities:
            return False
        self._outbox.aside(text)
        return True

    def interrupt(self) -> None:
        self.on_hold = self._hold_awaited = True
        self._outbox.interrupt()

    def go_on(self, text: str) -> None:
        """Ends the hold, with the words if there are any."""
        self.on_hold = self._hold_awaited = False
        if text:
            self._outbox.say(text)  # anybody's words end a hold
        else:
            self._outbox.resume()

    def stop(self) -> None:
        self._outbox.stop()

    def finish(self, outcome: Outcome) -> None:
        """Ends the attachment; the first outcome counts."""
        if not self.outcome.done():
            self.outcome.set_result(outcome)

    def unsent(self) -> tuple[str, ...]:
        """The words that no daemon has accepted."""
        return self._outbox.unsent()

    # -- one connection

    def hello(self, version: str) -> Hello:
        """The first words of a connection: where this side stands."""
        return Hello(
            place=self.place,
            version=version,
            generation=self._bookmark.generation,
            cursor=self._bookmark.cursor,
            who=self._who,
        )

    async def converse(self, attachment: Attachment, welcome: Welcome) -> None:
        """Hears and says all there is, until the connection ends (`Lost`) or the outcome is known."""
        self._begin(welcome)
        exchange = Exchange(attachment, self._outbox, self._bookmark, self._hear)
        try:
            await exchange.until(self.outcome)
        finally:
            self.connected = False
            reason = await exchange.close()
        if reason is not None and not self.outcome.done():
            raise reason

    def _begin(self, welcome: Welcome) -> None:
        self.connected = True
        self._capabilities = welcome.capabilities
        self._outbox.begin_again()
        if not self._outbox.interrupts:
            self._hold_awaited = False  # a hold ends with the connection that asked for it
        self._stands(welcome.status)
        self.when_connected()

    # -- what was heard

    async def _hear(self, message: FromDaemon | Unknown) -> None:
        match message:
            case Snapshot():
                await self._start_afresh(message)
            case Happened():
                await self._take(message.events, live=True)
            case Changed():
                self._stands(message.status)
                self._put_question()
            case Accepted():
                self._accepted(message)
            case Failure():
                self._failed(message)
            case _:
                pass  # a newer daemon says more than this client knows

    async def _start_afresh(self, snapshot: Snapshot) -> None:
        shown = self._bookmark.shown_of(snapshot.generation)
        if snapshot.omitted:
            self._surface.tell(self._texts("omitted", count=snapshot.omitted), Style.DIM)
        self._bookmark.begin(snapshot.generation)
        await self._take([each for each in snapshot.events if shown is None or each.seq > shown], live=False)
        self._bookmark.cursor = snapshot.last_seq
        if self.status is not None:  # what lies behind may speak of questions that nobody asks any more
            self.questions.stands(self.status.question)
        self._put_question()

    async def _take(self, events: Sequence[EventRecord], *, live: bool) -> None:
        self._showing = True
        for start in range(0, len(events), CHUNK):
            chunk = events[start : start + CHUNK]
            own = set()
            for event in chunk:
                if self._own(event) or self.questions.waits(event):
                    own.add(event.seq)
                self.questions.heard(event)
                self._note(event)
            self._surface.show(chunk, live=live, own=own)
            self._bookmark.move(chunk[-1].seq)
            await self._surface.room()
            await asyncio.sleep(0)
        self._showing = False
        if live:
            self._put_question()
        elif events and events[-1].kind != "ask":
            self.questions.lost_from_sight()
        self._surface.changed()
        if live and self._ended is not None:
            self.finish(Outcome(End.ENDED, event=self._ended))

    def _put_question(self) -> None:
        question = self.questions.to_show()
        if question is not None:
            self._surface.asks(question)
            self._surface.changed()

    def _own(self, event: EventRecord) -> bool:
        # What was typed here stands on the screen already, with its receipt.
        if event.kind == "remark" and self._outbox.owns(event):
            return True
        mine = bool(self._who) and event.payload.get("who") == self._who
        return mine and event.kind == "interrupted" and self._hold_awaited

    def _note(self, event: EventRecord) -> None:
        match event.kind:
            case "run_started":
                self._ended, self.overloaded = None, False
                self._hold_ends()
            case "run_ended":
                self._ended, self.overloaded = event, False
                self._hold_ends()
            case "retry" if "waiting" in event.payload:
                self.overloaded, self.since = event.payload["waiting"] == "overload", event.at
            case "interrupted":
                self._hold_awaited, self.on_hold = False, True
            case "resumed":
                self._outbox.heard_resume()
                self._hold_ends()
            case "ask" if event.payload.get("state") != "asked":
                self._outbox.settled(str(event.payload.get("id")))  # answered, here or elsewhere
            case _:
                pass

    def _hold_ends(self) -> None:
        # Not the one that was just asked for: what comes before the daemon confirms it is older.
        if not self._hold_awaited:
            self.on_hold = False

    def _stands(self, status: WorkspaceStatus) -> None:
        if self.status is None or self.status.state is not status.state:
            self.since = status.updated_at or time.time()
        self.status = status
        self.questions.stands(status.question)
        self._surface.changed(status)
        self._settle(active=status.state.active)

    def _settle(self, *, active: bool) -> None:
        if self._settling is not None:
            self._settling.cancel()
            self._settling = None
        if not active:
            loop = asyncio.get_running_loop()
            self._settling = loop.call_later(SETTLE_SECONDS, self._settled)

    def _settled(self) -> None:
        """Nothing runs, and nothing more came: how it ended has to be read from where the workspace stands."""
        if self.status is None or not self.connected:
            return
        if self._showing:
            self._settle(active=False)
            return
        end = End.CUT_OFF if self.status.state is State.INTERRUPTED else End.ENDED
        said = _FAILURES.get(self.status.state)
        reason = self._texts(said, reason=clean_line(self.status.error or "?")) if said else ""
        self.finish(Outcome(end, event=self._ended, reason=reason))

    def _accepted(self, accepted: Accepted) -> None:
        match self._outbox.settled(accepted.id):
            case Say():
                self._surface.tell(self._texts(_RECEIPTS[accepted.in_brief]), Style.GOOD)
            case Aside():
                self._surface.tell(self._texts("aside_begun"), Style.DIM)
            case _:
                pass  # what became of an answer is an event

    def _failed(self, failure: Failure) -> None:
        said = self._outbox.settled(failure.id)
        if said is None:
            self._refused(failure)
            return
        if isinstance(said, Answer) and failure.code not in _OVER:
            self.questions.reopen(said.question_id)
        reason = self._explain(failure)
        name = "not_taken" if said.text else "skip_not_taken"
        self._surface.tell(self._texts(name, reason=reason, text=said.text), Style.WARN)

    def _refused(self, failure: Failure) -> None:
        if failure.code == "shutting-down":
            raise Lost(orderly=True)
        if failure.code in _HOPELESS:
            self.finish(Outcome(End.REFUSED, error=Refused(failure)))
        elif failure.code != "not-running":  # that is an order which came too late: the end is on its way
            self._surface.tell(f"! {self._explain(failure)}", Style.WARN)
