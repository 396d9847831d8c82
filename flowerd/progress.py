"""What an event changes in what is known of its workspace: pure functions."""

from collections.abc import Mapping
from typing import Any

import msgspec

from flowerd.registry import Record
from flowerd.wire import Draft


def advanced(record: Record, draft: Draft) -> Record:
    """``record`` after the event."""
    # Who judges has a session of their own: that of the work is what a folder goes on with.
    beside = bool(draft.payload.get("judge"))
    changes = {} if beside else _changes(record, draft.kind, draft.text, draft.payload)
    return msgspec.structs.replace(record, **changes) if changes else record


def cost_of(draft: Draft) -> float:
    """What the event says was spent since the last one that said so, in US dollars."""
    cost = draft.payload.get("cost_usd") if draft.kind == "result" else None
    return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else 0.0


def refused(draft: Draft) -> bool:
    """Whether the event says that the credentials of the run were refused."""
    return draft.kind == "retry" and draft.payload.get("waiting") == "login"


def _changes(record: Record, kind: str, text: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    match kind:
        case "step":
            return {
                "step": text,
                "index": _number(payload, "index"),
                "total": _number(payload, "total"),
                "woke": _number(payload, "woke") or record.woke,
            }
        case "text" if _number(payload, "context"):
            return {"context": _number(payload, "context")}
        case "system" | "result":
            changes: dict[str, Any] = {}
            session = payload.get("session_id")
            if isinstance(session, str) and session:
                changes["session_id"] = session
            # A window that the person named stands over what the CLI reports.
            explicit = record.options.window if record.options is not None else None
            if window := explicit or _number(payload, "window"):
                changes["window"] = window
            return changes
        case _:
            return {}


def _number(payload: Mapping[str, Any], name: str) -> int:
    value = payload.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
