"""What goes wrong on purpose: which fault is due, and the API's own words for it."""

import threading
from collections import Counter
from dataclasses import dataclass

from flower.rehearsal.script import Fault
from flower.rehearsal.stage import Reply


@dataclass(frozen=True)
class ApiError:
    """An error of the Messages API: its status, its type and its message."""

    status: int
    type: str
    message: str

    def body(self, request_id: str) -> dict[str, object]:
        """The JSON body as the API sends it."""
        error = {"type": self.type, "message": self.message}
        return {"type": "error", "error": error, "request_id": request_id}

    def headers(self) -> dict[str, str]:
        """The headers that the API adds. Without them (a gateway) the CLI tries a 401 ten times."""
        return {"x-should-retry": "true" if self.status in _RETRIED else "false"}


_RETRIED = (429, 500, 529)
_ERRORS = {
    400: ApiError(400, "invalid_request_error", "messages: the request is malformed"),
    401: ApiError(401, "authentication_error", "invalid x-api-key"),
    403: ApiError(403, "permission_error", "Your API key does not have permission to use this resource."),
    404: ApiError(404, "not_found_error", "Not found"),
    411: ApiError(411, "invalid_request_error", "a request needs a Content-Length"),
    413: ApiError(413, "request_too_large", "Request exceeds the maximum size"),
    429: ApiError(429, "rate_limit_error", "This request would exceed your account's rate limit."),
    500: ApiError(500, "api_error", "Internal server error"),
    529: ApiError(529, "overloaded_error", "Overloaded"),
}


def api_error(status: int, message: str = "") -> ApiError:
    """The API's error for one of its statuses, with `message` in place of its usual words."""
    usual = _ERRORS[status]
    return ApiError(usual.status, usual.type, message or usual.message)


def fault_headers(fault: Fault) -> dict[str, str]:
    """The headers that a fault names, on top of the API's own."""
    retry = {"retry-after": fault.retry_after} if fault.retry_after else {}
    return {**retry, **{name.lower(): value for name, value in fault.headers.items()}}


class FaultLedger:
    """Counts which faults an endpoint has played. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._played: Counter[tuple[str, int, int]] = Counter()

    def due(self, reply: Reply) -> Fault | None:
        """The fault to be played instead of `reply`, counted as played; None when the reply is due itself."""
        with self._lock:
            for index, fault in enumerate(reply.faults):
                key = (reply.scene, reply.turn, index)
                if fault.forever or self._played[key] < fault.times:
                    self._played[key] += 1
                    return fault
        return None
