"""One client attached to one workspace: a place in the journal, and a line.

There is no queue. The sender reads the journal at the client's place and waits until the line has taken that; a
client that stands still costs one chunk, and what came meanwhile stays in the journal. If the journal moves on
beyond its place, the client gets a fresh start.
"""

import asyncio
import logging
from typing import Final

import msgspec
from aiohttp import WSMsgType, web

from flower_protocol.codec import BadFrame, decode_from_client, encode
from flower_protocol.control import (
    Accepted,
    Answer,
    Aside,
    Changed,
    Interrupt,
    Resume,
    Say,
    Seen,
    Stop,
)
from flower_protocol.handshake import Hello, Welcome
from flower_protocol.version import PROTOCOL
from flowerd import wire
from flowerd.facts import own_version
from flowerd.refusal import Refused
from flowerd.snapshot import Position
from flowerd.workspace import Workspace

logger = logging.getLogger(__name__)

CHUNK_BYTES: Final = 256 * 1024
MOST_TAIL: Final = 100_000
REPLIES: Final = 16
CAPABILITIES: Final = ("answer", "aside")


class Attachment:
    """Serves one client from its hello to its end."""

    def __init__(self, line: web.WebSocketResponse, workspace: Workspace, hello: Hello) -> None:
        self.wake = asyncio.Event()
        self.gone = asyncio.Event()
        self._line = line
        self._workspace = workspace
        self._hello = hello
        self._replies: asyncio.Queue[msgspec.Struct] = asyncio.Queue(REPLIES)
        self._cursor = 0
        self._shown = 0
        self._finishing = False

    async def serve(self) -> None:
        """Returns when the client has gone, has been sent away, or `finish` was called and all is sent."""
        self._workspace.enter(self)
        sender = asyncio.create_task(self._send(), name="attachment sender")
        receiver = asyncio.create_task(self._receive(), name="attachment receiver")
        try:
            await asyncio.wait({sender, receiver}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sender, receiver):
                task.cancel()
            ends = await asyncio.gather(sender, receiver, return_exceptions=True)
            self._workspace.leave(self)
            self.gone.set()
        for end in ends:
            # A line that broke is how clients leave; anything else is a bug, and the edge logs it.
            if isinstance(end, Exception) and not isinstance(end, ConnectionError):
                raise end

    def finish(self) -> None:
        """Send what there is, then end: the daemon is about to."""
        self._finishing = True
        self.wake.set()

    # To the client

    async def _send(self) -> None:
        await self._frame(encode(self._welcome()))
        await self._begin()
        while True:
            self.wake.clear()
            sent = [await self._send_replies(), await self._send_events(), await self._send_status()]
            if any(sent):
                continue
            if self._finishing:
                return
            await self.wake.wait()

    def _welcome(self) -> Welcome:
        self._shown = self._workspace.standing.published.version
        return Welcome(
            protocol=PROTOCOL,
            version=own_version(),
            generation=self._workspace.journal.generation,
            status=self._workspace.standing.status(),
            capabilities=CAPABILITIES,
        )

    async def _begin(self) -> None:
        """Find the client's place, or give it one."""
        hello, journal = self._hello, self._workspace.journal
        if hello.generation == journal.generation and hello.cursor is not None:
            self._cursor = max(0, hello.cursor)
            if await journal.read(self._cursor, 1) is not None:
                return
        since = None
        if hello.generation is not None and hello.cursor is not None:
            since = Position(hello.generation, hello.cursor)
        await self._snapshot(since, min(max(0, hello.tail), MOST_TAIL))

    async def _snapshot(self, since: Position | None, tail: int) -> None:
        journal = self._workspace.journal
        fresh = await journal.snapshot(since=since, seen=self._workspace.standing.seen, tail=tail)
        self._cursor = fresh.last_seq
        await self._frame(wire.snapshot(journal.generation, fresh.last_seq, fresh.lines, fresh.omitted))

    async def _send_replies(self) -> bool:
        sent = False
        while not self._replies.empty():
            await self._frame(encode(self._replies.get_nowait()))
            sent = True
        return sent

    async def _send_events(self) -> bool:
        journal = self._workspace.journal
        lines = await journal.read(self._cursor, CHUNK_BYTES)
        if lines is None:
            await self._snapshot(Position(journal.generation, self._cursor), self._hello.tail)
        elif lines:
            # First counted: the client may say that it has seen them before this side comes back to here.
            self._cursor += len(lines)
            await self._frame(wire.happened(lines))
        return lines is None or bool(lines)

    async def _send_status(self) -> bool:
        published = self._workspace.standing.published
        if published.version == self._shown:
            return False
        if not published.status.state.active and self._cursor < published.after:
            return False  # that a run has ended is told after its last event
        self._shown = published.version
        await self._frame(encode(Changed(status=published.status)))
        return True

    async def _frame(self, data: bytes) -> None:
        await self._line.send_frame(data, WSMsgType.TEXT)

    # From the client

    async def _receive(self) -> None:
        async for message in self._line:
            if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                return
            received = decode_from_client(message.data)
            try:
                await self._obey(received)
            except Refused as refused:
                await self._reply(msgspec.structs.replace(refused.failure, id=_identity(received)))

    async def _obey(self, message: msgspec.Struct) -> None:
        workspace, who = self._workspace, self._hello.who
        match message:
            case Say(text=text, id=identity):
                in_brief = await workspace.orders.say(text, identity, who)
                await self._reply(Accepted(id=identity, in_brief=in_brief))
            case Interrupt():
                await workspace.orders.interrupt(who, self)
            case Resume(text=text):
                await workspace.orders.resume(text, who)
            case Stop():
                await workspace.stop(wait_seconds=0)
            case Seen(seq=seq):
                seen = min(seq, self._cursor)
                workspace.standing.saw(Position(workspace.journal.generation, seen))
            case Answer(question_id=question, text=text):
                await workspace.orders.answer(text, question)
                await self._reply(Accepted(id=question))
            case Aside(text=text, id=identity):
                await workspace.orders.aside(text, identity, who)
                await self._reply(Accepted(id=identity))
            case _:
                raise BadFrame(f"not expected here: {getattr(message, 'tag', type(message).__name__)}")

    async def _reply(self, message: msgspec.Struct) -> None:
        # Full when the client doesn't read: then it isn't listened to any more either.
        await self._replies.put(message)
        self.wake.set()


def _identity(message: msgspec.Struct) -> str:
    """By what the client knows its message again; nothing for an order."""
    match message:
        case Say(id=identity) | Aside(id=identity) | Answer(question_id=identity):
            return identity
        case _:
            return ""
