"""What there is to go on with in a folder: the library's look at it, and what nobody has seen yet."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import msgspec

from flower.core.words import Words
from flower_protocol.workspaces import Place, Wake
from flowerd.identity import require_folder
from flowerd.shared import Shared
from flowerd.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Found:
    """What the folder itself tells."""

    used: bool
    confirmed: bool
    woke: int
    checks: int
    context: int
    notice: Words | None


async def look(workspace: Workspace, shared: Shared, language: str) -> Wake:
    """The answer to ``GET /v1/wake``. Writes nothing. Raises `Refused` when the workspace is no folder."""
    loop = asyncio.get_running_loop()
    last = workspace.standing.record.options
    isolate = last is not None and last.isolate
    found = await loop.run_in_executor(shared.outside, _found, workspace.place, isolate)
    await workspace.standing.refresh()
    position, last_seq = await workspace.journal.standing(workspace.standing.seen)
    status = workspace.standing.status()
    status = msgspec.structs.replace(
        status,
        # The run that comes counts on from its lineage, whatever was known before that was lost.
        woke=status.woke if status.state.active else found.woke,
        checks=found.checks,
        context=status.context or found.context,
    )
    notices = (shared.registry.take_notice(), found.notice)
    return Wake(
        status=status,
        # Words that no run has heard are something to go on with, too.
        used=found.used or bool(await workspace.mailbox.unheard()),
        confirmed=found.confirmed,
        checks=found.checks,
        context=found.context,
        notices=tuple(words.spoken(language) for words in notices if words is not None),
        generation=position.generation,
        last_seq=last_seq,
        seen=position.seq,
    )


def _found(place: Place, isolate: bool) -> Found:
    from flower.core.lineage import Lineage
    from flower.stores.sqlite import last_context_of
    from flower.workflow.starter import WORK, wake_state

    require_folder(place)
    workspace, run_dir = Path(place.workspace), Path(place.run_dir)
    state = wake_state(workspace, run_dir=run_dir, isolate=isolate)
    lineage = Lineage.open(run_dir, workspace)
    session = state["steps"].get(WORK)
    return Found(
        used=bool(state["steps"] or state["waking"] or lineage.words or lineage.request),
        confirmed=state["waking"],
        woke=state["woke"],
        checks=state["checks"],
        context=last_context_of(run_dir, workspace, session) if session else 0,
        notice=lineage.notice,
    )
