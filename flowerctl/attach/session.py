"""One attachment from end to end: surface, keyboard, signals and connection, put together and taken apart."""

import asyncio
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from flower_protocol.control import Failure
from flower_protocol.errors import sentence
from flower_protocol.workspaces import Place
from flowerctl.attach.conversation import Conversation
from flowerctl.attach.dialogue import Dialogue
from flowerctl.attach.following import follow
from flowerctl.attach.outcome import End, Outcome
from flowerctl.attach.plain import JsonSurface, PlainSurface
from flowerctl.attach.stdin import StandardInput
from flowerctl.attach.surface import Keyboard, Surface
from flowerctl.attach.transcript import Transcript
from flowerctl.attach.who import who
from flowerctl.language import Texts
from flowerctl.sanitize import clean_line

GOODBYE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Attending:
    """What an attachment needs to know. ``words`` are said as soon as it stands.

    ``screen``: there is a terminal to draw on and to type at; ``typing``: somebody can type at all;
    ``expecting``: a line that could have come on standard input has not come yet.
    """

    place: Place
    socket: Path
    texts: Texts
    environment: Mapping[str, str]
    transcript: Transcript
    standard_input: StandardInput
    screen: bool
    typing: bool
    expecting: bool = False
    json: bool = False
    rehearsing: bool = False
    generation: str | None = None
    cursor: int | None = None
    words: str = ""


def attend(attending: Attending) -> Outcome:
    """Attached until there is an outcome. The terminal is put back whatever happens.

    Raises OSError when nobody reads any more what is printed.
    """
    # A Ctrl-C while the screen is being loaded is kept for it: it means what it always means.
    early: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: early.append(number))
    try:
        return asyncio.run(_attend(attending, early))
    finally:
        signal.signal(signal.SIGINT, before)


async def _attend(attending: Attending, early: list[int]) -> Outcome:
    surface, keyboard = _surface(attending)
    conversation = Conversation(
        attending.place,
        surface,
        attending.texts,
        explain=lambda failure: _explained(failure, attending.texts),
        generation=attending.generation,
        cursor=attending.cursor,
        who=who(attending.environment),
    )
    dialogue = Dialogue(conversation, surface, attending.texts, answering=attending.typing)
    if attending.words:
        dialogue.remark(attending.words)
    connection = follow(conversation, attending.socket, surface, attending.texts, attending.environment)
    with _signals(dialogue, early):
        keys = asyncio.create_task(keyboard.converse(dialogue), name="flower keyboard")
        line = asyncio.create_task(connection, name="flower connection")
        try:
            await _until_outcome(conversation.outcome, keys, line)
        finally:
            keyboard.close()
            # The connection says its last words: what was seen.
            await asyncio.wait({keys, line}, timeout=GOODBYE_SECONDS if conversation.connected else 0.1)
            for task in (keys, line):
                task.cancel()
            await asyncio.gather(keys, line, return_exceptions=True)
    outcome = conversation.outcome.result()
    if dialogue.stopping and outcome.end in (End.ENDED, End.CUT_OFF):
        outcome = replace(outcome, end=End.STOPPED)
    words = conversation.unsent()
    typed = keyboard.half_typed().strip()
    if typed and outcome.end is not End.START_OVER:
        words += (typed,)
    return replace(outcome, unsent=words)


async def _until_outcome(outcome: "asyncio.Future[Outcome]", *tasks: "asyncio.Task[None]") -> None:
    waiting: set[asyncio.Future[Any]] = {outcome, *tasks}
    while not outcome.done():
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()  # a surface that can't be written to any more ends it all


class _LineKeyboard:
    """Lines from standard input. Without anybody who types, the one that was waited for may still come: a remark."""

    def __init__(self, attending: Attending) -> None:
        self._input = attending.standard_input
        self._typing = attending.typing
        self._expecting = attending.expecting
        self._closed = asyncio.Event()

    async def converse(self, dialogue: Dialogue) -> None:
        stop = self._listen(dialogue)
        try:
            await self._closed.wait()  # for as long as the run lasts
        finally:
            stop()

    def close(self) -> None:
        self._closed.set()

    def half_typed(self) -> str:
        return ""  # the terminal itself keeps it, and shows it

    def _listen(self, dialogue: Dialogue) -> Callable[[], None]:
        def late(line: str) -> None:
            stop()
            if line.strip():
                dialogue.remark(line.strip())

        if self._typing:
            return self._input.lines_to(dialogue.line, dialogue.leave)
        if not self._expecting:
            return lambda: None
        stop = self._input.lines_to(late, lambda: None)
        return stop


def _surface(attending: Attending) -> tuple[Surface, Keyboard]:
    if attending.json:
        return JsonSurface(attending.transcript, rehearsing=attending.rehearsing), _LineKeyboard(attending)
    if not attending.screen:
        return PlainSurface(attending.transcript), _LineKeyboard(attending)
    from flowerctl.attach.history import history
    from flowerctl.attach.screen import TerminalScreen

    screen = TerminalScreen(attending.transcript, history(attending.environment), attending.environment)
    return screen, screen


@contextmanager
def _signals(dialogue: Dialogue, early: list[int]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    handlers = {
        signal.SIGINT: dialogue.ctrl_c,
        signal.SIGHUP: dialogue.hang_up,
        signal.SIGTERM: dialogue.hang_up,
    }
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # nohup: it is meant to outlive its terminal
        del handlers[signal.SIGHUP]
    for each, handler in handlers.items():
        loop.add_signal_handler(each, handler)
    for _ in early:
        dialogue.ctrl_c()
    try:
        yield
    finally:
        for each in handlers:
            loop.remove_signal_handler(each)


def _explained(failure: Failure, texts: Texts) -> str:
    return clean_line(sentence(failure, texts.language)).rstrip("。.")
