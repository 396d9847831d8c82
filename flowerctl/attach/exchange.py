"""One connection of a conversation: what is said goes out, what is heard comes in, at the same time."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from flower_protocol.codec import BadFrame
from flower_protocol.control import FromDaemon, Unknown
from flowerctl.attach.bookmark import Bookmark
from flowerctl.attach.outbox import Outbox
from flowerctl.attachment import Attachment, Lost

SEEN_SECONDS: Final = 0.5
DRAIN_SECONDS: Final = 5.0
LEAVE_SECONDS: Final = 1.0  # for the last words to arrive; leaving waits for nobody longer


class Exchange:
    """Begins at once. ``hear`` gets each message, one after the other."""

    def __init__(
        self,
        attachment: Attachment,
        outbox: Outbox,
        bookmark: Bookmark,
        hear: Callable[[FromDaemon | Unknown], Awaitable[None]],
    ) -> None:
        self._attachment = attachment
        self._outbox = outbox
        self._bookmark = bookmark
        self._hear = hear
        self._sender = asyncio.create_task(self._send_all(), name="flower sender")
        self._receiver = asyncio.create_task(self._receive_all(), name="flower receiver")

    async def until(self, outcome: "asyncio.Future[Any]") -> None:
        """Returns when the connection has ended, or the outcome is known and leave is taken."""
        ends: set[asyncio.Future[Any]] = {self._sender, self._receiver, outcome}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if outcome.done():
            await self._take_leave()
        elif not self._receiver.done():
            # The line is dead, but what has come over it is shown before another one is opened.
            ends.discard(self._sender)
            await asyncio.wait(ends, timeout=DRAIN_SECONDS, return_when=asyncio.FIRST_COMPLETED)

    async def close(self) -> Exception | None:
        """Nothing is said or heard any more; returns why the connection had ended, if it had."""
        for task in (self._sender, self._receiver):
            task.cancel()
        results = await asyncio.gather(self._sender, self._receiver, return_exceptions=True)
        # The receiver's reason tells more: the sender only notices that it can't send.
        return next((each for each in reversed(results) if isinstance(each, Exception)), None)

    async def _send_all(self) -> None:
        while True:
            while (message := self._outbox.first()) is not None:
                await self._attachment.send(message)
                self._outbox.sent()
            await self._report()
            self._outbox.work.clear()
            with suppress(TimeoutError):  # looks again now and then for what has been shown meanwhile
                async with asyncio.timeout(SEEN_SECONDS):  # not wait_for: it can swallow a cancellation
                    await self._outbox.work.wait()

    async def _report(self) -> None:
        seen = self._bookmark.unreported()
        if seen is not None:
            await self._attachment.send(seen)

    async def _take_leave(self) -> None:
        with suppress(Lost, TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await self._report()
                await self._outbox.emptied()  # words typed just before are still accepted
                await self._attachment.close()

    async def _receive_all(self) -> None:
        while True:
            try:
                message = await self._attachment.receive()
            except BadFrame as error:
                raise Lost(orderly=False) from error
            await self._hear(message)
            await asyncio.sleep(0)  # a flood of frames must not keep the keyboard waiting
