"""What an event of a run changes in what that run waits for."""

import pytest

from flower_protocol.workspaces import Question, State
from flowerd.progress import refused
from flowerd.states import after
from flowerd.waiting import Waiting, moves
from flowerd.wire import Draft


def retry(**payload: object) -> Draft:
    return Draft("retry", "一行话", payload={"step": "干活", "attempt": 1, **payload})


def ask(name: str, state: str = "asked", **payload: object) -> Draft:
    about = {"kind": "question", "id": name, "state": state, "options": ["a", "b"], "asked_at": 1.5}
    return Draft("ask", f"{name}?", payload=about | payload)


def waiting(*drafts: Draft) -> Waiting:
    found = Waiting()
    for draft in drafts:
        found = found.after(draft)
    return found


@pytest.mark.parametrize(
    ("before", "now", "goal"),
    [
        (None, "network", State.OFFLINE),
        (None, "limit", State.LIMITED),
        (None, "overload", State.RUNNING),
        (None, "login", State.RUNNING),
        (None, None, State.RUNNING),
        ("network", None, State.RUNNING),
        ("network", "network", State.OFFLINE),
        ("network", "overload", State.RUNNING),
        ("network", "limit", State.LIMITED),
        ("limit", None, State.RUNNING),
        ("limit", "network", State.OFFLINE),
        (None, "something new", State.RUNNING),
        (None, 7, State.RUNNING),
    ],
)
def test_what_a_run_waits_for_says_where_it_stands(before: object, now: object, goal: State) -> None:
    assert waiting(retry(waiting=before), retry(waiting=now)).state is goal


def test_a_retry_that_says_nothing_of_a_wait_ends_none() -> None:
    offline = waiting(retry(waiting="network"))

    assert offline.after(Draft("retry", payload={"attempt": 2, "max_retries": 10})) == offline
    assert offline.after(Draft("text", "…", payload={"waiting": None})) == offline


def test_a_limit_that_is_met_again_has_the_new_time() -> None:
    limited = waiting(retry(waiting="limit", until=1.0), retry(waiting="limit", until=2.0))

    assert (limited.state, limited.until) == (State.LIMITED, 2.0)


@pytest.mark.parametrize(
    ("until", "read"), [(1766502000, 1766502000.0), (1.5, 1.5), (None, None), ("8pm", None), (True, None)]
)
def test_the_end_of_a_wait_is_a_number_or_unknown(until: object, read: float | None) -> None:
    assert waiting(retry(waiting="limit", until=until)).until == read


def test_the_oldest_question_is_the_first_until_it_has_an_outcome() -> None:
    asked = waiting(ask("q1"), ask("q2"))
    answered = asked.after(ask("q1", "answered", answer="a"))

    assert asked.questions[0] == Question(id="q1", text="q1?", options=("a", "b"), asked_at=1.5)
    assert [each.id for each in answered.questions] == ["q2"]
    assert (asked.state, answered.state) == (State.ASKING, State.ASKING)
    assert answered.after(ask("q2", "timeout")).state is State.RUNNING


@pytest.mark.parametrize("state", ["over_budget", "invalid", "timeout"])
def test_a_question_that_nobody_was_asked_is_never_open(state: str) -> None:
    assert waiting(ask("q1", state)) == Waiting()


def test_words_of_a_person_are_no_question() -> None:
    assert (
        waiting(Draft("ask", "也要深色", payload={"kind": "mail", "id": "m1", "state": "queued"}))
        == Waiting()
    )


def test_an_open_question_goes_before_the_network_and_leaves_it_as_it_is() -> None:
    asked = waiting(ask("q1"), retry(waiting="network"))

    assert asked.state is State.ASKING
    assert asked.after(ask("q1", "answered")).state is State.OFFLINE


@pytest.mark.parametrize("state", [state for state in State if state.active])
@pytest.mark.parametrize("goal", [state for state in State if state.active])
def test_there_is_a_way_from_each_wait_to_each_other(state: State, goal: State) -> None:
    for move in moves(state, goal):
        state = after(state, move)

    assert state is goal


def test_a_refusal_is_a_wait_for_a_login() -> None:
    assert refused(retry(waiting="login"))
    assert not refused(retry(waiting="network"))
    assert not refused(Draft("text", "login", payload={"waiting": "login"}))
