"""What happens in a run, numbered, on its way to the screens."""

from typing import Any

import msgspec


class EventRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a workspace's journal.

    ``seq`` counts from 1 within a generation, without gaps. ``kind`` is one of the library's event kinds
    (text, thinking, prompt, tool_call, tool_result, task, system, reset, result, error, unknown, retry, interrupt,
    notice, step, ask, handoff, judge) or of the daemon's own (``run_started``, ``run_ended``, ``remark``,
    ``interrupted``, ``resumed``, ``aside``, ``notice``). A reader shows a kind it doesn't know by its text alone.
    """

    seq: int
    at: float
    kind: str
    text: str = ""
    tool: str = ""
    payload: dict[str, Any] = {}
