"""``/v1/wake``: what a client needs to know of a folder before it asks the person anything."""

from aiohttp import web

from flower_protocol.workspaces import Place
from flowerd.edge import DAEMON, answer
from flowerd.refusal import Refused
from flowerd.waking import look


async def show(request: web.Request) -> web.Response:
    daemon = request.app[DAEMON]
    try:
        place = Place(workspace=request.query["workspace"], run_dir=request.query["run_dir"])
    except KeyError as missing:
        raise Refused("bad-frame", detail=f"the query lacks {missing}") from missing
    workspace = await daemon.workspaces.at(place)
    return answer(await look(workspace, daemon.shared, request.query.get("language", "zh")))
