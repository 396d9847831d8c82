"""What people order of a run in flight: words, answers, side questions, to hold it and to let it go on.

Words are in the journal, on disk, before they go to the run, and nobody is told that they are accepted before the
brief has them as well.
"""

import uuid
from collections.abc import Awaitable, Callable
from functools import partial

from flower_protocol.workspaces import Place
from flowerd.active_run import ActiveRun
from flowerd.mailbox import Mailbox
from flowerd.refusal import Refused
from flowerd.standing import Standing


class Orders:
    """The orders of one workspace. ``running`` gives the run in flight, or raises `Refused`."""

    def __init__(
        self, place: Place, mailbox: Mailbox, standing: Standing, running: Callable[[], Awaitable[ActiveRun]]
    ) -> None:
        self._place = place
        self._mailbox = mailbox
        self._standing = standing
        self._running = running

    async def say(self, text: str, identity: str, who: str = "") -> bool | None:
        """A remark; it is on disk when this returns. The same ``identity`` again counts once. Raises `Refused`.

        Returns whether it stands in the brief; None when that isn't known.
        """
        if not text.strip():
            raise Refused("no-request")
        if not await self._mailbox.has(identity):
            active = await self._running()
            await self._mailbox.accept(text, identity, who, partial(active.deliver, text))
        return self._mailbox.in_brief(identity)

    async def answer(self, text: str, question_id: str = "") -> None:
        """Answer a question, the oldest that is open if none is named; blank words skip it. Raises `Refused`."""
        run = (await self._running()).run
        if not question_id and self._standing.question is not None:
            question_id = self._standing.question.id
        settled = await run.answer(question_id, text) if question_id else None
        if settled is None:
            raise Refused("no-question", workspace=self._place.workspace)
        if settled.heard:
            return
        if settled.state == "answered":
            raise Refused("already-answered", answer=settled.answer)
        raise Refused("not-waiting")

    async def aside(self, text: str, identity: str, who: str = "") -> None:
        """Have a question looked into beside the run; asked again under ``identity``, once. Raises `Refused`."""
        if not text.strip():
            raise Refused("no-request")
        active = await self._running()
        if not await active.asides.ask(text.strip(), identity, who):
            raise Refused("not-running", workspace=self._place.workspace)

    async def interrupt(self, who: str, holder: object) -> None:
        """Hold the run until somebody says something, or until ``holder``, a client, has left. Raises `Refused`."""
        (await self._running()).hold.take(who, holder)

    async def resume(self, text: str, who: str = "") -> None:
        """Go on after an interrupt, with the words if there are any; without one they are a remark.

        Raises `Refused`.
        """
        active = await self._running()
        if text.strip():
            await self._mailbox.accept(text, str(uuid.uuid4()), who, partial(active.deliver, text))
        elif active.hold.held:
            active.hold.end()
