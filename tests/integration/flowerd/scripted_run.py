"""A run whose every step a test decides: a double for the daemon's own `Run` interface."""

import asyncio
from collections.abc import Awaitable, Sequence

from flower_protocol.control import Failure
from flower_protocol.runs import StartRun
from flower_protocol.workspaces import Place
from flowerd.oracle import SideQuestion
from flowerd.refusal import Refused
from flowerd.run import Ending, Outcome, Prepared, Settled, Sink
from flowerd.wire import Draft


class ScriptedRun:
    """Does nothing by itself; remembers its orders. See `flowerd.run.Run`."""

    def __init__(self, stage: "Stage", place: Place, request: StartRun, unheard: Sequence[str]) -> None:
        self.place = place
        self.request = request
        self.unheard = tuple(unheard)
        self.orders: list[str] = []
        self.asides: list[SideQuestion] = []
        self.sink: Sink | None = None
        self._answers: dict[str, str | None] = {}
        self._stage = stage
        self._ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    async def examine(self) -> None:
        return

    async def prepare(self) -> Prepared:
        await self._stage.gate.wait()
        if self._stage.refusal is not None:
            raise Refused(self._stage.refusal.code, **self._stage.refusal.values)
        return Prepared(woke=self._stage.woke, notices=tuple(self._stage.notices))

    async def work(self, sink: Sink) -> Outcome:
        self.sink = sink
        return await asyncio.shield(self._ended)

    async def tell(self, kind: str, text: str = "", /, **payload: object) -> None:
        """An event, with the manners that `Sink` asks for."""
        assert self.sink is not None, "the run works"
        self.sink.take(Draft(kind, text, payload=payload))
        await self.sink.room()

    async def ask(self, question_id: str, text: str, **payload: object) -> None:
        """A question of the agent."""
        self._answers[question_id] = None
        about = {"kind": "question", "id": question_id, "state": "asked", "asked_at": 1.5, "options": []}
        await self.tell("ask", text, **about | payload)

    def end(self, ending: Ending = Ending.DONE, **about: object) -> None:
        if not self._ended.done():
            self._ended.set_result(Outcome(ending, **about))  # type: ignore[arg-type]

    def break_off(self, error: Exception) -> None:
        self._ended.set_exception(error)

    def say(self, text: str) -> Awaitable[bool | None]:
        self.orders.append(f"say {text}")
        return self._stage.added()

    async def answer(self, question_id: str, text: str) -> Settled | None:
        if question_id not in self._answers:
            return None
        first = self._answers[question_id]
        if first is None:
            self._answers[question_id] = text
            state = "answered" if text else "declined"
            await self.tell("ask", "", kind="question", id=question_id, state=state, answer=text)
        given = self._answers[question_id] or ""
        return Settled("answered" if given else "declined", given, heard=given == text)

    def aside(self, question: SideQuestion) -> None:
        self.asides.append(question)

    def pause(self) -> None:
        self.orders.append("pause")

    def resume(self) -> None:
        self.orders.append("resume")

    def stop(self) -> None:
        self.orders.append("stop")
        if self._stage.obedient:
            self.end(Ending.STOPPED)

    def rescue(self, reason: str) -> None:
        self.orders.append(f"rescue {reason}")

    def terminate(self, reason: str) -> None:
        self.orders.append(f"terminate {reason}")
        if self._stage.obedient:
            self.end(Ending.FAILED, error=reason)


class Stage:
    """Makes the runs, and holds what they have in common."""

    def __init__(self) -> None:
        self.runs: list[ScriptedRun] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.refusal: Failure | None = None
        self.notices: list[str] = []
        self.woke = 1
        self.brief = asyncio.Event()
        self.brief.set()
        self.in_brief: bool | None = True
        self.obedient = True

    def __call__(self, place: Place, request: StartRun, unheard: Sequence[str]) -> ScriptedRun:
        self.runs.append(ScriptedRun(self, place, request, unheard))
        return self.runs[-1]

    async def added(self) -> bool | None:
        """What becomes of words in the brief, once that is there."""
        await self.brief.wait()
        return self.in_brief

    @property
    def run(self) -> ScriptedRun:
        """The latest run."""
        return self.runs[-1]
