"""A usage limit's own text says when it ends."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower.core.limits import SHORTEST_WAIT_SECONDS, limit_reset

NEW_YORK = ZoneInfo("America/New_York")
# A Tuesday, ten in the morning in New York.
NOW = datetime(2025, 12, 2, 15, 0, tzinfo=UTC).timestamp()


def at(*when: int, zone: ZoneInfo | None = None) -> float:
    return datetime(*when, tzinfo=zone or UTC).timestamp()  # type: ignore[arg-type,misc]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Claude AI usage limit reached|1766502000", 1766502000.0),
        ("Claude AI usage limit reached|1766502000123", 1766502000.123),
        ("You've hit your session limit · resets 8pm (America/New_York)", at(2025, 12, 2, 20, zone=NEW_YORK)),
        (
            "You've hit your session limit · resets 8:45pm (America/New_York)",
            at(2025, 12, 2, 20, 45, zone=NEW_YORK),
        ),
        ("You've hit your session limit · resets 9am (America/New_York)", at(2025, 12, 3, 9, zone=NEW_YORK)),
        ("5-hour limit reached ∙ resets 12am (UTC)", at(2025, 12, 3)),
        ("5-hour limit reached ∙ resets 12pm (UTC)", at(2025, 12, 3, 12)),
        ("You've hit your weekly limit · resets Dec 5 at 3:30pm (UTC)", at(2025, 12, 5, 15, 30)),
        ("You've hit your weekly limit · resets Dec 5, 3:30pm (UTC)", at(2025, 12, 5, 15, 30)),
        ("You've hit your weekly limit · resets Dec 5, 3pm (UTC)", at(2025, 12, 5, 15)),
        ("You've hit your weekly limit · resets Jan 2, 2026, 3pm (UTC)", at(2026, 1, 2, 15)),
        ("You've hit your weekly limit · resets Jan 2 at 3pm (UTC)", at(2026, 1, 2, 15)),
        ("You've hit your weekly limit · resets Dec 31 (Asia/Shanghai)", at(2025, 12, 30, 16)),
        ("Your limit will reset at 3pm (America/New_York).", at(2025, 12, 2, 15, zone=NEW_YORK)),
        ("limit reached, resets at 18:30 (UTC)", at(2025, 12, 2, 18, 30)),
        ("usage limit · resets in 2h 30m", NOW + 9000),
        ("usage limit · resets in 1 day, 2 hours", NOW + 93600),
        ("rate limit · resets in 45 minutes", NOW + 2700),
    ],
)
def test_the_time_is_read(text: str, moment: float) -> None:
    assert limit_reset(text, NOW) == moment


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "You've hit your weekly limit",
        "429 Too Many Requests",
        "resets soon",
        "resets 3",
        "resets 25pm (UTC)",
        "resets 8pm (Mars/Olympus)",
        "resets Feb 31 at 3pm (UTC)",
        "connection reset by peer at 8pm",
        "connection reset 12:30:01",
        "git reset --hard, 8pm",
    ],
)
def test_what_names_no_time_gives_none(text: str | None) -> None:
    assert limit_reset(text, NOW) is None


def test_a_clock_without_a_zone_is_the_machines_own() -> None:
    assert limit_reset("resets 8pm", NOW, local=NEW_YORK) == at(2025, 12, 2, 20, zone=NEW_YORK)


def test_a_reset_that_has_just_come_is_not_tomorrows() -> None:
    five_past_eight = at(2025, 12, 2, 20, 5)

    assert limit_reset("resets 8pm (UTC)", five_past_eight) == five_past_eight + SHORTEST_WAIT_SECONDS


def test_the_clock_that_changes_overnight_is_followed() -> None:
    before_spring_forward = at(2026, 3, 7, 22, zone=NEW_YORK)

    reset = limit_reset("resets 9pm (America/New_York)", before_spring_forward)

    assert reset == at(2026, 3, 8, 21, zone=NEW_YORK)
    assert reset - before_spring_forward == 22 * 3600  # the night has one hour less


@given(
    text=st.text(alphabet="resetsin at,:()|0123456789apmDecJFbMrUTCh ", max_size=60),
    now=st.integers(0, 4 * 10**9),
)
def test_no_text_makes_anybody_fail_or_spin(text: str, now: int) -> None:
    reset = limit_reset(f"limit reached · resets {text}", float(now))

    assert reset is None or reset >= now + SHORTEST_WAIT_SECONDS
