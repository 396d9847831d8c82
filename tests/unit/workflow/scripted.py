"""A run whose steps a test answers: everything about it is real but the child and its model."""

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flower import AgentSpec, Event, Runtime, Step, StepResult, Workflow
from tests.support.runs import lineage, rows

TERSE = AgentSpec("terse", "Say little.")


@dataclass
class Answer:
    """What becomes of one call of `Runtime.run`.

    ``sessions`` are those that take over one after another; none given, it is the resumed one or a new one.
    ``transcript``: whether the last of them lives in the store afterwards. ``during`` is called once the session
    is known; ``raises`` is raised then. ``spoken``: the text also comes as an event, as it does from a model.
    """

    text: str = "done"
    ok: bool = True
    sessions: list[str] = field(default_factory=list)
    transcript: bool = True
    during: Callable[[], object] | None = None
    raises: Exception | None = None
    spoken: bool = False


@dataclass(frozen=True)
class Asked:
    """What a step was started with."""

    step: str
    prompt: str
    resume: str | None
    fork: bool


class ScriptedRuntime(Runtime):
    """Store, lineage, leases and manifest are those of any run; `asked` tells what the steps wanted."""

    def __init__(
        self,
        workspace: Path,
        run_dir: Path,
        *answers: Answer,
        by_step: Callable[[str], Answer] | None = None,
        **options: Any,
    ) -> None:
        environment = {**os.environ, "ANTHROPIC_API_KEY": "made-up"}
        super().__init__(workspace=workspace, run_dir=run_dir, environment=environment, **options)
        self.asked: list[Asked] = []
        self._by_step = by_step or (lambda name: Answer())
        self._answers = list(answers)

    async def run(
        self,
        spec: AgentSpec,
        prompt: str,
        *,
        step_name: str | None = None,
        resume: str | None = None,
        fork: bool = False,
        resume_at: str | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> StepResult:
        name = step_name or spec.name
        self.asked.append(Asked(name, prompt, resume, fork))
        answer = self._answers.pop(0) if self._answers else self._by_step(name)
        own = resume if resume is not None and not fork else str(uuid.uuid4())
        sessions = answer.sessions or [own]
        for session in sessions:
            if self.on_session is not None:
                self.on_session(session)
        if answer.spoken and on_event is not None:
            on_event(Event("text", answer.text, payload={"subagent": False}))
        if answer.during is not None:
            answer.during()
        if answer.raises is not None:
            raise answer.raises
        if answer.transcript:
            self.speak(sessions[-1])
        error = None if answer.ok else "it went wrong"
        result = StepResult(name, sessions[-1], answer.ok, text=answer.text, error=error)
        self.results.append(result)
        self.record()
        return result

    def speak(self, session: str) -> None:
        """Give the session a transcript."""
        entry = {"type": "user", "uuid": str(uuid.uuid4()), "message": {"role": "user", "content": "hi"}}
        self.store.append_sync({"project_key": self.project_key, "session_id": session}, [entry])


class Folder:
    """One folder that is woken again and again; each `run` is a process of its own."""

    def __init__(self, path: Path) -> None:
        self.workspace = path / "work"
        self.run_dir = path / "runs"
        self.events: list[Event] = []
        self.asked: list[Asked] = []

    async def run(self, *steps: Step, answers: tuple[Answer, ...] = (), **options: Any) -> dict[str, Any]:
        """Take the steps in a new run; afterwards `asked` and `events` are those of this run."""
        self.events.clear()
        runtime = ScriptedRuntime(self.workspace, self.run_dir, *answers)
        try:
            return await Workflow(list(steps), **options).run(runtime, on_event=self.events.append)
        finally:
            self.asked = runtime.asked
            runtime.close()

    @property
    def lineage(self) -> dict[str, Any]:
        return lineage(self.run_dir)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return rows(self.run_dir)

    def notices(self) -> list[str]:
        return [event.text for event in self.events if event.kind == "notice"]
