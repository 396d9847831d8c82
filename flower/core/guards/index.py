"""What an agent writes into the workbench is in its index at once."""

import asyncio
from pathlib import Path
from typing import Any

from flower.core.guards.hook import Call, matcher
from flower.core.workbench import Workbench


def index_guard(workbench: Workbench) -> Any:
    """A matcher that refreshes the index after a Write or Edit of a file in the workbench; it has no opinion."""

    async def guard(call: Call, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        path = call["tool_input"].get("file_path")
        if isinstance(path, str) and workbench.holds(Path(call.get("cwd") or workbench.workspace, path)):
            await asyncio.to_thread(workbench.refresh)
        return {}

    return matcher("Write|Edit", guard)
