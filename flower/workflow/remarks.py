"""What the person said, until those that it is for have heard it.

Words said at a wake land in three places: in the brief, in a list of checks that is made anew, and with whoever does
the work. They are noted in the lineage first and crossed out there when the work has heard them, so that a kill
between any two of these leaves a next run that does the rest. Those that a clarification has heard stay there until
its brief is frozen: one that can't be continued has to begin anew.
"""

from pathlib import Path

from flower.core.documents import ADDED_ON_WAKE, Brief
from flower.core.events import Event
from flower.core.human import HumanChannel
from flower.core.lineage import Lineage
from flower.core.runtime import OnEvent
from flower.workflow.base import Ctx
from flower.workflow.clarify import BRIEF_KEY
from flower.workflow.steps import CLARIFY, WORK


class Remarks:
    """The words of this run, and those that the runs before it have left.

    ``now``: what was said with this run; empty when nothing was. ``unheard``: all that no session has heard for
    certain yet. ``asked_about``: what a clarification has heard and no brief holds yet. ``edited``: the person has
    changed the brief by hand since the work was told of it.
    """

    def __init__(self, now: str, brief: Path, lineage: Lineage) -> None:
        self.now = now
        self.unheard = [*lineage.words, *([now] if now and now not in lineage.words else [])]
        self.asked_about = list(lineage.request)
        self.edited = _is_edited(brief, lineage)

    def take_in(self, lineage: Lineage, channel: HumanChannel) -> None:
        """Note the words before anything is done with them, and add them to a brief that is frozen."""
        lineage.note(self.now)
        path = channel.amend_path
        if path is not None and path.exists():
            for words in self.unheard:
                channel.amend(words, label=ADDED_ON_WAKE)

    def asked(self, lineage: Lineage) -> None:
        """A clarification has heard them: what it is told it asks about, and freezes."""
        lineage.ask_about(*self.unheard)
        self.asked_about = [*self.asked_about, *self.unheard]
        self.unheard = []

    def heard(self, lineage: Lineage) -> None:
        """The work has heard them."""
        lineage.heard(*self.unheard)
        self.unheard = []


class Listener:
    """Passes events on, and crosses the words out once a step that they are for has heard them.

    That is the work; or the clarification, while there is no brief. Until it has frozen one, what it was told stays
    known as the request.
    """

    def __init__(self, remarks: Remarks, ctx: Ctx, on_event: OnEvent | None) -> None:
        self._remarks = remarks
        self._ctx = ctx
        self._on_event = on_event
        self._step = ""

    def __call__(self, event: Event) -> None:
        if event.kind == "step":
            self._step = event.text
        elif event.kind in ("text", "thinking", "tool_call"):
            # An answer proves that what came before it is in the transcript.
            lineage = self._ctx.get("_lineage")
            if lineage is not None and not event.payload.get("subagent", True):
                self._cross_out(lineage)
        if self._on_event is not None:
            self._on_event(event)

    def _cross_out(self, lineage: Lineage) -> None:
        if self._step == CLARIFY:
            self._remarks.asked(lineage)
        elif self._step == WORK:
            self._remarks.heard(lineage)
            brief = self._ctx.get(BRIEF_KEY)
            if isinstance(brief, Brief):
                lineage.go_by(brief.digest())


def _is_edited(path: Path, lineage: Lineage) -> bool:
    """Whether the person has changed the brief by hand since the work was told of it."""
    brief = Brief.load(path)
    return brief is not None and brief.complete() and lineage.brief not in ("", brief.digest())
