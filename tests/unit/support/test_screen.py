"""The test terminal's screen shows what a person would see."""

from tests.support.screen import Screen


def test_a_line_that_is_erased_and_drawn_anew_shows_only_the_new_text() -> None:
    screen = Screen(20, 3)

    screen.feed("half typed\r\x1b[Knew\r\n> ")

    assert screen.lines() == ["new", ">", ""]


def test_a_wide_character_takes_two_columns_and_wraps_whole() -> None:
    screen = Screen(5, 3)

    screen.feed("接上次")

    assert screen.lines() == ["接上", "次", ""]
    assert (screen.row, screen.column) == (1, 2)


def test_a_sequence_cut_in_the_middle_waits_for_its_rest() -> None:
    screen = Screen(20, 2)

    screen.feed("a\x1b[3")
    screen.feed("1mb\x1b[0m")

    assert screen.lines() == ["ab", ""]


def test_what_scrolls_off_is_kept() -> None:
    screen = Screen(10, 2)

    screen.feed("1\r\n2\r\n3")

    assert screen.lines() == ["2", "3"]
    assert screen.text() == "1\n2\n3"


def test_a_position_request_is_answered() -> None:
    screen = Screen(10, 5)

    screen.feed("ab\r\ncd\x1b[6n")

    assert screen.reply == "\x1b[2;3R"


def test_the_alternate_screen_leaves_the_main_one_as_it_was() -> None:
    screen = Screen(10, 2)

    screen.feed("main\x1b[?1049h\x1b[Hother")
    behind = screen.lines()
    screen.feed("\x1b[?1049l")

    assert behind == ["other", ""]
    assert screen.lines() == ["main", ""]
