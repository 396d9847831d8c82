"""Resilience waits for what can come back, at a pace that it can afford."""

import asyncio
import dataclasses
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing

import pytest

from flower.core.resilience import Resilience, endpoint, reachable
from tests.support.processes import eventually

DEFAULT = ("api.anthropic.com", 443)


@pytest.fixture(autouse=True)
def no_name_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test of this file asks a name server, let alone dials the default host."""

    def refuse(host: object, *_: object, **__: object) -> list[object]:
        if host in ("127.0.0.1", "::1"):
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, _[0] if _ else 0))]
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@asynccontextmanager
async def listener() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server on loopback: its port, and what each of its visitors sent before leaving."""
    received: list[bytes] = []
    visits: list[asyncio.StreamWriter] = []

    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visits.append(writer)
        try:
            received.append(await reader.read())
        except ConnectionResetError:
            received.append(b"")
        writer.close()

    server = await asyncio.start_server(visit, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], received
        await eventually(lambda: visits and len(received) == len(visits), what="the visitors' leaving")
    for writer in visits:
        await writer.wait_closed()


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of loopback that is taken, so that nobody else gets it, but where nobody listens."""
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


class Weather:
    """A network that is down for so many looks, and a clock that only moves while somebody sleeps."""

    def __init__(self, down_for: int) -> None:
        self.down_for = down_for
        self.looks: list[tuple[str, int]] = []
        self.now = 0.0

    async def probe(self, host: str, port: int) -> bool:
        self.looks.append((host, port))
        return len(self.looks) > self.down_for

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def clock(self) -> float:
        return self.now


async def wait_online(policy: Resilience, weather: Weather, env: dict[str, str]) -> tuple[bool, list[str]]:
    lines: list[str] = []
    online = await policy.wait_online(
        lines.append, env=env, probe=weather.probe, sleep=weather.sleep, clock=weather.clock
    )
    return online, lines


def test_the_defaults_are_the_promised_ones() -> None:
    assert dataclasses.asdict(Resilience()) == {
        "enabled": True,
        "max_attempts": 6,
        "base_delay": 4.0,
        "max_delay": 120.0,
        "probe_timeout": 5.0,
        "probe_interval": 15.0,
        "max_offline_wait": 3600.0,
        "retry_unknown": True,
        "resume_prompt": "上一轮在中途被打断,没有跑完。检查一下工作台里已经落盘的东西,从中断处接着做,不要重头来过。",
    }


def test_the_pause_doubles_up_to_two_minutes() -> None:
    pauses = [Resilience().delay_for(attempt, random=lambda: 0.5) for attempt in range(1, 9)]

    assert pauses == [4, 8, 16, 32, 64, 120, 120, 120]


def test_the_pause_strays_by_a_quarter_either_way() -> None:
    assert Resilience().delay_for(1, random=lambda: 0.0) == 3.0
    assert Resilience().delay_for(1, random=lambda: 1.0) == 5.0
    assert 3.0 <= Resilience().delay_for(1) <= 5.0


def test_the_hundred_thousandth_attempt_still_has_a_pause() -> None:
    assert Resilience().delay_for(100_000, random=lambda: 0.5) == 120.0


@pytest.mark.parametrize(
    ("policy", "retried"),
    [
        (Resilience(), {"transient", "unknown"}),
        (Resilience(retry_unknown=False), {"transient"}),
        (Resilience(enabled=False), set()),
    ],
)
def test_what_is_tried_again_follows_the_policy(policy: Resilience, retried: set[str]) -> None:
    assert {kind for kind in ("transient", "fatal", "unknown") if policy.should_retry(kind)} == retried  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, DEFAULT),
        ({"ANTHROPIC_BASE_URL": ""}, DEFAULT),
        ({"ANTHROPIC_BASE_URL": "https://gateway.example"}, ("gateway.example", 443)),
        ({"ANTHROPIC_BASE_URL": "http://gateway.example/v1/"}, ("gateway.example", 80)),
        ({"ANTHROPIC_BASE_URL": "http://127.0.0.1:8080/api"}, ("127.0.0.1", 8080)),
        ({"ANTHROPIC_BASE_URL": "gateway.example:8443"}, ("gateway.example", 8443)),
        ({"ANTHROPIC_BASE_URL": "http://user:pass@[::1]:9000"}, ("::1", 9000)),
        ({"ANTHROPIC_BASE_URL": "https://gateway.example:no"}, DEFAULT),
        ({"ANTHROPIC_BASE_URL": "https://[broken"}, DEFAULT),
        (
            {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-1"},
            ("bedrock-runtime.eu-west-1.amazonaws.com", 443),
        ),
        ({"CLAUDE_CODE_USE_VERTEX": "true", "CLOUD_ML_REGION": "global"}, ("aiplatform.googleapis.com", 443)),
        ({"CLAUDE_CODE_USE_BEDROCK": "0"}, DEFAULT),
    ],
)
def test_the_endpoint_is_where_requests_really_go(env: dict[str, str], expected: tuple[str, int]) -> None:
    assert endpoint(env) == expected


def test_the_endpoint_is_by_default_this_processs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:7777")

    assert endpoint() == ("127.0.0.1", 7777)


PROXY = "http://127.0.0.1:3128"
PROXIED = ("127.0.0.1", 3128)


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        *[
            ({name: PROXY}, PROXIED)
            for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
        ],
        ({"HTTPS_PROXY": "proxy.example"}, ("proxy.example", 443)),
        ({"HTTPS_PROXY": "http://proxy.example"}, ("proxy.example", 80)),
        ({"HTTPS_PROXY": PROXY, "ALL_PROXY": "http://other.example:1"}, PROXIED),
        ({"https_proxy": PROXY, "HTTPS_PROXY": "http://other.example:1"}, PROXIED),
        ({"HTTPS_PROXY": "", "ALL_PROXY": PROXY}, PROXIED),
        ({"ALL_PROXY": "socks5://127.0.0.1:1080"}, DEFAULT),
        ({"HTTPS_PROXY": PROXY, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}, PROXIED),
    ],
)
def test_behind_a_proxy_it_is_the_proxy(env: dict[str, str], expected: tuple[str, int]) -> None:
    assert endpoint(env) == expected


@pytest.mark.parametrize(
    ("exempt", "base", "direct"),
    [
        ("*", "https://api.anthropic.com", True),
        ("api.anthropic.com", "https://api.anthropic.com", True),
        (".anthropic.com", "https://api.anthropic.com", True),
        ("anthropic.com", "https://api.anthropic.com", True),
        ("*.anthropic.com", "https://api.anthropic.com", True),
        ("API.Anthropic.com", "https://api.anthropic.com", True),
        ("localhost, api.anthropic.com", "https://api.anthropic.com", True),
        ("localhost api.anthropic.com", "https://api.anthropic.com", True),
        ("api.anthropic.com:443", "https://api.anthropic.com", True),
        ("api.anthropic.com:8443", "https://api.anthropic.com", False),
        ("thropic.com", "https://api.anthropic.com", False),
        ("localhost", "http://127.0.0.1:9", False),
        ("127.0.0.1", "http://127.0.0.1:9", True),
        ("127.0.0.0/8", "http://127.0.0.1:9", True),
        ("::1", "http://[::1]:9", True),
        ("10.0.0.0/8", "http://127.0.0.1:9", False),
        ("", "https://api.anthropic.com", False),
    ],
)
def test_an_exempt_address_is_probed_itself(exempt: str, base: str, direct: bool) -> None:
    env = {"HTTPS_PROXY": "http://proxy.example:3128", "NO_PROXY": exempt, "ANTHROPIC_BASE_URL": base}

    assert (endpoint(env) != ("proxy.example", 3128)) is direct
    assert endpoint(env | {"no_proxy": exempt, "NO_PROXY": ""}) == endpoint(env)


async def test_a_listener_is_reachable_and_hears_not_one_byte() -> None:
    async with listener() as (port, received):
        assert await reachable("127.0.0.1", port)

    assert received == [b""]


async def test_a_closed_port_is_not_reachable(closed_port: int) -> None:
    assert not await reachable("127.0.0.1", closed_port)


@pytest.mark.parametrize(
    ("host", "port"),
    [("nowhere.invalid", 443), ("a" * 80 + ".example", 443), ("", 443), ("127.0.0.1", 99999)],
)
async def test_what_cannot_be_dialled_is_not_reachable(host: str, port: int) -> None:
    assert not await reachable(host, port)


async def test_a_name_server_that_keeps_silent_costs_only_the_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answered = asyncio.Event()

    async def never(*_: object, **__: object) -> list[object]:
        await answered.wait()
        return []

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", never)

    async with asyncio.timeout(5):
        assert not await reachable("silent.example", 443, timeout=0.05)


async def test_a_network_that_is_there_is_not_spoken_of() -> None:
    weather = Weather(down_for=0)

    assert await wait_online(Resilience(), weather, {}) == (True, [])
    assert weather.looks == [DEFAULT]


async def test_an_outage_is_told_in_two_lines() -> None:
    weather = Weather(down_for=5)

    online, lines = await wait_online(
        Resilience(), weather, {"ANTHROPIC_BASE_URL": "http://gateway.example:8080"}
    )

    assert online
    assert lines == [
        "gateway.example:8080 不可达,等待恢复(最多 60 分钟)",
        "gateway.example:8080 恢复,继续",
    ]
    assert weather.now == 5 * 15.0


async def test_the_lines_are_english_for_who_asked_for_it() -> None:
    _, lines = await wait_online(Resilience(), Weather(down_for=1), {"FLOWER_LANG": "en"})

    assert lines == [
        "api.anthropic.com:443 is unreachable, waiting for it to come back (at most 60 minutes)",
        "api.anthropic.com:443 is back, going on",
    ]


async def test_an_outage_without_end_is_given_up_after_an_hour() -> None:
    weather = Weather(down_for=10**6)

    online, lines = await wait_online(Resilience(), weather, {})

    assert not online
    assert lines == ["api.anthropic.com:443 不可达,等待恢复(最多 60 分钟)"]
    assert weather.now == 3600.0


async def test_without_a_probe_of_its_own_the_endpoint_is_really_dialled() -> None:
    async with listener() as (port, _):
        assert await Resilience().wait_online(env={"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}"})
