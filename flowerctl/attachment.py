"""What stays connected to the daemon: one WebSocket, from its first words on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flower_protocol.codec import MAX_FRAME, BadFrame, decode_from_daemon, encode
from flower_protocol.control import Failure, FromClient, FromDaemon, Unknown
from flower_protocol.handshake import Hello, Welcome
from flower_protocol.version import speaks
from flowerctl.client import REQUEST_SECONDS, Refused, Unanswered, connected

if TYPE_CHECKING:
    from aiohttp import ClientWebSocketResponse

_HEARTBEAT_SECONDS: Final = 10.0  # a connection that only looks open is noticed within this
_ORDERLY_CLOSES: Final = frozenset({1000, 1001})  # the daemon took leave; it wasn't killed


class Lost(Exception):
    """An attachment ended. ``orderly``: the daemon took leave, it was not killed."""

    def __init__(self, *, orderly: bool) -> None:
        super().__init__("the attachment ended")
        self.orderly = orderly


class Attachment:
    """One WebSocket to the daemon, after the first words. Not for two receivers at a time."""

    def __init__(self, websocket: "ClientWebSocketResponse") -> None:
        self._websocket = websocket

    async def send(self, message: FromClient) -> None:
        """Raises `Lost`."""
        try:
            await self._websocket.send_bytes(encode(message))
        except (ConnectionError, RuntimeError) as error:  # aiohttp: RuntimeError when it is closing
            raise Lost(orderly=False) from error

    async def close(self) -> None:
        """Take leave; when this returns, the daemon has read all that was sent, or half a second was over.

        Who waits in `receive` gets `Lost`. A receiver that is cancelled before makes aiohttp hang up at once: what the
        daemon writes next then fails, and with that what it has not read yet is gone.
        """
        await self._websocket.close()

    async def receive(self) -> FromDaemon | Unknown:
        """The next message, however long it takes: a run may be silent for hours. Raises `Lost`, `BadFrame`.

        Nothing is read ahead beyond a small buffer, so who doesn't call this makes the daemon stop sending.
        """
        from aiohttp import WSMsgType

        frame = await self._websocket.receive()
        if frame.type in (WSMsgType.TEXT, WSMsgType.BINARY):
            return decode_from_daemon(frame.data)
        raise Lost(orderly=self._websocket.close_code in _ORDERLY_CLOSES)


@asynccontextmanager
async def attach(path: Path, hello: Hello) -> AsyncIterator[tuple[Attachment, Welcome]]:
    """An attachment, from ``Hello`` and ``Welcome`` on.

    Raises `NoDaemon`, `NotOurs`, `Unanswered`, `Refused` when it can't be had.
    """
    connected(path, 1.0).close()  # tells a missing daemon from a stranger's, and looks whose it is
    import aiohttp

    connector = aiohttp.UnixConnector(path=str(path))
    async with aiohttp.ClientSession(connector=connector) as session:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                websocket = await session.ws_connect(
                    "http://flowerd/v1/attach",
                    max_msg_size=MAX_FRAME,
                    heartbeat=_HEARTBEAT_SECONDS,
                    timeout=aiohttp.ClientWSTimeout(ws_close=0.5),  # leaving waits for nobody
                )
                attachment = Attachment(websocket)
                welcome = await _greet(attachment, hello)
        except TimeoutError as error:
            raise Unanswered(f"nothing within {REQUEST_SECONDS:g} s") from error
        except (aiohttp.ClientError, OSError, Lost, BadFrame) as error:
            raise Unanswered(type(error).__name__) from error
        try:
            yield attachment, welcome
        finally:
            await attachment.close()


async def _greet(attachment: Attachment, hello: Hello) -> Welcome:
    await attachment.send(hello)
    answer = await attachment.receive()
    if isinstance(answer, Failure):
        raise Refused(answer)
    if not isinstance(answer, Welcome):
        raise Unanswered("no welcome")
    if not speaks(answer.protocol):
        code = "client-older" if answer.protocol > hello.protocol else "daemon-older"
        values = {"client": str(hello.protocol), "daemon": str(answer.protocol)}
        raise Refused(Failure(code=code, values=values))
    return answer
