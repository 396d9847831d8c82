"""What becomes of a step after a failure: a wait and another attempt, or its end."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from flower.core.failures import classify, is_login, is_overload
from flower.core.limits import limit_reset
from flower.core.resilience import Probe, Resilience
from flower.core.result import StepResult
from flower.core.waits import Waits, clock
from flower.core.words import Words

# Everybody whose limit ends at eight comes at eight: some seconds later there is room.
AFTER_RESET_SECONDS = (2.0, 15.0)
# A machine that slept has a clock that jumped: look at it now and then.
LOOK_AT_CLOCK_SECONDS = 30.0
SHOWN_CHARACTERS = 160

LIMIT = Words(
    "用量到上限了,{clock} 重置,到时候接着做。",
    "usage limit reached; it resets at {clock}, then this goes on.",
)
OVERLOAD = Words(
    "服务端忙不过来,等它缓一缓再接着做。", "the service is overloaded; this goes on when it has recovered."
)
LOGIN = Words(
    "凭证被拒,先停在这里。重新登录或换好 key 之后,再跑一次 flower 就接着做。",
    "the credentials were refused, so this stops here. Log in again or give a new key, then run flower again to go on.",
)
AGAIN = Words(
    "没跑完:{reason} —— {seconds} 秒后接着做(第 {attempt} 次,最多 {most} 次)",
    "did not end well: {reason}; going on in {seconds} s (attempt {attempt} of at most {most})",
)


@dataclass(frozen=True)
class Failure:
    """Why a turn did not end well.

    ``broken``: its child is no more. ``outage``: the network was seen to be gone. ``until``: when the usage limit
    that it met ends, in epoch seconds, if the CLI said so.
    """

    text: str
    broken: bool = False
    outage: bool = False
    until: float | None = None


class Recovery:
    """The patience of one step.

    A failure that the world explains (an outage that was seen, an overload, a usage limit) says nothing about the
    step and is waited out, however often it comes; of those that nothing explains there are at most
    ``max_attempts``. A refused login is not tried again at all.
    """

    def __init__(
        self,
        result: StepResult,
        resilience: Resilience,
        environment: Mapping[str, str],
        waits: Waits,
        probe: Probe | None,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._result = result
        self._resilience = resilience
        self._environment = environment
        self._waits = waits
        self._probe = probe
        self._sleep = sleep
        self._now = now
        self._unexplained = 0
        self._overloads = 0
        self._overloaded_since = 0.0

    def progressed(self) -> None:
        """The model answered: what it was overloaded with before is over."""
        self._overloads = 0

    async def outlast(self, failure: Failure) -> bool:
        """Wait until another attempt makes sense; False when none does.

        Raises `asyncio.CancelledError` like any wait: what was not waited out then is not counted.
        """
        if is_login(failure.text):
            self._waits.begin("login", LOGIN)
            return False
        if not self._resilience.enabled:
            return False
        until = failure.until or limit_reset(failure.text, self._now())
        if until is not None:
            return await self._outlast_limit(until)
        if is_overload(failure.text):
            return await self._outlast_overload()
        return await self._outlast_others(failure)

    async def _outlast_limit(self, until: float) -> bool:
        words = Words(*(text.format(clock=clock(until)) for text in LIMIT))
        self._waits.begin("limit", words, until)
        until += random.uniform(*AFTER_RESET_SECONDS)
        while (left := until - self._now()) > 0:
            await self._sleep(min(left, LOOK_AT_CLOCK_SECONDS))
        self._waits.over()
        return True

    async def _outlast_overload(self) -> bool:
        if not self._overloads:
            self._overloaded_since = self._now()
        self._overloads += 1
        if self._now() - self._overloaded_since > self._resilience.max_offline_wait:
            return False
        self._waits.begin("overload", OVERLOAD)
        # Not over yet: only an answer of the model says so.
        await self._sleep(self._resilience.delay_for(self._overloads))
        return True

    async def _outlast_others(self, failure: Failure) -> bool:
        if not self._resilience.should_retry(classify(failure.text)):
            return False
        lines = 0

        def notify(line: str) -> None:
            nonlocal lines
            lines += 1
            if lines == 1:
                self._waits.begin("network", line)
            else:
                self._waits.over(line)

        if not await self._resilience.wait_online(notify, env=self._environment, probe=self._probe):
            return False
        self._waits.over()
        gone = failure.outage or lines > 0
        self._unexplained += not gone
        if self._unexplained >= self._resilience.max_attempts:
            return False
        delay = self._resilience.delay_for(max(self._unexplained, 1))
        self._result.attempts += 1
        if not gone:
            self._waits.say(self._again(failure.text, delay))
        await self._sleep(delay)
        return True

    def _again(self, reason: str, delay: float) -> Words:
        first = next((line for line in reason.splitlines() if line.strip()), "")[:SHOWN_CHARACTERS]
        facts = {
            "reason": first,
            "seconds": f"{delay:.0f}",
            "attempt": self._result.attempts,
            "most": self._resilience.max_attempts,
        }
        return Words(*(text.format(**facts) for text in AGAIN))
