"""One run as its workspace sees it: what can be ordered, what is told, how it can end."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from flower_protocol.runs import StartRun
from flower_protocol.workspaces import Place
from flowerd.oracle import SideQuestion
from flowerd.wire import Draft


class Ending(StrEnum):
    """How a run ended; the words cross the wire in ``run_ended``. LOGIN: its credentials were refused."""

    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"
    LOGIN = "login"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is known before the first step: how many times the folder will have been woken, and quiet lines."""

    woke: int
    checks: int = 0
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended. ``unheard`` are a person's words that reached nobody: the next run is told."""

    ending: Ending
    step: str | None = None
    error: str | None = None
    cost_usd: float = 0.0
    unheard: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a question: ``answered``, or another of the library's words for it.

    ``heard``: that is what the one who was just answering wants, be it because of these words or of the same before.
    """

    state: str
    answer: str
    heard: bool


class Sink(Protocol):
    """Where a run's events go, on the loop's thread. Whoever produces many waits for `room` now and then."""

    def take(self, draft: Draft) -> int: ...

    def stands(self, *, round: int, checks: int) -> None:
        """Which round of the work it is (0: not at the work), and how many checks the goal has."""
        ...

    async def room(self) -> None: ...


class Run(Protocol):
    """One run in one folder. Everything is called on the daemon's loop, and nothing but what is awaited takes time."""

    async def examine(self) -> None:
        """Look for what `prepare` would refuse, as far as that shows beforehand. Changes nothing. Raises `Refused`."""
        ...

    async def prepare(self) -> Prepared:
        """Set up all that can be refused. Raises `Refused`; then nothing was changed and nothing runs."""
        ...

    async def work(self, sink: Sink) -> Outcome:
        """Run to the end. Called once, after `prepare`; no child of the run lives when it returns."""
        ...

    def say(self, text: str) -> Awaitable[bool | None]:
        """A remark, for the running turn or for the next one. When this returns, the run has it.

        What comes back tells, once it is known, whether the words stand in the brief as well, on disk; None when
        the run has ended before they could, and the next one puts them there. They get there in the order in which
        they were said.
        """
        ...

    async def answer(self, question_id: str, text: str) -> Settled | None:
        """Answer an open question, with blank words: skip it. On disk when it returns.

        None when no such question was asked.
        """
        ...

    def aside(self, question: SideQuestion) -> None:
        """Have a side question looked into. An event ``aside`` tells what came of it, if the run lasts so long."""
        ...

    def pause(self) -> None:
        """Break off what runs and hold until `resume`."""
        ...

    def resume(self) -> None:
        """Go on after `pause`, with what was said since."""
        ...

    def stop(self) -> None:
        """A person ends it. Asked again it changes nothing; `work` returns soon."""
        ...

    def rescue(self, reason: str) -> None:
        """Write down the steps in flight, marked with ``reason``. Blocking but quick; from any thread."""
        ...

    def terminate(self, reason: str) -> None:
        """End every child at once; `work` returns soon."""
        ...


# Makes the run that a request asks for. The words are those that reached nobody in the run before.
Runs = Callable[[Place, StartRun, Sequence[str]], Run]
