"""What happened in a folder while nobody looked."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Final

from flower_protocol.codec import BadFrame
from flower_protocol.control import Happened, Seen
from flower_protocol.events import EventRecord
from flower_protocol.handshake import Hello, Snapshot
from flower_protocol.workspaces import Place, Wake
from flowerctl.attachment import Attachment, Lost, attach
from flowerctl.client import NoDaemon, NotOurs, Refused, Unanswered

MOST: Final = 200  # a few screens; the journal has the rest
SECONDS: Final = 5.0  # it is only for information: nobody waits longer for it


def missed(place: Place, wake: Wake, socket: Path) -> list[EventRecord]:
    """The events after the last one that a client has shown, the latest `MOST`; none if they can't be had in time.

    They count as seen from then on.
    """
    if wake.last_seq <= wake.seen:
        return []
    found: list[EventRecord] = []
    with suppress(NoDaemon, NotOurs, Unanswered, Refused, Lost, BadFrame, TimeoutError):
        asyncio.run(_collect(place, wake, socket, found))
    return found


async def _collect(place: Place, wake: Wake, socket: Path, found: list[EventRecord]) -> None:
    few = wake.last_seq - wake.seen <= MOST
    hello = Hello(
        place=place,
        generation=wake.generation if few else None,
        cursor=wake.seen if few else None,
        tail=MOST,
    )
    async with asyncio.timeout(SECONDS), attach(socket, hello) as (attachment, _):
        reached = await _read_up_to(attachment, wake.last_seq, found)
        await attachment.send(Seen(seq=reached))


async def _read_up_to(attachment: Attachment, last: int, found: list[EventRecord]) -> int:
    reached = 0
    while reached < last:
        message = await attachment.receive()
        if isinstance(message, Snapshot):
            found[:] = message.events
            reached = message.last_seq
        elif isinstance(message, Happened):
            found.extend(message.events)
            reached = message.events[-1].seq
    return reached
