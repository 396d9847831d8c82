"""What somebody whom a gate has sent out says at the very end: that counts, and nothing before it."""

from dataclasses import replace

from flower.core.events import Event
from flower.core.result import StepResult
from flower.workflow.base import Ctx
from flower.workflow.frozen import tell


class LastWords:
    """Listens to a run, and keeps what its main thread said after its last tool call.

    What it hears it passes on with ``judge`` in the payload: to whoever looks on, it is not the step's own.
    """

    def __init__(self, ctx: Ctx) -> None:
        self._ctx = ctx
        self._said: list[str] = []
        self._heard = False

    def __call__(self, event: Event) -> None:
        tell(self._ctx, replace(event, payload={**event.payload, "judge": True}))
        if event.payload.get("subagent", True):
            return
        self._heard = True
        if event.kind == "text":
            self._said.append(event.text)
        elif event.kind in ("tool_call", "prompt"):
            self._said.clear()

    def of(self, result: StepResult) -> str:
        """The last words of the run whose result this is; all of its words if none were heard."""
        return "\n".join(self._said) if self._heard else result.text
