"""A step's own cost, out of a session's running total."""

from flower.core.spending import Spending


def test_only_what_comes_on_top_of_the_session_is_the_steps_own() -> None:
    spending = Spending()
    spending.open(2.0)
    assert spending.report(2.5) == 0.5
    assert spending.total == 0.5


def test_a_resume_of_the_same_session_counts_nothing_twice() -> None:
    spending = Spending()
    spending.open(0.0)
    spending.report(1.0)
    spending.open(1.0)
    spending.report(1.5)
    assert spending.total == 1.5


def test_a_new_session_adds_to_what_the_last_one_cost() -> None:
    spending = Spending()
    spending.open(3.0)
    spending.report(4.0)
    spending.open(0.0)
    spending.report(0.25)
    assert spending.total == 1.25


def test_a_report_of_no_turn_takes_nothing_back() -> None:
    spending = Spending()
    spending.open(2.0)
    assert spending.report(None) == 0.0
    assert spending.report(1.0) == 0.0
    assert spending.total == 0.0
