import re

from hypothesis import given
from hypothesis import strategies as st

from flowerctl.sanitize import clean, clean_line

PIECES = st.sampled_from(
    [
        "\x1b",
        "[",
        "31m",
        "\x9b",
        "]0;t",
        "\x07",
        "\x1b\\",
        "P",
        "\x90",
        "\x9c",
        "\r",
        "\n",
        "\b",
        "\t",
        "\u202e",
        "\u2066",
        "\u200d",
        "👨",
        "👧",
        "\ufe0f",
        "a",
        "接",
        "\ud800",
        "\x00",
        "\x7f",
        "\u2028",
    ]
)
ANY = st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join))
FORBIDDEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f\ud800-\udfff]")


@given(ANY)
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    assert not FORBIDDEN.search(clean(text))


@given(ANY)
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    once = clean(text)

    assert clean(once) == once


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs"])))
def test_ordinary_text_is_kept_to_the_letter(text: str) -> None:
    assert clean(text) == text


def test_whole_sequences_go_with_their_parameters() -> None:
    assert (
        clean("a\x1b[31;1mb\x1b[0m\x9b2Jc\x1b]0;title\x07d\x1bPq#0\x1b\\e\x1b_x\x1b\\f\x1b(Bg") == "abcdefg"
    )


def test_an_unfinished_string_sequence_does_not_eat_what_follows() -> None:
    assert clean("a\x1b]0;never closed\nbody \x07") == "a0;never closed\nbody "


def test_a_sequence_cut_off_at_the_end_goes() -> None:
    assert clean("text\x1b[3") == "text"


def test_carriage_returns_and_backspaces_cannot_overwrite() -> None:
    assert clean("safe\rrm\b\b -rf\r\nnext\ttab") == "saferm -rf\nnext tab"


def test_a_joiner_stays_only_between_two_pictures() -> None:
    assert clean("👨\u200d👩\u200d👧") == "👨\u200d👩\u200d👧"
    assert clean("a\u200db 👨\u200d \u200d👧") == "ab 👨 👧"


def test_a_line_has_no_newlines() -> None:
    assert clean_line(" a\n\x1b[1mb\t c ") == "a b c"
