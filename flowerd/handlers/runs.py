"""``/v1/runs``: start a run, or join the one in flight; ``/v1/check``: whether one could be started."""

from aiohttp import web

from flower_protocol.runs import StartRun
from flowerd.edge import DAEMON, answer, body


async def start(request: web.Request) -> web.Response:
    wanted = await body(request, StartRun)
    workspace = await request.app[DAEMON].workspaces.at(wanted.place)
    return answer(await workspace.start(wanted))


async def check(request: web.Request) -> web.Response:
    wanted = await body(request, StartRun)
    workspace = await request.app[DAEMON].workspaces.at(wanted.place)
    await workspace.check(wanted)
    return answer()
