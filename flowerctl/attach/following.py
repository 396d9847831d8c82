"""Keeps a conversation connected: over the death of a daemon, and the start of the next one."""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from flowerctl.attach.conversation import Conversation
from flowerctl.attach.outcome import End, Outcome
from flowerctl.attach.surface import Surface
from flowerctl.attachment import Lost, attach
from flowerctl.autostart import CannotStart, ensure
from flowerctl.client import NoDaemon, NotOurs, Refused, Unanswered
from flowerctl.language import Texts
from flowerctl.output import Style
from flowerctl.version import installed_version

# Seconds before each try after a loss: ten in all, enough for a daemon to come up on a busy machine.
PAUSES: Final = (0.0, 0.5, 1.5, 3.0, 5.0)
STEADY_SECONDS: Final = 5.0  # a connection that lasted this long begins a new count of tries


async def follow(
    conversation: Conversation,
    path: Path,
    surface: Surface,
    texts: Texts,
    environment: Mapping[str, str],
) -> None:
    """Returns when the conversation has its outcome. Raises what the surface raises."""
    version = installed_version()
    tries, left, missed = 0, False, False
    while not conversation.outcome.done():
        since = time.monotonic()
        try:
            if tries and not left:
                await _in_a_thread(partial(ensure, environment))
            async with attach(path, conversation.hello(version)) as (attachment, welcome):
                if missed:
                    surface.tell(texts("reconnected"), Style.GOOD)
                missed = False
                await conversation.converse(attachment, welcome)
            return
        except Lost as lost:
            # Who took leave was told to: it is not for this client to start another one.
            left, missed, failure = lost.orderly, True, None
            tries = 0 if time.monotonic() - since > STEADY_SECONDS else tries
            surface.tell(texts("daemon_gone"), Style.WARN)
        except (Refused, NotOurs) as error:
            conversation.finish(Outcome(End.REFUSED, error=error))
            return
        except (NoDaemon, Unanswered, CannotStart) as error:
            failure = error
        if tries == len(PAUSES):
            conversation.finish(Outcome(End.DAEMON_LEFT if left else End.UNREACHABLE, error=failure))
            return
        await asyncio.sleep(PAUSES[tries])
        tries += 1


async def _in_a_thread(work: Callable[[], None]) -> None:
    # Not the loop's executor: a person who leaves meanwhile would have to wait for it.
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle(error: Exception | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        failure: Exception | None = None
        try:
            work()
        except Exception as error:
            failure = error  # it is raised where it is awaited
        try:
            loop.call_soon_threadsafe(settle, failure)
        except RuntimeError:
            return  # the loop has ended: nobody waits any more

    threading.Thread(target=run, name="flower starts the daemon", daemon=True).start()
    await done
