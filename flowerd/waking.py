"""What there is to go on with in a folder: the library's look at it, and what nobody has seen yet."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import msgspec

from flower_protocol.workspaces import Place, Wake
from flowerd.shared import Shared
from flowerd.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Found:
    """What the folder itself tells."""

    used: bool
    woke: int
    checks: int
    context: int


async def look(workspace: Workspace, shared: Shared) -> Wake:
    """The answer to ``GET /v1/wake``. Writes nothing."""
    loop = asyncio.get_running_loop()
    found = await loop.run_in_executor(shared.pool, _found, workspace.place)
    await workspace.standing.refresh()
    position, last_seq = await workspace.journal.standing(workspace.standing.seen)
    status = workspace.standing.status()
    status = msgspec.structs.replace(
        status,
        woke=max(status.woke, found.woke),
        checks=found.checks,
        context=status.context or found.context,
    )
    return Wake(
        status=status,
        used=found.used,
        checks=found.checks,
        context=found.context or status.context,
        generation=position.generation,
        last_seq=last_seq,
        seen=position.seq,
    )


def _found(place: Place) -> Found:
    from flower.stores.sqlite import last_context_of
    from flower.workflow.starter import WORK, wake_state

    workspace, run_dir = Path(place.workspace), Path(place.run_dir)
    state = wake_state(workspace, run_dir=run_dir)
    session = state["steps"].get(WORK)
    context = last_context_of(run_dir, workspace, session) if session else 0
    return Found(bool(state["steps"]), state["woke"], state["checks"], context)
