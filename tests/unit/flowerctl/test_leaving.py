"""A client that leaves waits for the daemon to have read its last words, over a real socket."""

import asyncio
from pathlib import Path

from aiohttp import WSMsgType, web

from flower_protocol.codec import decode_from_client, encode
from flower_protocol.control import Happened, Seen
from flower_protocol.events import EventRecord
from flower_protocol.handshake import Snapshot, Welcome
from flowerctl.attach.following import follow
from flowerctl.language import Texts
from tests.unit.flowerctl.conversing import RUNNING, Talk

SLOW_SECONDS = 0.1


class SlowDaemon:
    """Says that the run has ended, and answers the client's close only after a while."""

    def __init__(self) -> None:
        self.heard: list[object] = []
        self.still_there = False

    async def attach(self, request: web.Request) -> web.WebSocketResponse:
        line = web.WebSocketResponse(autoclose=False)
        await line.prepare(request)
        await line.receive()
        events = (EventRecord(seq=1, at=1.0, kind="run_ended", payload={"outcome": "done"}),)
        for message in (
            Welcome(protocol=1, version="0", generation="g", status=RUNNING),
            Snapshot(generation="g", last_seq=0, events=()),
            Happened(events=events),
        ):
            await line.send_bytes(encode(message))
        while (message := await line.receive()).type is WSMsgType.BINARY:
            self.heard.append(decode_from_client(message.data))
        await asyncio.sleep(SLOW_SECONDS)
        self.still_there = request.transport is not None and not request.transport.is_closing()
        await line.close()
        return line


async def test_the_line_stands_until_the_daemon_has_read_what_was_said_last(tmp_path: Path) -> None:
    daemon, path = SlowDaemon(), tmp_path / "s"
    app = web.Application()
    app.router.add_get("/v1/attach", daemon.attach)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.UnixSite(runner, str(path)).start()
    talk = Talk()
    try:
        await asyncio.wait_for(follow(talk.conversation, path, talk.surface, Texts("zh"), {}), 10)
    finally:
        await runner.cleanup()

    assert daemon.heard == [Seen(seq=1)]
    assert daemon.still_there
