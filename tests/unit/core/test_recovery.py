"""What each kind of failure leads to: the wait, whether it counts, and what a person is told."""

from collections.abc import Awaitable, Callable

from flower.core.events import Event
from flower.core.recovery import Failure, Recovery
from flower.core.resilience import Resilience
from flower.core.result import StepResult
from flower.core.waits import Waits

ENVIRONMENT = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
NOW = 1_800_000_000.0


class Patience:
    """A `Recovery` in a world of its own: time passes when it sleeps, and the network is what `network` says."""

    def __init__(
        self, resilience: Resilience | None = None, network: Callable[[], bool] = lambda: True
    ) -> None:
        self.result = StepResult(step="step")
        self.events: list[Event] = []
        self.slept = 0.0
        self.waits = Waits(self.result, "en", self.events.append)

        async def probe(host: str, port: int) -> bool:
            return network()

        self.recovery = Recovery(
            self.result,
            resilience or Resilience(),
            ENVIRONMENT,
            self.waits,
            probe,
            sleep=self._sleep,
            now=lambda: NOW + self.slept,
        )

    def outlast(self, text: str, **about: object) -> Awaitable[bool]:
        return self.recovery.outlast(Failure(text, **about))  # type: ignore[arg-type]

    def told(self) -> list[object]:
        return [event.payload["waiting"] for event in self.events]

    async def _sleep(self, seconds: float) -> None:
        self.slept += seconds


async def test_an_unexplained_failure_is_tried_again_after_the_backoff_until_the_attempts_are_used_up() -> (
    None
):
    patience = Patience()
    pauses = []
    for _ in range(5):
        before = patience.slept
        assert await patience.outlast("API Error: 500 internal server error")
        pauses.append(patience.slept - before)
    assert not await patience.outlast("API Error: 500 internal server error")
    assert patience.result.attempts == 6
    for pause, middle in zip(pauses, (4, 8, 16, 32, 64), strict=True):
        assert middle * 0.75 <= pause <= middle * 1.25


async def test_a_fatal_failure_ends_the_step_at_once() -> None:
    patience = Patience()
    assert not await patience.outlast("API Error: 400 invalid_request_error")
    assert (patience.result.attempts, patience.slept, patience.events) == (1, 0.0, [])


async def test_a_refused_login_ends_the_step_at_once_and_says_what_is_needed() -> None:
    patience = Patience()
    assert not await patience.outlast("API Error: 401 unauthorized: connection error")
    assert (patience.result.attempts, patience.slept) == (1, 0.0)
    assert patience.told() == ["login"]
    assert "Log in again" in patience.events[0].text


async def test_a_refused_login_is_told_even_when_nothing_is_retried() -> None:
    patience = Patience(Resilience(enabled=False))
    assert not await patience.outlast("401 invalid api key")
    assert patience.told() == ["login"]


async def test_with_resilience_off_no_failure_is_waited_out() -> None:
    for text in ("API Error: 500", "529 overloaded", "limit reached|1800003600", "ECONNRESET"):
        patience = Patience(Resilience(enabled=False))
        assert not await patience.outlast(text)
        assert patience.slept == 0.0 and not patience.events


async def test_twenty_minutes_of_overload_eat_no_attempt() -> None:
    patience = Patience()
    while patience.slept < 20 * 60:
        assert await patience.outlast("API Error: 529 overloaded_error")
    assert patience.result.attempts == 1
    assert patience.told() == ["overload"], "one line for all of it"


async def test_overload_without_an_answer_in_between_is_given_up_after_the_longest_wait() -> None:
    patience = Patience(Resilience(max_offline_wait=600))
    while await patience.outlast("API Error: 529 overloaded_error"):
        assert patience.slept < 600 + 2 * 150
    assert patience.slept > 600


async def test_an_answer_of_the_model_starts_the_patience_with_overload_anew() -> None:
    patience = Patience(Resilience(max_offline_wait=600))
    for _ in range(100):
        assert await patience.outlast("429 too many requests")
        patience.recovery.progressed()


async def test_a_usage_limit_is_waited_for_until_shortly_after_its_reset_and_eats_no_attempt() -> None:
    patience = Patience()
    assert await patience.outlast(f"Claude AI usage limit reached|{int(NOW) + 7200}")
    assert 7200 < patience.slept < 7200 + 30
    assert patience.result.attempts == 1
    assert [(event.payload["waiting"], event.payload["until"]) for event in patience.events] == [
        ("limit", NOW + 7200),
        (None, None),
    ]


async def test_the_reset_that_the_cli_reports_goes_before_the_text() -> None:
    patience = Patience()
    assert await patience.outlast("You've hit your session limit", until=NOW + 300)
    assert 300 < patience.slept < 330


async def test_a_verified_outage_counts_as_an_attempt_in_the_row_but_never_ends_the_step() -> None:
    for_ever_flapping = iter([True, False] * 1000)
    next(for_ever_flapping)
    patience = Patience(
        Resilience(probe_interval=0.001, max_offline_wait=60), network=lambda: next(for_ever_flapping)
    )
    for _ in range(20):
        assert await patience.outlast("ECONNREFUSED")
    assert patience.result.attempts == 21
    assert patience.told() == ["network", None] * 20


async def test_an_outage_that_was_already_told_is_not_told_again_but_its_end_is() -> None:
    answers = iter([False, True])
    patience = Patience(Resilience(probe_interval=0.001), network=lambda: next(answers))
    patience.waits.begin("network", "gone")
    assert await patience.outlast("network error", outage=True)
    assert patience.told() == ["network", None]


async def test_a_network_that_stays_away_for_the_longest_wait_ends_the_step() -> None:
    patience = Patience(Resilience(probe_interval=0.01, max_offline_wait=0.05), network=lambda: False)
    assert not await patience.outlast("ECONNREFUSED")
    assert patience.result.attempts == 1


async def test_a_new_try_is_told_with_its_reason_in_one_line() -> None:
    patience = Patience()
    assert await patience.outlast("API Error: 503 service unavailable\nwith a second line")
    (event,) = patience.events
    assert event.kind == "retry" and event.payload["attempt"] == 2
    assert "503 service unavailable" in event.text and "second line" not in event.text
