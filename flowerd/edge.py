"""The edge of a request: bodies in, answers out, and every failure as a code of the closed list."""

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from aiohttp import web

from flower_protocol.codec import BadFrame, decode, encode
from flower_protocol.control import Done, Failure
from flowerd.refusal import Refused

if TYPE_CHECKING:
    from flowerd.daemon import Daemon

logger = logging.getLogger(__name__)

T = TypeVar("T")

DAEMON: "Final[web.AppKey[Daemon]]" = web.AppKey("daemon")

DONE: Final = Done()
STATUS: Final = {
    "already-answered": 409,
    "already-clarified": 409,
    "already-running": 409,
    "internal": 500,
    "not-available": 501,
    "no-question": 409,
    "not-running": 409,
    "not-waiting": 409,
    "shutting-down": 503,
    "too-large": 413,
}
_OTHERWISE: Final = 400

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def body(request: web.Request, kind: type[T]) -> T:
    """The body of a request. Raises `BadFrame`."""
    return decode(await request.read(), kind)


def answer(message: msgspec.Struct = DONE, status: int = 200) -> web.Response:
    return web.Response(body=encode(message), status=status, content_type="application/json")


@web.middleware
async def edge(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """Turn whatever a handler raises into a `Failure` for the client; what is a bug is logged whole."""
    daemon = request.app[DAEMON]
    daemon.touch()
    try:
        if daemon.ending:
            raise Refused("shutting-down")
        return await handler(request)
    except Refused as refused:
        return _failed(refused.failure)
    except BadFrame as error:
        return _failed(Failure(code="bad-frame", values={"detail": str(error)}))
    except web.HTTPRequestEntityTooLarge:
        return _failed(Failure(code="too-large"))
    except web.HTTPException as error:
        detail = f"{request.method} {request.path[:200]}: {error.reason}"
        return _failed(Failure(code="bad-frame", values={"detail": detail}), error.status)
    except Exception:
        logger.exception("%s %s failed", request.method, request.path)
        return _failed(Failure(code="internal"))
    finally:
        daemon.touch()


def _failed(failure: Failure, status: int | None = None) -> web.Response:
    return answer(failure, STATUS.get(failure.code, _OTHERWISE) if status is None else status)
