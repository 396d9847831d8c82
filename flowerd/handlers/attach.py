"""``/v1/attach``: one client attached to one workspace, over a WebSocket."""

import asyncio
import contextlib
import logging
from typing import Final

from aiohttp import WSCloseCode, WSMsgType, web

from flower_protocol.codec import MAX_FRAME, BadFrame, decode_from_client, encode
from flower_protocol.control import Failure
from flower_protocol.handshake import Hello
from flower_protocol.version import PROTOCOL, speaks
from flowerd.attachment import Attachment
from flowerd.edge import DAEMON
from flowerd.refusal import Refused

logger = logging.getLogger(__name__)

HELLO_SECONDS: Final = 10.0
CLOSE_SECONDS: Final = 2.0
LINGER_SECONDS: Final = 0.3


class Line(web.WebSocketResponse):
    """A WebSocket that says why before it closes over a frame that is too large."""

    async def close(self, *, code: int = WSCloseCode.OK, message: bytes = b"", drain: bool = True) -> bool:
        if code == WSCloseCode.MESSAGE_TOO_BIG and not self.closed:
            await self.send_frame(encode(Failure(code="too-large")), WSMsgType.TEXT)
            # The client is still writing. Closed at once, its write would fail before it has read why.
            await asyncio.sleep(LINGER_SECONDS)
        return await super().close(code=code, message=message, drain=drain)


async def attach(request: web.Request) -> web.StreamResponse:
    daemon = request.app[DAEMON]
    # Not compressed: it would cost memory for each client, and CPU for a line that never leaves the machine.
    line = Line(
        heartbeat=daemon.settings.heartbeat_seconds,
        timeout=CLOSE_SECONDS,
        max_msg_size=MAX_FRAME,
        compress=False,
    )
    await line.prepare(request)
    try:
        hello = await _hello(line)
        workspace = await daemon.workspaces.at(hello.place)
        attachment = Attachment(line, workspace, hello)
        with daemon.attached(attachment):
            await attachment.serve()
    except Refused as refused:
        await _part(line, refused.failure)
    except BadFrame as error:
        await _part(line, Failure(code="bad-frame", values={"detail": str(error)}))
    except Exception:
        logger.exception("an attachment failed")
        await _part(line, Failure(code="internal"))
    await _hang_up(line, WSCloseCode.GOING_AWAY if daemon.ending else WSCloseCode.OK)
    if request.transport is not None:
        # A client that has stopped reading would keep what was sent to it in our memory until it dies.
        request.transport.abort()
    return line


async def _hello(line: web.WebSocketResponse) -> Hello:
    """The client's first message. Raises `BadFrame`, or `Refused` for a version that isn't spoken here."""
    try:
        message = await line.receive(timeout=HELLO_SECONDS)
    except TimeoutError:
        raise BadFrame("no hello came") from None
    if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
        raise BadFrame("no hello came")
    hello = decode_from_client(message.data)
    if not isinstance(hello, Hello):
        raise BadFrame("the first message must be a hello")
    if not speaks(hello.protocol):
        older = "client-older" if hello.protocol < PROTOCOL else "daemon-older"
        raise Refused(older, client=str(hello.protocol), daemon=str(PROTOCOL))
    return hello


async def _part(line: web.WebSocketResponse, failure: Failure) -> None:
    """Tell the client why its connection is closed, if it still listens."""
    with contextlib.suppress(ConnectionError, TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await line.send_frame(encode(failure), WSMsgType.TEXT)


async def _hang_up(line: web.WebSocketResponse, code: int) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await line.close(code=code)
