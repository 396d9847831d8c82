"""Single orders to a workspace: say, answer, interrupt, resume, stop, forget."""

from typing import Final

from aiohttp import web

from flower_protocol.control import AnswerTo, At, ResumeAt, SayTo
from flowerd.edge import DAEMON, answer, body

# Who interrupts by a single request has no connection that could go away: the hold ends when somebody speaks.
_NOBODY: Final = object()
_WHO: Final = "flowerctl"


async def say(request: web.Request) -> web.Response:
    order = await body(request, SayTo)
    workspace = await request.app[DAEMON].workspaces.at(order.place)
    await workspace.orders.say(order.text, order.id, _WHO)
    return answer()


async def answer_question(request: web.Request) -> web.Response:
    order = await body(request, AnswerTo)
    workspace = await request.app[DAEMON].workspaces.at(order.place)
    await workspace.orders.answer(order.text, order.question_id)
    return answer()


async def interrupt(request: web.Request) -> web.Response:
    order = await body(request, At)
    workspace = await request.app[DAEMON].workspaces.at(order.place)
    await workspace.orders.interrupt(_WHO, _NOBODY)
    return answer()


async def resume(request: web.Request) -> web.Response:
    order = await body(request, ResumeAt)
    workspace = await request.app[DAEMON].workspaces.at(order.place)
    await workspace.orders.resume(order.text, _WHO)
    return answer()


async def stop(request: web.Request) -> web.Response:
    order = await body(request, At)
    workspace = await request.app[DAEMON].workspaces.at(order.place)
    await workspace.stop()
    return answer()


async def forget(request: web.Request) -> web.Response:
    order = await body(request, At)
    await request.app[DAEMON].workspaces.forget(order.place)
    return answer()
