"""Who looks into side questions: an agent of its own beside the run, which knows what happened there lately.

It has a run_dir of its own, ``aside`` in that of the run: no row, no session and no word of it gets near the run.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flower.core.events import Event
from flower.core.result import StepResult
from flower.core.words import Words
from flower_protocol.workspaces import Place
from flowerd.wire import Draft

if TYPE_CHECKING:
    from flower.core.runtime import Runtime
    from flower.core.workbench import Workbench

logger = logging.getLogger(__name__)

FOLDER: Final = "aside"
LOOK_SECONDS: Final = 300.0
FINISH_SECONDS: Final = 120.0

_PROMPT: Final = Words(
    "{question}\n\n下面是它最近发生的事,旧的在前,每条只留开头:\n\n{scene}\n\n{places}",
    "{question}\n\nThis is what happened there lately, the oldest first, only the beginning of each:"
    "\n\n{scene}\n\n{places}",
)
_NOTHING_YET: Final = Words("(还没有)", "(nothing yet)")
_WORKBENCH: Final = Words(
    "工作台在 {root},索引是 {index},需求和目标在 {notes}。",
    "The workbench is {root}, its index {index}; the brief and the goal are in {notes}.",
)
_LAST_ONES: Final = Words("(等 {count} 条旁路问答收尾…)", "(waiting for {count} side questions…)")
_ENDED: Final = Words("运行停下了,没来得及答。", "the run has ended before it could be answered.")
_TOO_LONG: Final = Words("看了太久,没有答出来。", "it took too long.")


@dataclass(frozen=True, slots=True)
class SideQuestion:
    """What somebody wants to know. ``scene`` is what happened lately, as text."""

    id: str
    text: str
    who: str = ""
    scene: str = ""


class Oracle:
    """Looks into the side questions of one run, and tells of each in one event ``aside``.

    `end` may be called from any thread; all else belongs to the run's loop.
    """

    def __init__(
        self,
        place: Place,
        environment: Mapping[str, str],
        language: str,
        workbench: "Workbench | None",
        tell: Callable[[Draft], None],
    ) -> None:
        self._place = place
        self._environment = environment
        self._language = language
        self._workbench = workbench
        self._tell = tell
        self._looking: set[asyncio.Task[None]] = set()
        self._runtimes: set[Runtime] = set()
        self._ended = False

    def ask(self, question: SideQuestion) -> None:
        """Look into it; the answer comes as an event."""
        task = asyncio.create_task(self._look(question), name=f"side question {question.id}")
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    async def finish(self) -> None:
        """Returns when all that was asked is answered; what takes more than `FINISH_SECONDS` is ended."""
        if self._looking and not self._ended:
            words = Words(*(each.format(count=len(self._looking)) for each in _LAST_ONES))
            self._tell(Draft("notice", words.spoken(self._language), payload=words._asdict()))
            await asyncio.wait(self._looking, timeout=FINISH_SECONDS)
        self.end()
        while self._looking:  # their agents end within seconds
            await asyncio.wait(self._looking)

    def end(self) -> None:
        """Answer nothing any more: whoever is looking is ended at once."""
        self._ended = True
        for runtime in tuple(self._runtimes):
            runtime.stop(runtime.KILLED)
            runtime.terminate()

    async def _look(self, question: SideQuestion) -> None:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                draft = await self._answered(question)
        except TimeoutError:
            draft = self._failed(question, _TOO_LONG.spoken(self._language))
        except Exception as error:
            # The edge of a side question: whatever it lets through is nobody else's trouble.
            logger.exception("a side question in %s failed", self._place.workspace)
            draft = self._failed(question, f"{type(error).__name__}: {error}")
        self._tell(draft)

    async def _answered(self, question: SideQuestion) -> Draft:
        from flower.core.roles import oracle

        words = _LastWords()
        runtime = await asyncio.to_thread(self._runtime)
        self._runtimes.add(runtime)
        try:
            if self._ended:
                return self._failed(question, _ENDED.spoken(self._language))
            result = await runtime.run(
                oracle(language=self._language), self._prompt(question), on_event=words
            )
        finally:
            self._runtimes.discard(runtime)
            await runtime.aclose()
        text = words.of(result)
        if result.ok and text:
            return _told(question, text, ok=True, cost=result.cost_usd)
        why = _ENDED.spoken(self._language) if self._ended else result.error or "?"
        return self._failed(question, why, result.cost_usd)

    def _runtime(self) -> "Runtime":
        from flower.core.runtime import Runtime

        return Runtime(
            workspace=self._place.workspace,
            run_dir=Path(self._place.run_dir) / FOLDER,
            environment=self._environment,
            handle_signals=False,
            resilience=False,
            handoff=False,
        )

    def _prompt(self, question: SideQuestion) -> str:
        bench, language, places = self._workbench, self._language, ""
        if bench is not None:
            places = _WORKBENCH.spoken(language).format(
                root=bench.root, index=bench.index_path, notes=bench.notes
            )
        scene = question.scene or _NOTHING_YET.spoken(language)
        prompt = _PROMPT.spoken(language).format(question=question.text, scene=scene, places=places)
        return prompt.strip()

    def _failed(self, question: SideQuestion, why: str, cost: float = 0.0) -> Draft:
        return _told(question, " ".join(why.split())[:500], ok=False, cost=cost)


class _LastWords:
    """What was said after the last call of a tool: the answer, without the way to it."""

    def __init__(self) -> None:
        self._said: list[str] = []

    def __call__(self, event: Event) -> None:
        if event.kind == "text":
            self._said.append(event.text)
        elif event.kind == "tool_call":
            self._said.clear()

    def of(self, result: StepResult) -> str:
        return ("\n".join(self._said) or result.text).strip()


def _told(question: SideQuestion, text: str, *, ok: bool, cost: float) -> Draft:
    about = {"id": question.id, "who": question.who, "question": question.text, "ok": ok, "cost_usd": cost}
    return Draft("aside", text, payload=about)
