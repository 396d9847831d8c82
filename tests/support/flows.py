"""The whole flow in a folder of its own: a story's script, the roles that play it, and the person who is asked."""

import asyncio
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from flower import Event, Goal, HandoffPolicy, Runtime, starter_flow
from flower.core.documents import Brief
from flower.rehearsal import Rehearsal, Script
from flower.rehearsal.record import Request
from flower.workflow.starter import StarterFlow
from tests.support.runs import ROLES, agreeable, environment, lineage, rows

STORIES = Path(__file__).parents[1] / "integration" / "scripts"


def story(name: str) -> Script:
    """The script of that name, with the roles of the flow; of those it has no scene for, each is agreeable."""
    return dressed(tomllib.loads((STORIES / f"{name}.toml").read_text()))


def dressed(script: dict[str, Any]) -> Script:
    """The same of a script that is plain data."""
    played = {scene["role"] for scene in script["scenes"]}
    others = [scene for scene in agreeable() if scene.role not in played]
    script["scenes"] += msgspec.to_builtins(others)
    return msgspec.convert({**script, "roles": msgspec.to_builtins(ROLES)}, Script)


class FlowFolder:
    """A folder that is woken again and again, each wake with a runtime of its own; ``events`` are the last one's."""

    def __init__(self, folder: Path, model: Rehearsal) -> None:
        self.model = model
        self.workspace, self.run_dir = folder / "work", folder / "runs"
        self.notes = self.workspace / ".flower" / "notes"
        self.brief, self.goal = self.notes / "需求.md", self.notes / "目标.md"
        self.events: list[Event] = []
        self.asked: list[str] = []
        self.runtime: Runtime | None = None
        self.flow: StarterFlow | None = None
        self._before = 0

    def settle(self, accept: str, *checks: str) -> "FlowFolder":
        """Freeze a brief and a goal, for a story that begins with the work."""
        Brief("一个小工具", accept, "不做别的", "无").write(self.brief)
        Goal("小工具做好了", list(checks)).write(self.goal)
        return self

    async def wake(
        self,
        words: str | None = None,
        *,
        replies: Sequence[str] | None = (),
        meanwhile: Callable[[], Any] | None = None,
        handoff: HandoffPolicy | bool = True,
        budget: float | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        """One wake to its end; returns the context.

        ``replies`` answer its questions in their order, and whatever else is asked is skipped; None: nobody is there.
        ``meanwhile`` is awaited beside it.
        """
        self.events, self.asked = [], []
        self._before = len(self.model.requests)
        flow = self.flow = starter_flow(words, workspace=self.workspace, run_dir=self.run_dir, **options)
        runtime = self.runtime = Runtime(
            workspace=self.workspace,
            run_dir=self.run_dir,
            workbench=flow.workbench,
            trim=True,
            handoff=handoff,
            max_budget_usd=budget,
            environment=environment(self.model),
        )
        company = [self._reply(flow, list(replies))] if replies is not None else []
        person = [asyncio.create_task(each, name="person") for each in company]
        beside = [asyncio.create_task(meanwhile(), name="meanwhile")] if meanwhile is not None else []
        try:
            ctx = await flow.run(runtime, on_event=self.events.append)
            await asyncio.gather(*beside)
            return ctx
        finally:
            for task in (*person, *beside):
                task.cancel()
            flow.channel.close()
            await runtime.aclose()

    async def _reply(self, flow: StarterFlow, replies: list[str]) -> None:
        while True:
            ask = await flow.channel.next_ask()
            assert ask is not None
            self.asked.append(ask.question)
            flow.channel.answer(ask.id, replies.pop(0) if replies else "")

    # What was seen

    def requests(self, role: str) -> list[Request]:
        """What the model was asked in the last wake as one of the flow's roles."""
        return [each for each in self.model.requests[self._before :] if each.role == role]

    def steps(self) -> list[tuple[str, bool]]:
        """The manifest's rows of the last wake: the step, and whether it ended well."""
        assert self.runtime is not None
        written = rows(self.run_dir)
        return [(row["step"], row["ok"]) for row in written if row["run"] == self.runtime.run_id]

    def row(self, step: str) -> dict[str, Any]:
        """The last row of that step."""
        return next(row for row in reversed(rows(self.run_dir)) if row["step"] == step)

    def sessions(self) -> dict[str, str]:
        steps: dict[str, str] = lineage(self.run_dir)["steps"]
        return steps

    def pages(self) -> dict[str, bytes]:
        """The contents of all pages of the workbench's notes."""
        return {path.name: path.read_bytes() for path in self.notes.glob("*.md")}
