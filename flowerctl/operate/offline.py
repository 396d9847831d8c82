"""What can be said of the workspaces when no daemon answers: from the registry and the files of the runs.

Read with patience: fields that are missing have defaults, a record that can't be read is skipped, a file that
can't be read counts as empty. Nothing is written.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from flower_protocol.paths import state_dir
from flower_protocol.workspaces import State, Status, WorkspaceStatus

REGISTRY: Final = "registry.json"
MANIFEST: Final = "manifest.json"
_OPEN_TO_THE_DAEMON: Final = frozenset({"clients", "question", "until", "cost_usd", "keep"})


def status_from_files(environment: Mapping[str, str]) -> Status:
    """Every workspace that was known when the last daemon ended; one that was at work then was cut off."""
    content = _json(state_dir(environment) / REGISTRY)
    records = content.get("workspaces") if isinstance(content, Mapping) else None
    known = (_workspace(record) for record in records or () if isinstance(record, Mapping))
    return Status(daemon=None, workspaces=tuple(each for each in known if each is not None))


def _workspace(record: Mapping[str, Any]) -> WorkspaceStatus | None:
    names = {field.name for field in msgspec.structs.fields(WorkspaceStatus)} - _OPEN_TO_THE_DAEMON
    given = {name: value for name, value in record.items() if name in names}
    try:
        found = msgspec.convert(given, WorkspaceStatus)
    except msgspec.ValidationError:
        return None
    options = record.get("options")
    return msgspec.structs.replace(
        found,
        state=State.INTERRUPTED if found.state.active else found.state,
        keep=isinstance(options, Mapping) and options.get("keep") is True,
        cost_usd=_cost(Path(found.run_dir) / MANIFEST),
    )


def _cost(manifest: Path) -> float:
    rows = _json(manifest)
    costs = (
        [row.get("cost_usd") for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    )
    return round(sum(cost for cost in costs if isinstance(cost, int | float) and math.isfinite(cost)), 4)


def _json(path: Path) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
