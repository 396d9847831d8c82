"""What an endpoint was asked: a bounded record, and a way to wait for a request."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_KEPT = 2000
# Each request carries its whole conversation: a long run would fill the memory long before the count does.
_KEPT_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class Request:
    """One request for a message. `status` is the one it is answered with; 0 when it gets no whole answer."""

    number: int  # from 1, over the life of the endpoint
    at: float  # time.time()
    role: str
    scene: str
    turn: int
    status: int
    model: str
    stream: bool
    agent: str  # the CLI's id of the subagent; "" for the main thread
    prompt: str  # the latest words of a person
    tools: tuple[str, ...]
    system: str = field(repr=False)
    messages: list[Any] = field(repr=False)


class Record:
    """The last requests, up to 2,000 of them or 32 MiB. Safe to use from several threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._kept: deque[tuple[Request, int]] = deque()
        self._bytes = 0
        self._count = 0

    def add(self, size: int, make: Callable[[int], Request]) -> None:
        """Keeps what `make` gives for the next number; `size` is what it weighs, in bytes."""
        with self._changed:
            self._count += 1
            self._kept.append((make(self._count), size))
            self._bytes += size
            while len(self._kept) > 1 and (len(self._kept) > _KEPT or self._bytes > _KEPT_BYTES):
                self._bytes -= self._kept.popleft()[1]
            self._changed.notify_all()

    def requests(self) -> list[Request]:
        """What is kept, the oldest first."""
        with self._changed:
            return [request for request, _ in self._kept]

    def wait_for(self, predicate: Callable[[Request], bool], timeout: float) -> Request:
        """The first kept request that satisfies `predicate`, as soon as there is one.

        TimeoutError after `timeout` seconds, saying what came instead.
        """
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                for request, _ in self._kept:
                    if predicate(request):
                        return request
                if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() >= deadline:
                    came = [f"{each.role}/{each.scene}/{each.turn}" for each, _ in list(self._kept)[-8:]]
                    raise TimeoutError(f"no such request within {timeout:g} s; the last that came: {came}")
