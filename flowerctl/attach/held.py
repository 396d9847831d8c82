"""What a judge said last is held back until it is known whether it was the verdict, which is told as an event.

Whatever else it says is shown the moment that something follows it.
"""

from typing import Final

from flower_protocol.events import EventRecord

_ENDINGS: Final = frozenset({"step", "run_started", "run_ended", "judge"})
_STEPS_ON: Final = frozenset({"text", "thinking", "prompt", "tool_call"})


def of_judge(event: EventRecord) -> bool:
    """Whether the event comes from somebody who judges the work, and not from the work."""
    return event.payload.get("judge") is True


def held_after(event: EventRecord, held: str) -> str:
    """What is held back once ``event`` was shown."""
    if event.kind == "text" and _in_the_open(event):
        return event.text
    return "" if _follows(event) else held


def released_by(event: EventRecord, held: str) -> str:
    """What of it is shown before ``event``: all, unless the event says the same in its own way."""
    return held if _follows(event) and not _says_it(event) else ""


def _in_the_open(event: EventRecord) -> bool:
    return of_judge(event) and not event.payload.get("subagent")


def _follows(event: EventRecord) -> bool:
    return event.kind in _ENDINGS or (event.kind in _STEPS_ON and _in_the_open(event))


def _says_it(event: EventRecord) -> bool:
    if event.kind != "judge":
        return False
    # Without a clear verdict, its own words are all there is to go by.
    return event.payload.get("phase") == "anew" or bool(event.payload.get("state"))
