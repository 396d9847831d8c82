"""What a run waits for, told once when it begins and once when it is over.

A person who looks on sees within seconds why nothing moves; in between there is silence, for a run may wait for
hours. Every line is a `retry` event, with ``waiting`` and ``until`` in its payload.
"""

import time
from collections.abc import Callable
from typing import Literal

from flower.core.events import Event
from flower.core.result import StepResult
from flower.core.words import Words

Reason = Literal["network", "overload", "limit", "login"]

GOING_ON = Words("恢复,继续", "back, going on")


class Waits:
    """What one step waits for, if it does."""

    def __init__(self, result: StepResult, language: str, emit: Callable[[Event], None]) -> None:
        self._result = result
        self._language = language
        self._emit = emit
        self.reason: Reason | None = None

    def begin(self, reason: Reason, words: Words | str, until: float | None = None) -> None:
        """It waits from now on; said again for the same reason, only a new ``until`` is told."""
        if self.reason == reason and until is None:
            return
        self.reason = reason
        self._tell(words, until)

    def over(self, words: Words | str = GOING_ON) -> None:
        """It waits no more; nothing is told when it did not."""
        if self.reason is not None:
            self.reason = None
            self._tell(words, None)

    def say(self, words: Words | str) -> None:
        """A line about a new try, with what it waits for as it is."""
        self._tell(words, None)

    def _tell(self, words: Words | str, until: float | None) -> None:
        text = words if isinstance(words, str) else words.spoken(self._language)
        about = {
            "step": self._result.step,
            "attempt": self._result.attempts,
            "waiting": self.reason,
            "until": until,
        }
        self._emit(Event("retry", text, payload=about))


def clock(moment: float) -> str:
    """A moment in epoch seconds as people here read it: the time, and the day when it is another one."""
    then = time.localtime(moment)
    same_day = time.strftime("%Y%m%d", then) == time.strftime("%Y%m%d")
    return time.strftime("%H:%M" if same_day else "%m-%d %H:%M", then)
