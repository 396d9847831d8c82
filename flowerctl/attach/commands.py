"""What a typed line asks for. Pure: the line, the open question and the hold decide."""

import re
from dataclasses import dataclass
from typing import Final

from flower_protocol.workspaces import Question


@dataclass(frozen=True, slots=True)
class Nothing:
    """An empty line with nothing to answer."""


@dataclass(frozen=True, slots=True)
class Remark:
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """To the open question; an empty text skips it."""

    question_id: str
    text: str


@dataclass(frozen=True, slots=True)
class GoOn:
    """After an interrupt, with the words if there are any."""

    text: str


@dataclass(frozen=True, slots=True)
class Aside:
    """A side question, which the run never hears of."""

    text: str


@dataclass(frozen=True, slots=True)
class Leave:
    """``/detach``: the run goes on."""


@dataclass(frozen=True, slots=True)
class StartOver:
    """``/new``, with the request if it was typed behind it."""

    text: str


@dataclass(frozen=True, slots=True)
class ShowStatus:
    """``/status``."""


@dataclass(frozen=True, slots=True)
class StopRun:
    """``/stop``."""


@dataclass(frozen=True, slots=True)
class ShowHelp:
    """``/help``."""


@dataclass(frozen=True, slots=True)
class Mistyped:
    """A word with a slash that is no command. Not sent: it was hardly meant for the agent."""

    word: str


Command = (
    Nothing | Remark | Reply | GoOn | Aside | Leave | StartOver | ShowStatus | StopRun | ShowHelp | Mistyped
)

_ALONE: Final[dict[str, Command]] = {
    "/detach": Leave(),
    "/status": ShowStatus(),
    "/stop": StopRun(),
    "/help": ShowHelp(),
}
_COMMAND_LIKE: Final = re.compile(r"/[a-z]+\Z")  # a path has a second slash, a sentence has spaces


def understood(line: str, question: Question | None, *, on_hold: bool) -> Command:
    """The command in ``line``. While a run is on hold, words go to it, and an open question waits."""
    text = line.strip()
    if text in _ALONE:
        return _ALONE[text]
    if text == "/new" or text.startswith("/new "):
        return StartOver(text.removeprefix("/new").strip())
    if text.startswith(("?", "？")):
        return Aside(text)
    if on_hold:
        return Mistyped(text) if _COMMAND_LIKE.match(text) else GoOn(text)
    if question is not None:
        return Reply(question.id, _answer(text, question))
    if not text:
        return Nothing()
    return Mistyped(text) if _COMMAND_LIKE.match(text) else Remark(text)


def _answer(text: str, question: Question) -> str:
    if text.isdecimal() and 1 <= int(text) <= len(question.options):
        return question.options[int(text) - 1]
    return text
