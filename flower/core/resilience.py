"""Lives through outages: what is retried, how long it waits, and whether the network is there.

A run of hours meets a dead network once for certain. `Resilience` is the policy; `classify` and its neighbours say
what a failure means (see `failures`); `endpoint` and `reachable` probe the address that requests really go to, with
one TCP handshake that carries no credentials and costs nothing.
"""

import asyncio
import ipaddress
import logging
import os
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from flower.core.credentials import is_on
from flower.core.failures import Kind, classify, is_login, is_overload
from flower.core.limits import limit_reset
from flower.core.words import Words, language_of

__all__ = [
    "Kind",
    "Resilience",
    "classify",
    "endpoint",
    "is_login",
    "is_overload",
    "limit_reset",
    "reachable",
]

logger = logging.getLogger(__name__)

DEFAULT_BASE_URL = "https://api.anthropic.com"
DEFAULT_PORTS = {"http": 80, "https": 443}

# One proxy serves every address, http or https, loopback too; the first of these that is set. So does the CLI.
PROXY_VARIABLES = ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")

LOST = Words(
    "{place} 不可达,等待恢复(最多 {minutes} 分钟)",
    "{place} is unreachable, waiting for it to come back (at most {minutes} minutes)",
)
BACK = Words("{place} 恢复,继续", "{place} is back, going on")
# No word of what went wrong: the model needs to know that it was interrupted, not why.
GO_ON = Words(
    "上一轮在中途被打断,没有跑完。检查一下工作台里已经落盘的东西,从中断处接着做,不要重头来过。",
    "The last turn was interrupted in the middle and didn't finish. Look at what is already on disk in the workbench,"
    " and go on from where it broke off; don't start over.",
)

Probe = Callable[[str, int], Awaitable[bool]]


