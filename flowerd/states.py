"""Where a workspace can stand, and what moves it from there: a table, so an illegal move is a failed look-up."""

from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import Final

from flower_protocol.workspaces import State


class Move(Enum):
    """What can happen to a workspace."""

    START = auto()
    ASK = auto()
    LOSE_NETWORK = auto()
    HIT_LIMIT = auto()
    NEED_LOGIN = auto()
    GO_ON = auto()
    END = auto()
    FAIL = auto()
    CUT_OFF = auto()


class IllegalMove(LookupError):
    """The table has no such move: a bug, not a mistake of a person."""


def after(state: State, move: Move) -> State:
    """Where ``move`` leads from ``state``. Raises `IllegalMove`."""
    try:
        return MOVES[state][move]
    except KeyError:
        raise IllegalMove(f"{move.name} while {state.value}") from None


_WAKE: Final = {Move.START: State.RUNNING}
_LEAVE: Final = {
    Move.END: State.DORMANT,
    Move.FAIL: State.FAILED,
    Move.NEED_LOGIN: State.LOGIN,
    Move.CUT_OFF: State.INTERRUPTED,
}
_WAIT: Final = {Move.GO_ON: State.RUNNING} | _LEAVE

MOVES: Final[Mapping[State, Mapping[Move, State]]] = MappingProxyType(
    {
        State.DORMANT: _WAKE,
        State.FAILED: _WAKE,
        State.INTERRUPTED: _WAKE,
        # A person may also say that it should not go on by itself.
        State.LOGIN: _WAKE | {Move.END: State.DORMANT},
        State.RUNNING: {
            Move.ASK: State.ASKING,
            Move.LOSE_NETWORK: State.OFFLINE,
            Move.HIT_LIMIT: State.LIMITED,
        }
        | _LEAVE,
        State.ASKING: _WAIT,
        State.OFFLINE: _WAIT,
        State.LIMITED: _WAIT,
    }
)
