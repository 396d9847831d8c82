"""A client for tests: the protocol's records over the daemon's socket, and no more."""

import asyncio
import io
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import aiohttp
import msgspec

from flower_protocol.codec import MAX_FRAME, decode, decode_from_daemon, encode
from flower_protocol.control import Changed, Failure, Happened, Unknown
from flower_protocol.events import EventRecord
from flower_protocol.handshake import Hello, Snapshot, Welcome
from flower_protocol.workspaces import Place, Status, Wake, WorkspaceStatus

T = TypeVar("T")


class Talk:
    """Single requests, and attachments, over one socket."""

    def __init__(self, socket: Path) -> None:
        self._session = aiohttp.ClientSession(
            base_url="http://flower", connector=aiohttp.UnixConnector(path=str(socket))
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def status(self) -> Status:
        return await self._get("/v1/status", Status)

    async def wake(self, place: Place) -> Wake:
        query = {"workspace": place.workspace, "run_dir": place.run_dir}
        async with self._session.get("/v1/wake", params=query) as response:
            return await _answer(response, Wake)

    async def post(self, path: str, message: msgspec.Struct | None, kind: type[T]) -> T:
        """The answer; raises `Refusal` with the `Failure`."""
        data = encode(message) if message is not None else b""
        async with self._session.post(path, data=data) as response:
            return await _answer(response, kind)

    async def attach(self, hello: Hello | bytes) -> "Attached":
        line = await self._session.ws_connect("/v1/attach", max_msg_size=MAX_FRAME, compress=0)
        await line.send_bytes(hello if isinstance(hello, bytes) else encode(hello))
        return Attached(line, hello.cursor or 0 if isinstance(hello, Hello) else 0)

    async def raw(self, method: str, path: str, data: bytes = b"") -> tuple[int, bytes]:
        async with self._session.request(method, path, data=io.BytesIO(data)) as response:
            return response.status, await response.read()

    async def _get(self, path: str, kind: type[T]) -> T:
        async with self._session.get(path) as response:
            return await _answer(response, kind)


class Attached:
    """One attachment, with all that came over it so far."""

    def __init__(self, line: aiohttp.ClientWebSocketResponse, cursor: int) -> None:
        self.line = line
        self.messages: list[msgspec.Struct] = []
        self.events: list[EventRecord] = []
        self.status: WorkspaceStatus | None = None
        self.generation = ""
        self.cursor = cursor
        self._looked = 0
        self.closed_with: int | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def send(self, message: msgspec.Struct) -> None:
        await self.line.send_bytes(encode(message))

    async def receive(self, timeout: float = 10.0) -> msgspec.Struct | None:
        """The next message; None when the line is closed."""
        async with asyncio.timeout(timeout):
            frame = await self.line.receive()
        if frame.type not in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            self.closed_with = self.line.close_code
            return None
        message = decode_from_daemon(frame.data)
        assert not isinstance(message, Unknown)
        self.messages.append(message)
        match message:
            case Welcome(generation=generation, status=status):
                self.generation, self.status = generation, status
            case Snapshot(events=events, last_seq=last_seq, generation=generation):
                self.generation, self.cursor = generation, last_seq
                self.events += events
            case Happened(events=events):
                assert [each.seq for each in events] == list(
                    range(self.cursor + 1, self.cursor + 1 + len(events))
                )
                self.cursor = events[-1].seq
                self.events += events
            case Changed(status=status):
                self.status = status
        return message

    async def until(self, kind: type[T], timeout: float = 10.0) -> T:
        """The next message of this type."""
        while (message := await self.receive(timeout)) is not None:
            if isinstance(message, kind):
                return message
        raise AssertionError(f"closed before a {kind.__name__} came: {self.messages[-3:]}")

    async def until_event(self, kind: str, timeout: float = 10.0) -> EventRecord:
        """The next event of this kind, or one that came already and was not asked for yet."""
        while True:
            while self._looked < len(self.events):
                event = self.events[self._looked]
                self._looked += 1
                if event.kind == kind:
                    return event
            if await self.receive(timeout) is None:
                raise AssertionError(f"closed before {kind} came: {self.events[-3:]}")

    async def until_closed(self, timeout: float = 10.0) -> None:
        while await self.receive(timeout) is not None:
            pass

    def stand_still(self) -> None:
        """Take nothing from the line any more, as a stopped process would."""
        self._transport.pause_reading()

    def go_on(self) -> None:
        self._transport.resume_reading()

    def vanish(self) -> None:
        """Drop the line without a word, as a killed process would."""
        self._transport.abort()

    async def close(self) -> None:
        await self.line.close()

    @property
    def _transport(self) -> asyncio.Transport:
        connection = self.line._conn
        assert connection is not None and connection.transport is not None
        return connection.transport


class Refusal(Exception):
    """A request met a `Failure`."""

    def __init__(self, status: int, failure: Failure) -> None:
        super().__init__(f"{status} {failure}")
        self.status = status
        self.code = failure.code
        self.values = failure.values


async def _answer(response: aiohttp.ClientResponse, kind: type[T]) -> T:
    data = await response.read()
    if response.status != 200:
        raise Refusal(response.status, decode(data, Failure))
    return decode(data, kind)
