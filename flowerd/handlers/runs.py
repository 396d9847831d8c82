"""``/v1/runs``: start a run, or join the one in flight."""

from aiohttp import web

from flower_protocol.runs import StartRun
from flowerd.edge import DAEMON, answer, body


async def start(request: web.Request) -> web.Response:
    wanted = await body(request, StartRun)
    workspace = await request.app[DAEMON].workspaces.at(wanted.place)
    return answer(await workspace.start(wanted))
