"""A failure's text says what to do about it."""

import pytest

from flower.core.failures import classify, is_login, is_overload, is_thinking_refused
from tests.unit.core.failure_texts import FAILURE_TEXTS, FailureText

each_text = pytest.mark.parametrize("known", FAILURE_TEXTS, ids=[known.text[:50] for known in FAILURE_TEXTS])


@each_text
def test_a_real_text_is_understood(known: FailureText) -> None:
    assert classify(known.text) == known.kind


@each_text
def test_a_refused_credential_is_told_from_everything_else(known: FailureText) -> None:
    assert is_login(known.text) is known.login


@each_text
def test_a_plea_for_patience_is_told_from_everything_else(known: FailureText) -> None:
    assert is_overload(known.text) is known.overload


def test_nothing_said_is_unknown() -> None:
    assert classify(None) == "unknown"
    assert not is_login(None)
    assert not is_overload(None)


@pytest.mark.parametrize(("status", "expected"), [(429, True), (529, True), (500, False), (401, False)])
def test_a_bare_status_is_enough_to_know_an_overload(status: int, expected: bool) -> None:
    assert is_overload(status) is expected


@pytest.mark.parametrize("code", ["400", "401", "403", "404"])
def test_a_fatal_status_wins_over_a_connection_that_is_also_spoken_of(code: str) -> None:
    assert classify(f"{code}: connection error, request timed out") == "fatal"


@pytest.mark.parametrize(
    "name",
    [
        "ENOTFOUND",
        "EAI_AGAIN",
        "ECONNRESET",
        "ECONNREFUSED",
        "ETIMEDOUT",
        "EPIPE",
        "EHOSTUNREACH",
        "ENETDOWN",
    ],
)
def test_each_promised_error_of_the_network_is_transient(name: str) -> None:
    assert classify(f"request failed, code: {name}") == "transient"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *[(f"HTTP {code}", "fatal") for code in (400, 401, 403, 404)],
        *[(f"status {code}", "transient") for code in (429, 500, 502, 503, 504, 529)],
        *[(f"status={code}", "transient") for code in (429, 500, 503)],
        *[(f"Error:{code}", "transient") for code in (500, 503)],
        *[(str(code), "transient") for code in (429, 500, 529)],
        *[(f"took {code}ms", "unknown") for code in (400, 500)],
        *[(f"{code}.5", "unknown") for code in (400, 500)],
        *[(f"1,{code} tokens", "unknown") for code in (400, 500)],
    ],
)
def test_a_status_counts_only_where_it_stands_alone(text: str, kind: str) -> None:
    assert classify(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "API Error: 400 messages.1.content.0: Invalid `signature` in `thinking` block",
        "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
        "messages.5: The final block in an assistant message cannot be `thinking`.",
        "Expected `thinking` or `redacted_thinking`, but found `text`.",
    ],
)
def test_thinking_that_is_refused_is_known_by_its_text(text: str) -> None:
    assert is_thinking_refused(text) and not is_login(text) and not is_overload(text)


@pytest.mark.parametrize("text", [None, "", "I am thinking about the signature", "400 prompt is too long"])
def test_other_texts_are_no_refusal_of_thinking(text: str | None) -> None:
    assert not is_thinking_refused(text)
