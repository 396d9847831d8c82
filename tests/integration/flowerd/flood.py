"""A daemon whose every run tells a given number of megabytes: ``python flood.py MEGABYTES``."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Sequence

from flower_protocol.runs import StartRun
from flower_protocol.workspaces import Place
from flowerd.daemon import Daemon
from flowerd.run import Ending, Outcome, Prepared, Sink
from flowerd.settings import from_environment
from flowerd.wire import Draft

EVENT_BYTES = 2_000


class Flood:
    """See `flowerd.run.Run`."""

    def __init__(self, place: Place, request: StartRun, unheard: Sequence[str]) -> None:
        self._events = int(sys.argv[1]) * 1_000_000 // EVENT_BYTES

    async def examine(self) -> None:
        return

    async def prepare(self) -> Prepared:
        return Prepared(woke=1)

    async def work(self, sink: Sink) -> Outcome:
        text = "x" * EVENT_BYTES
        for number in range(self._events):
            sink.take(Draft("text", f"{number} {text}"))
            if number % 16 == 0:
                await sink.room()
                await asyncio.sleep(0)
        return Outcome(Ending.DONE)

    def say(self, text: str) -> Awaitable[bool | None]:
        raise NotImplementedError

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def stop(self) -> None: ...
    def rescue(self, reason: str) -> None: ...
    def terminate(self, reason: str) -> None: ...


async def main() -> None:
    daemon = Daemon(from_environment(os.environ), runs=Flood)
    await daemon.start()
    await daemon.wait_until_asked()
    await daemon.close()


asyncio.run(main())
