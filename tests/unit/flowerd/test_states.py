"""The table of states: what is in it, and that nothing else is possible."""

import pytest

from flower_protocol.workspaces import State
from flowerd.states import MOVES, IllegalMove, Move, after


def test_every_state_has_a_row() -> None:
    assert set(MOVES) == set(State)


@pytest.mark.parametrize("state", [State.DORMANT, State.FAILED, State.INTERRUPTED])
def test_what_rests_can_only_be_woken(state: State) -> None:
    assert dict(MOVES[state]) == {Move.START: State.RUNNING}


def test_what_was_refused_a_login_is_woken_or_let_be() -> None:
    assert not State.LOGIN.active
    assert dict(MOVES[State.LOGIN]) == {Move.START: State.RUNNING, Move.END: State.DORMANT}


@pytest.mark.parametrize("state", [state for state in State if state.active])
def test_whatever_is_in_flight_can_end_fail_be_refused_or_be_cut_off(state: State) -> None:
    ends = {move: MOVES[state].get(move) for move in (Move.END, Move.FAIL, Move.NEED_LOGIN, Move.CUT_OFF)}

    assert ends == {
        Move.END: State.DORMANT,
        Move.FAIL: State.FAILED,
        Move.NEED_LOGIN: State.LOGIN,
        Move.CUT_OFF: State.INTERRUPTED,
    }


@pytest.mark.parametrize("state", [State.ASKING, State.OFFLINE, State.LIMITED])
def test_what_waits_goes_on_to_running_and_nowhere_else(state: State) -> None:
    assert MOVES[state][Move.GO_ON] is State.RUNNING
    assert not {Move.START, Move.ASK, Move.LOSE_NETWORK} & MOVES[state].keys()


def test_an_illegal_move_is_a_failed_look_up_that_names_it() -> None:
    with pytest.raises(IllegalMove, match="START while running"):
        after(State.RUNNING, Move.START)
