"""The running text of an attachment: events and flower's own lines, with the mark of a rehearsal before each."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from flower_protocol.events import EventRecord
from flower_protocol.workspaces import Question, WorkspaceStatus
from flowerctl import figures
from flowerctl.attach.ask import question
from flowerctl.attach.lines import Lines
from flowerctl.attach.questions import is_question
from flowerctl.attach.render import ending, failure_of, released, render, unheard
from flowerctl.attach.view import View, advance
from flowerctl.language import Texts
from flowerctl.output import Line, Style
from flowerctl.sanitize import clean, clean_line
from flowerctl.states import state_of
from flowerctl.width import columns, line_width, wrap


class Transcript:
    """Turns what happens into lines, in order; remembers the little that later lines need.

    ``window_columns`` is asked again for each batch: a window may change its size at any time.
    """

    def __init__(
        self,
        texts: Texts,
        *,
        window_columns: Callable[[], int],
        manifest: str = "",
        verbose: bool = False,
        rehearsing: bool = False,
        home: Path | None = None,
        workspace: str = "",
        me: str = "",
        precise: bool = False,
    ) -> None:
        self._window_columns = window_columns
        self._view = View(
            texts=texts,
            width=0,
            verbose=verbose,
            rehearsing=rehearsing,
            manifest=manifest,
            home=home,
            workspace=workspace,
            me=me,
            precise=precise,
        )
        self._told: list[str] = []

    @property
    def width(self) -> int:
        """How long a line may be, the mark of a rehearsal taken off."""
        return line_width(self._window_columns()) - columns(self.mark)

    @property
    def mark(self) -> str:
        """What stands before every line of a rehearsal; empty otherwise."""
        return self._view.texts("rehearsal") if self._view.rehearsing else ""

    def rehearse(self, rehearsing: bool) -> None:
        """What comes from here on is of a rehearsal, or is not."""
        self._view = replace(self._view, rehearsing=rehearsing)

    def events(self, events: Iterable[EventRecord], *, live: bool, own: Collection[int] = ()) -> list[Line]:
        """The lines of ``events``, without those numbered in ``own``, which stand there already.

        A run that ends while somebody watches leaves the reason to the exit.
        """
        lines: list[Line] = []
        for event in events:
            # The sum is today's: beside what happened long ago it would be wrong.
            view = replace(self._view, width=self.width, spent=self._view.spent if live else 0.0)
            last = live and event.kind == "run_ended"
            shown = _parting(event, view) if last else render(event, view)
            if event.seq in own and is_question(event):
                continue  # shown when it is its turn
            self._view = advance(view, event)
            if event.seq not in own and not (live and self._is_told(event)):
                lines.extend(self._marked(shown))
        return lines

    def notices(self, notices: Sequence[str]) -> list[Line]:
        """What is to be known before anything runs; the run says the same, and it is not shown again."""
        self._told.extend(notices)
        return [line for notice in notices for line in self.own(f"! {notice}", Style.WARN)]

    def question(self, asked: Question) -> list[Line]:
        """A question that is open, as its event would show it."""
        view = replace(self._view, width=self.width)
        self._view = replace(self._view, asked=self._view.asked | {asked.id})
        return self._marked(question(asked.text, asked.options, view))

    def own(self, text: str, style: Style = Style.PLAIN) -> list[Line]:
        """A line of flower's own, wrapped."""
        return self._marked(Line(part, style) for part in wrap(clean(text), self.width))

    def whole(self, text: str) -> list[Line]:
        """A line of flower's own that is never broken: a path or a command in it has to be copied whole."""
        return self._marked([Line(clean_line(text))])

    def marked(self, lines: Iterable[Line]) -> list[Line]:
        """Lines that were made elsewhere, `width` wide at most."""
        return self._marked(lines)

    def spent(self, dollars: float) -> None:
        """What the folder has cost in all, as the daemon counts it."""
        self._view = replace(self._view, spent=dollars)

    def failure(self, event: EventRecord) -> str:
        """Why the run of this ``run_ended`` ended as it did."""
        return failure_of(event, self._view)

    def status(self, status: WorkspaceStatus) -> list[Line]:
        """How the workspace stands, for ``/status``."""
        texts = self._view.texts
        facts = [state_of(status, texts)]
        if status.step:
            facts.append(f"{status.step} {status.index}/{status.total}" if status.total else status.step)
        if status.context:
            size = figures.tokens(status.context)
            size += f"/{figures.window(status.window)}" if status.window else ""
            facts.append(texts("level", context=size))
        facts.append(texts("spent", cost=figures.dollars(status.cost_usd)))
        if status.woke:
            facts.append(texts("wake_number", woke=status.woke))
        lines = self.own("- " + " · ".join(facts))
        if status.question is not None:
            lines += self.own("? " + texts("question_open", text=status.question.text))
        return lines

    def _is_told(self, event: EventRecord) -> bool:
        if event.kind != "notice" or event.text not in self._told:
            return False
        self._told.remove(event.text)
        return True

    def _marked(self, lines: Iterable[Line]) -> list[Line]:
        mark = self.mark
        return [replace(line, text=mark + line.text) for line in lines] if mark else list(lines)


def _parting(event: EventRecord, view: View) -> Lines:
    return released(event, view) + unheard(event, view) + ending(event, view)
