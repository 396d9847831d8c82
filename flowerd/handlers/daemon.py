"""``/v1/daemon``: orders to the daemon itself."""

from aiohttp import web

from flowerd.edge import DAEMON, answer


async def stop(request: web.Request) -> web.Response:
    request.app[DAEMON].ask_to_stop("by a client's request")
    return answer()
