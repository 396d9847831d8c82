from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from flowerctl.sanitize import clean
from flowerctl.width import columns, cut, cut_left, line_width, pad, wrap

TEXT = st.one_of(
    st.text(),
    st.text(alphabet="ab 接上—…·é👨\u200d👩\u200d👧\u0301\n한글"),
).map(clean)
LIMIT = st.integers(min_value=2, max_value=60)


def test_chinese_and_ambiguous_characters_take_two_columns() -> None:
    assert columns("接上") == 4
    assert columns("—…·") == 6
    assert columns("e\u0301") == 1
    assert columns("👨\u200d👩\u200d👧") == 2


def test_a_line_is_between_forty_and_a_hundred_and_ten_columns() -> None:
    assert [line_width(n) for n in (10, 40, 80, 110, 300)] == [40, 40, 80, 110, 110]


@given(TEXT, LIMIT)
def test_no_wrapped_line_is_too_long(text: str, limit: int) -> None:
    assert all(columns(line) <= limit for line in wrap(text, limit))


@given(TEXT, LIMIT)
def test_wrapping_eats_nothing_but_spaces(text: str, limit: int) -> None:
    def solid(some: str) -> str:
        return "".join(some.split())

    assert solid("".join(wrap(text, limit))) == solid(text)


@given(TEXT.map(lambda text: text.replace("\n", "")), st.integers(min_value=2, max_value=30))
def test_what_is_cut_fits_and_splits_no_character(text: str, limit: int) -> None:
    clusters = list(iter_graphemes(text))

    head, tail = cut(text, limit), cut_left(text, limit)

    assert columns(head) <= limit and columns(tail) <= limit
    if head != text:
        kept = list(iter_graphemes(head[:-1]))
        assert kept == clusters[: len(kept)]
    if tail != text:
        kept = list(iter_graphemes(tail[1:]))
        assert kept == clusters[len(clusters) - len(kept) :]


def test_words_stay_whole_where_they_can() -> None:
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("上下文context长", 9) == ["上下文", "context长"]


def test_a_long_word_is_broken_rather_than_lost() -> None:
    assert wrap("abcdefghij", 4) == ["abcd", "efgh", "ij"]


def test_indentation_and_empty_lines_stay() -> None:
    assert wrap("a\n\n  b", 10) == ["a", "", "  b"]


def test_a_cut_text_says_so() -> None:
    assert cut("接上上次", 6) == "接上…"
    assert cut_left("/home/项目/abc", 8) == "…目/abc"
    assert cut("short", 10) == "short"


def test_padding_counts_columns() -> None:
    assert pad("接", 4) == "接  "
    assert pad("接", 4, right=True) == "  接"
