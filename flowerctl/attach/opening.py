"""What ``flower`` is to do when no words came with it: asked on a terminal, or the first line of a pipe."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from flowerctl.attach.asking import ask
from flowerctl.attach.commands import (
    Aside,
    Leave,
    Mistyped,
    Nothing,
    Remark,
    StartOver,
    StopRun,
    understood,
)
from flowerctl.attach.stdin import StandardInput
from flowerctl.attach.transcript import Transcript
from flowerctl.hints import Failed
from flowerctl.language import Texts
from flowerctl.output import Style, complain

_LINE_SECONDS: Final = 1.0  # for the line that a pipe may bring; one that comes later is a remark


@dataclass(frozen=True, slots=True)
class Wanted:
    """``words`` are None for going on without any. ``new``: the person wants to start over."""

    words: str | None
    new: bool = False


class Opening:
    """Everything in it raises `Failed` when there is nothing to do.

    ``expecting``: a pipe that brought no line so far may bring one yet.
    """

    def __init__(
        self,
        texts: Texts,
        environment: Mapping[str, str],
        standard_input: StandardInput,
        *,
        typing: bool,
        transcript: Transcript,
        tell: Callable[[str, Style], None],
    ) -> None:
        self.expecting = False
        self._texts = texts
        self._environment = environment
        self._input = standard_input
        self._typing = typing
        self._transcript = transcript
        self._tell = tell

    def wanted(self, *, fresh: bool) -> Wanted:
        """What the person says now. In a ``fresh`` folder there is nothing to go on with: it has to be something."""
        if not self._typing:
            return Wanted(self._piped(fresh=fresh))
        if fresh:
            return Wanted(self.new_request())
        match self._heard("ask_wake"):
            case StartOver(text):
                return Wanted(text or self.new_request(), new=True)
            case Remark(text):
                return Wanted(text)
            case Nothing():
                return Wanted(None)

    def new_request(self) -> str:
        """What another matter is about."""
        while self._typing:
            match self._heard("ask_new"):
                case Remark(text):
                    return text
                case StartOver(text) if text:
                    return text
                case StartOver():
                    continue  # it is a new one already
                case Nothing():
                    break
        raise Failed(self._texts("blank"))

    def _heard(self, question: str) -> Nothing | Remark | StartOver:
        """What the person answers, once it is something to start with; other commands are dealt with here."""
        while True:
            match understood(self._ask(question), None, on_hold=False):
                case Nothing() | Remark() | StartOver() as begun:
                    return begun
                case Leave() | StopRun():
                    raise Failed(self._texts("cancelled"))
                case Aside():
                    self._tell(self._texts("aside_nothing_runs"), Style.WARN)
                case Mistyped(word):
                    self._tell(self._texts("unknown_command", word=word), Style.WARN)
                case _:
                    self._tell(self._texts("help"), Style.PLAIN)

    def _ask(self, question: str) -> str:
        return ask(self._texts(question), self._texts, self._environment, mark=self._transcript.mark)

    def _piped(self, *, fresh: bool) -> str | None:
        line = self._input.line(_LINE_SECONDS)
        if line is None and fresh and not self._input.ended:
            complain(self._transcript.mark + self._texts("reading_stdin"))
            line = self._input.line(None)  # without a request there is nothing else to do
        self.expecting = line is None and not self._input.ended
        words = (line or "").strip()
        if fresh and not words:
            raise Failed(self._texts("blank"))
        return words or None
