"""What an event of a run changes in what is known of its workspace."""

import pytest

from flower_protocol.workspaces import State
from flowerd.progress import moves, refused, until_of
from flowerd.states import Move, after
from flowerd.wire import Draft


def retry(**payload: object) -> Draft:
    return Draft("retry", "一行话", payload={"step": "干活", "attempt": 1, **payload})


@pytest.mark.parametrize(
    ("state", "waiting", "goal"),
    [
        (State.RUNNING, "network", State.OFFLINE),
        (State.RUNNING, "limit", State.LIMITED),
        (State.RUNNING, "overload", State.RUNNING),
        (State.RUNNING, None, State.RUNNING),
        (State.RUNNING, "login", State.RUNNING),
        (State.OFFLINE, None, State.RUNNING),
        (State.OFFLINE, "network", State.OFFLINE),
        (State.OFFLINE, "overload", State.RUNNING),
        (State.OFFLINE, "limit", State.LIMITED),
        (State.LIMITED, None, State.RUNNING),
        (State.LIMITED, "network", State.OFFLINE),
        (State.LIMITED, "limit", State.LIMITED),
        (State.ASKING, "network", State.ASKING),
        (State.ASKING, None, State.ASKING),
        (State.RUNNING, "something new", State.RUNNING),
        (State.RUNNING, 7, State.RUNNING),
        (State.DORMANT, "network", State.DORMANT),
    ],
)
def test_what_a_run_waits_for_says_where_it_stands(state: State, waiting: object, goal: State) -> None:
    for move in moves(state, retry(waiting=waiting, until=None)):
        state = after(state, move)

    assert state is goal


def test_a_retry_that_says_nothing_of_a_wait_ends_none() -> None:
    assert moves(State.OFFLINE, Draft("retry", payload={"attempt": 2, "max_retries": 10})) == ()
    assert moves(State.OFFLINE, Draft("text", "…", payload={"waiting": None})) == ()


def test_a_limit_that_is_met_again_moves_so_that_the_new_time_is_told() -> None:
    assert moves(State.LIMITED, retry(waiting="limit", until=2.0)) == (Move.GO_ON, Move.HIT_LIMIT)


@pytest.mark.parametrize(
    ("until", "read"), [(1766502000, 1766502000.0), (1.5, 1.5), (None, None), ("8pm", None), (True, None)]
)
def test_the_end_of_a_wait_is_a_number_or_unknown(until: object, read: float | None) -> None:
    assert until_of(retry(waiting="limit", until=until)) == read


def test_a_refusal_is_a_wait_for_a_login() -> None:
    assert refused(retry(waiting="login"))
    assert not refused(retry(waiting="network"))
    assert not refused(Draft("text", "login", payload={"waiting": "login"}))
