"""A conversation against a line in memory, and what its daemon says."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

import pytest

from flower_protocol.control import Changed, FromClient, FromDaemon, Happened
from flower_protocol.events import EventRecord
from flower_protocol.handshake import Snapshot, Welcome
from flower_protocol.workspaces import Place, Question, State, WorkspaceStatus
from flowerctl.attach.conversation import Conversation
from flowerctl.attach.dialogue import Dialogue
from flowerctl.attachment import Attachment, Lost
from flowerctl.language import Texts
from flowerctl.output import Style
from tests.support.processes import eventually

PLACE = Place(workspace="/w", run_dir="/w/runs")
ANSWERING = "你的回答 (回车=跳过,让它自己判断) > "
RUNNING = WorkspaceStatus(workspace="/w", run_dir="/w/runs", state=State.RUNNING, woke=1)


class Line(Attachment):
    """An attachment without a socket: the test puts in what the daemon says."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[FromDaemon | Exception] = asyncio.Queue()
        self.sent: list[FromClient] = []
        self.closed = False

    async def send(self, message: FromClient) -> None:
        self.sent.append(message)

    async def close(self) -> None:
        self.closed = True

    async def receive(self) -> FromDaemon:
        message = await self.incoming.get()
        if isinstance(message, Exception):
            raise message
        return message

    def of(self, kind: type) -> list[Any]:
        return [each for each in self.sent if isinstance(each, kind)]


class Recorder:
    """A surface that remembers."""

    def __init__(self) -> None:
        self.shown: list[EventRecord] = []
        self.told: list[str] = []
        self.asked: list[str] = []

    def show(self, events: Sequence[EventRecord], *, live: bool, own: Collection[int] = ()) -> None:
        self.shown.extend(event for event in events if event.seq not in own)

    async def room(self) -> None:
        return

    def tell(self, text: str, style: Style = Style.PLAIN) -> None:
        self.told.append(text)

    def asks(self, question: Question) -> None:
        self.asked.append(question.id)

    def stands(self, status: WorkspaceStatus) -> None:
        self.told.append(status.state.value)

    def changed(self, status: WorkspaceStatus | None = None) -> None:
        return


class Talk:
    """A conversation with one connection at a time."""

    def __init__(self, **options: Any) -> None:
        self.surface = Recorder()
        explain = {"explain": lambda failure: failure.code}
        self.conversation = Conversation(
            PLACE, self.surface, Texts("zh"), **explain | {"who": "me@tty"} | options
        )
        self.now = 0.0
        self.dialogue = Dialogue(self.conversation, self.surface, Texts("zh"), clock=lambda: self.now)
        self.line = Line()
        self._task: asyncio.Task[None] | None = None

    async def connect(
        self, status: WorkspaceStatus = RUNNING, generation: str = "g1", capabilities: tuple[str, ...] = ()
    ) -> Line:
        self.line = Line()
        welcome = Welcome(
            protocol=1, version="1", generation=generation, status=status, capabilities=capabilities
        )
        self._task = asyncio.create_task(self.conversation.converse(self.line, welcome), name="converse")
        await eventually(lambda: self.conversation.connected)
        return self.line

    async def hear(self, *messages: FromDaemon) -> None:
        for message in messages:
            await self.line.incoming.put(message)
        await eventually(self.line.incoming.empty)
        await asyncio.sleep(0)

    async def lose(self) -> None:
        await self.line.incoming.put(Lost(orderly=False))
        assert self._task is not None
        with pytest.raises(Lost):
            await self._task

    async def end(self) -> None:
        assert self._task is not None
        await self._task


def event(seq: int, kind: str = "text", text: str = "", **payload: Any) -> EventRecord:
    return EventRecord(seq=seq, at=float(seq), kind=kind, text=text, payload=payload)


def happened(*numbers: int) -> Happened:
    return Happened(events=tuple(event(number) for number in numbers))


def snapshot(*numbers: int, generation: str = "g1", omitted: int = 0) -> Snapshot:
    events = tuple(event(number) for number in numbers)
    last = max([0, *numbers])
    return Snapshot(generation=generation, last_seq=last, events=events, omitted=omitted)


def shown(talk: Talk) -> list[int]:
    return [each.seq for each in talk.surface.shown]


def asking(question_id: str = "q1", *options: str) -> WorkspaceStatus:
    question = Question(id=question_id, text="要哪种?", options=options)
    return WorkspaceStatus(workspace="/w", run_dir="/r", state=State.ASKING, question=question)


def asked(seq: int, question_id: str, state: str = "asked", **payload: Any) -> EventRecord:
    about = {"kind": "question", "id": question_id, "state": state} | payload
    return EventRecord(seq=seq, at=float(seq), kind="ask", text="要哪种?", payload=about)


def standing(state: State, **about: Any) -> Changed:
    return Changed(status=WorkspaceStatus(workspace="/w", run_dir="/r", state=state, **about))
