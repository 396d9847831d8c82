"""The routes, all of them."""

from typing import TYPE_CHECKING

from aiohttp import web

from flower_protocol.codec import MAX_FRAME
from flowerd.edge import DAEMON, edge
from flowerd.handlers import attach, control, daemon, runs, status, wake

if TYPE_CHECKING:
    from flowerd.daemon import Daemon


def build(owner: "Daemon") -> web.Application:
    """The application that serves ``owner``."""
    app = web.Application(middlewares=[edge], client_max_size=MAX_FRAME)
    app[DAEMON] = owner
    app.add_routes(
        [
            web.get("/v1/status", status.show),
            web.get("/v1/wake", wake.show),
            web.post("/v1/check", runs.check),
            web.post("/v1/runs", runs.start),
            web.post("/v1/say", control.say),
            web.post("/v1/answer", control.answer_question),
            web.post("/v1/interrupt", control.interrupt),
            web.post("/v1/resume", control.resume),
            web.post("/v1/stop", control.stop),
            web.post("/v1/forget", control.forget),
            web.post("/v1/daemon/stop", daemon.stop),
            web.get("/v1/attach", attach.attach),
        ]
    )
    return app