@dataclass(frozen=True)
class Resilience:
    """How a step lives through failures. Delays, timeouts and waits are in seconds."""

    enabled: bool = True
    max_attempts: int = 6  # the first one included
    base_delay: float = 4.0
    max_delay: float = 120.0
    probe_timeout: float = 5.0
    probe_interval: float = 15.0
    max_offline_wait: float = 3600.0
    retry_unknown: bool = True
    resume_prompt: str = GO_ON.zh

    def words_to_resume(self, language: str) -> str:
        """``resume_prompt``; in English, if that is the language and nobody has set another."""
        return GO_ON.spoken(language) if self.resume_prompt == GO_ON.zh else self.resume_prompt

    def delay_for(self, attempt: int, random: Callable[[], float] = random.random) -> float:
        """The pause after failed attempt number `attempt`, from 1 on: doubling up to the limit, ±25 %."""
        # Past thirty doublings the limit has long been reached, and a float would overflow.
        doubled = self.base_delay * 2.0 ** min(max(attempt - 1, 0), 30)
        return min(doubled, self.max_delay) * (0.75 + random() * 0.5)

    def should_retry(self, kind: Kind) -> bool:
        """Whether a failure that `classify` called `kind` is worth another attempt."""
        return self.enabled and (kind == "transient" or (kind == "unknown" and self.retry_unknown))

    async def wait_online(
        self,
        notify: Callable[[str], None] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        probe: Probe | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> bool:
        """Return True once the endpoint of `env` answers, False after `max_offline_wait`.

        `notify` gets one line when it is found unreachable, one when it is back, and nothing in between.
        `probe` takes the place of `reachable`: ten runs can share one handshake.
        """
        environment = os.environ if env is None else env

        def say(words: Words) -> None:
            if notify is not None:
                notify(words.spoken(language_of(environment)))

        lost, back = self.outage_words(environment)
        if await self.online(environment, probe):
            return True
        say(lost)
        deadline = clock() + self.max_offline_wait
        while (left := deadline - clock()) > 0:
            await sleep(min(self.probe_interval, left))
            if await self.online(environment, probe):
                say(back)
                return True
        return False

    async def online(self, environment: Mapping[str, str], probe: Probe | None = None) -> bool:
        """Whether the endpoint of `environment` answers now."""
        host, port = endpoint(environment)
        return await (probe(host, port) if probe else reachable(host, port, self.probe_timeout))

    def outage_words(self, environment: Mapping[str, str]) -> tuple[Words, Words]:
        """The two lines of an outage: that the endpoint can't be reached, and that it is back."""
        host, port = endpoint(environment)
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        facts = {"place": place, "minutes": f"{self.max_offline_wait / 60:.0f}"}
        return Words(*(line.format(**facts) for line in LOST)), Words(
            *(line.format(**facts) for line in BACK)
        )


async def reachable(host: str, port: int, timeout: float = 5.0) -> bool:
    """Whether `host` resolves and accepts a TCP connection within `timeout` seconds. Sends not one byte."""
    try:
        async with asyncio.timeout(timeout):
            _, writer = await asyncio.open_connection(host, port, happy_eyeballs_delay=0.25)
    except Exception as error:
        # Whatever it is: a probe that raises would end the very run that it protects. (Besides OSError asyncio
        # lets out ValueError for an impossible name, IndexError for an impossible port.)
        logger.debug("%s:%s is unreachable: %r", host, port, error)
        return False
    writer.transport.abort()
    return True


def endpoint(env: Mapping[str, str] | None = None) -> tuple[str, int]:
    """The host and port that the first byte of a request goes to, as `env` (default: this process's) has it.

    That is the proxy where one is set and ``NO_PROXY`` doesn't exempt the address; else the address of
    ``ANTHROPIC_BASE_URL``, or of the cloud that stands in for the API. Never raises: what can't be read as an
    address counts as not set.
    """
    environment = os.environ if env is None else env
    target = _address(_base_url(environment)) or (urlsplit(DEFAULT_BASE_URL).hostname or "", 443)
    proxy = _proxy(environment)
    if proxy is not None and not _exempt(target, environment):
        return proxy
    return target


def _base_url(environment: Mapping[str, str]) -> str:
    if is_on(environment.get("CLAUDE_CODE_USE_BEDROCK")):
        region = environment.get("AWS_REGION") or "us-east-1"
        return (
            environment.get("ANTHROPIC_BEDROCK_BASE_URL") or f"https://bedrock-runtime.{region}.amazonaws.com"
        )
    if is_on(environment.get("CLAUDE_CODE_USE_VERTEX")):
        region = environment.get("CLOUD_ML_REGION") or "us-east5"
        prefix = "" if region == "global" else f"{region}-"
        return environment.get("ANTHROPIC_VERTEX_BASE_URL") or f"https://{prefix}aiplatform.googleapis.com"
    return environment.get("ANTHROPIC_BASE_URL") or DEFAULT_BASE_URL


def _proxy(environment: Mapping[str, str]) -> tuple[str, int] | None:
    url = next((environment[name] for name in PROXY_VARIABLES if environment.get(name, "").strip()), "")
    # The CLI goes straight past a proxy that is neither http nor https, a SOCKS one say.
    return _address(url) if url and _split(url).scheme in DEFAULT_PORTS else None


def _exempt(target: tuple[str, int], environment: Mapping[str, str]) -> bool:
    host, port = target
    listed = re.split(
        r"[\s,]+", f"{environment.get('no_proxy', '')},{environment.get('NO_PROXY', '')}".lower()
    )
    return any(_covers(entry, host, port) for entry in listed if entry)


def _covers(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:  # one of them is a name
        pass
    name, colon, wanted = entry.rpartition(":")
    if colon and wanted.isdigit():
        return name == host and int(wanted) == port
    suffix = entry.removeprefix("*").removeprefix(".")
    return host == suffix or host.endswith(f".{suffix}")


def _address(url: str) -> tuple[str, int] | None:
    parts = _split(url)
    try:
        port = parts.port or DEFAULT_PORTS.get(parts.scheme)
    except ValueError:  # a port that is no number, or past 65535
        return None
    return (parts.hostname, port) if parts.hostname and port else None


def _split(url: str) -> SplitResult:
    text = url.strip()
    try:
        return urlsplit(text if "://" in text else f"https://{text}")
    except ValueError:  # brackets that don't close
        return urlsplit("")
