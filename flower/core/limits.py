"""When a usage limit ends, as its own text says: `limit_reset`."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

# A reset that has just come is not waited for until tomorrow: the text shows whole minutes, and takes a
# moment to arrive.
JUST_PASSED = timedelta(minutes=10)
# What comes back lies at least this far ahead, so that a stale text can't make anybody spin.
SHORTEST_WAIT_SECONDS = 60.0

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_EPOCH = re.compile(r"limit reached\s*\|\s*(\d{10,13})\b", re.IGNORECASE)
# Connections are "reset", too: without the s it takes an "at".
_RESETS = r"\b(?:resets(?:\s+at|:)?|reset\s+at)\s+"
_CLOCK = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>[ap]\.?m\b\.?)?"
_ZONE = r"(?:\s*\((?P<zone>[A-Za-z][\w+\-/]*)\))?"
_DATED = re.compile(
    _RESETS
    + r"(?:on\s+)?(?P<month>"
    + "|".join(_MONTHS)
    + r")[a-z]*\.?\s+(?P<day>\d{1,2})"
    + r"(?:,\s*(?P<year>\d{4}))?(?:(?:,|\s+at)\s+"
    + _CLOCK
    + ")?"
    + _ZONE,
    re.IGNORECASE,
)
_DAILY = re.compile(_RESETS + _CLOCK + _ZONE, re.IGNORECASE)
_SPAN = re.compile(
    r"\bresets\s+in\s+(?:(?P<days>\d+)\s*d(?:ays?)?\b,?\s*)?(?:(?P<hours>\d+)\s*h(?:(?:ou)?rs?)?\b,?\s*)?"
    r"(?:(?P<minutes>\d+)\s*m(?:in(?:ute)?s?)?\b,?\s*)?(?:(?P<seconds>\d+)\s*s(?:ec(?:ond)?s?)?\b)?",
    re.IGNORECASE,
)


def limit_reset(text: str | None, now: float, local: tzinfo | None = None) -> float | None:
    """The time, in seconds since 1970, when the limit that `text` speaks of ends; None when it doesn't say.

    Knows ``…limit reached|1766502000``, ``resets 8pm (America/New_York)``, ``resets Dec 5 at 3:30pm (UTC)`` and
    ``resets in 2h 30m``. `now` is in the same seconds; a clock time without a zone is one of `local`, by
    default the machine's own. Never earlier than a minute from `now`.
    """
    if not text:
        return None
    moment = _epoch(text) or _after_span(text, now) or _on_calendar(text, now, local)
    return None if moment is None else max(moment, now + SHORTEST_WAIT_SECONDS)


def _epoch(text: str) -> float | None:
    match = _EPOCH.search(text)
    if match is None:
        return None
    digits = match[1]
    return float(digits) / (1000 if len(digits) == 13 else 1)


def _after_span(text: str, now: float) -> float | None:
    match = _SPAN.search(text)
    if match is None or not any(match.groups()):
        return None
    parts = {unit: int(amount) for unit, amount in match.groupdict(default="0").items()}
    return now + timedelta(**parts).total_seconds()


def _on_calendar(text: str, now: float, local: tzinfo | None) -> float | None:
    match = _DATED.search(text) or _DAILY.search(text)
    if match is None or not _plausible(match):
        return None
    try:
        present = datetime.fromtimestamp(now, UTC).astimezone(_zone(match["zone"], local))
        moment = _dated(match, present) if "month" in match.groupdict() else _daily(match, present)
    except (ValueError, ZoneInfoNotFoundError):  # a day or an hour that doesn't exist, a zone nobody knows
        return None
    return moment.timestamp()


def _plausible(match: re.Match[str]) -> bool:
    # "resets 3" could be anything: a bare number needs am, pm or minutes to be a time of day.
    return "month" in match.groupdict() or match["half"] is not None or match["minute"] is not None


def _zone(name: str | None, local: tzinfo | None) -> tzinfo | None:
    return local if name is None else ZoneInfo(name)


def _daily(match: re.Match[str], present: datetime) -> datetime:
    moment = _at_clock(match, present)
    return moment if moment > present - JUST_PASSED else moment + timedelta(days=1)


def _dated(match: re.Match[str], present: datetime) -> datetime:
    year = int(match["year"]) if match["year"] else present.year
    month = _MONTHS.index(match["month"].lower()) + 1
    # The day is set on the first of a month, which each month has.
    moment = _at_clock(match, present.replace(year=year, month=month, day=1)).replace(day=int(match["day"]))
    if match["year"] is None and moment < present - timedelta(days=180):
        return moment.replace(year=year + 1)
    return moment


def _at_clock(match: re.Match[str], day: datetime) -> datetime:
    hour, minute = int(match["hour"] or 0), int(match["minute"] or 0)
    half = (match["half"] or "").lower()[:1]
    if half:
        if not 1 <= hour <= 12:
            raise ValueError(f"no hour of a half day: {hour}")
        hour = hour % 12 + (12 if half == "p" else 0)
    return day.replace(hour=hour, minute=minute, second=0, microsecond=0)
