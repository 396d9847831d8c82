"""What an event changes in what is known of its workspace: pure functions."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from flower_protocol.workspaces import State
from flowerd.registry import Record
from flowerd.states import Move
from flowerd.wire import Draft

# What a run can wait for, and where it stands meanwhile. An overload is waited out at work, and who is refused
# a login doesn't wait: the run ends.
_WAITS: Final = {"network": State.OFFLINE, "limit": State.LIMITED}
_INTO: Final = {State.OFFLINE: Move.LOSE_NETWORK, State.LIMITED: Move.HIT_LIMIT}
_MOVABLE: Final = frozenset({State.RUNNING, *_INTO})  # an open question stays what it waits for


def advanced(record: Record, draft: Draft) -> Record:
    """``record`` after the event."""
    changes = _changes(record, draft.kind, draft.text, draft.payload)
    return msgspec.structs.replace(record, **changes) if changes else record


def cost_of(draft: Draft) -> float:
    """What the event says was spent since the last one that said so, in US dollars."""
    cost = draft.payload.get("cost_usd") if draft.kind == "result" else None
    return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else 0.0


def moves(state: State, draft: Draft) -> tuple[Move, ...]:
    """How the event moves a run in flight that stands at ``state``: into a wait, out of one, or not at all."""
    if draft.kind != "retry" or "waiting" not in draft.payload or state not in _MOVABLE:
        return ()
    goal = _WAITS.get(_word(draft.payload, "waiting"))
    if state is goal and state is not State.LIMITED:  # a limit may say another time
        return ()
    leave = (Move.GO_ON,) if state in _INTO else ()
    return (*leave, _INTO[goal]) if goal is not None else leave


def until_of(draft: Draft) -> float | None:
    """When the wait that the event speaks of ends, in epoch seconds."""
    until = draft.payload.get("until")
    return float(until) if isinstance(until, int | float) and not isinstance(until, bool) else None


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
                "round": _number(payload, "round"),
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


def _word(payload: Mapping[str, Any], name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""
