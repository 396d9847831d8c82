"""``/v1/status``: the daemon, and every workspace it knows."""

import asyncio

from aiohttp import web

from flower_protocol.workspaces import Status
from flowerd.edge import DAEMON, answer


async def show(request: web.Request) -> web.Response:
    daemon = request.app[DAEMON]
    known = daemon.workspaces.known()
    await asyncio.gather(*(workspace.standing.refresh() for workspace in known))
    statuses = tuple(workspace.standing.status() for workspace in known)
    return answer(Status(daemon=daemon.status(), workspaces=statuses))
