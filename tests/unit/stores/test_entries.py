"""Entries as JSON, and what they tell."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flower.stores.entries import decode, encode, plain_text
from flower.stores.residue import context_of
from tests.unit.stores.transcripts import words

texts = st.text(st.characters())  # lone surrogates too
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(texts, values, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(texts, json_values))
def test_whatever_json_can_say_comes_back_as_it_was(entry: dict[str, Any]) -> None:
    payload = encode(entry)

    assert decode(payload.encode()) == entry
    assert json.loads(payload) == entry


@pytest.mark.parametrize("payload", [b"", b"{", b"[1]", b"null", b"\xff", b"[" * 100_000])
def test_what_is_no_entry_is_none(payload: bytes) -> None:
    assert decode(payload) is None


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([words("one "), words("two")], "one two"),
        ([words("one"), {"type": "image"}], None),
        ([], None),
        (None, None),
    ],
)
def test_only_text_is_plain_text(content: Any, text: str | None) -> None:
    assert plain_text(content) == text


USAGE = {
    "input_tokens": 1,
    "cache_read_input_tokens": 20,
    "cache_creation_input_tokens": 300,
    "output_tokens": 4000,
}


@pytest.mark.parametrize(
    ("fields", "context"),
    [
        ({}, 321),
        ({"isSidechain": True}, 0),
        ({"isApiErrorMessage": True}, 0),
        ({"type": "user"}, 0),
        ({"message": {}}, 0),
        ({"message": {"usage": {"input_tokens": 7, "cache_read_input_tokens": None}}}, 7),
    ],
)
def test_the_context_is_the_sum_of_what_the_main_thread_was_fed(fields: dict[str, Any], context: int) -> None:
    assert context_of({"type": "assistant", "message": {"usage": USAGE}, **fields}) == context
