"""``/v1/status``: the daemon, and every workspace it knows."""

from aiohttp import web

from flower_protocol.workspaces import Status
from flowerd.edge import DAEMON, answer
from flowerd.standing import refresh


async def show(request: web.Request) -> web.Response:
    daemon = request.app[DAEMON]
    known = daemon.workspaces.known()
    await refresh([workspace.standing for workspace in known], daemon.shared)
    statuses = tuple(workspace.standing.status() for workspace in known)
    return answer(Status(daemon=daemon.status(), workspaces=statuses))
