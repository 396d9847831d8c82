"""A .env file means what a person who wrote it expects."""

import pytest

from flower.core.dotenv import parse_dotenv


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ("KEY=value", {"KEY": "value"}),
        ("  KEY = value  ", {"KEY": "value"}),
        ("KEY=a=b==", {"KEY": "a=b=="}),
        ("KEY=", {"KEY": ""}),
        ("export KEY=value", {"KEY": "value"}),
        ("export  KEY = 'value'", {"KEY": "value"}),
        ('KEY="value"', {"KEY": "value"}),
        ("KEY='value'", {"KEY": "value"}),
        ('KEY=""', {"KEY": ""}),
        ('KEY="value', {"KEY": "value"}),
        ("KEY=value'", {"KEY": "value"}),
        ("KEY=value # mine", {"KEY": "value"}),
        ("KEY=value\t# mine", {"KEY": "value"}),
        ("KEY= # nothing yet", {"KEY": ""}),
        ("KEY=va#lue", {"KEY": "va#lue"}),
        ('KEY="va #lue" # mine', {"KEY": "va #lue"}),
        ("KEY=$HOME/x", {"KEY": "$HOME/x"}),
        ("# KEY=value", {}),
        ("just words", {}),
        ("=value", {}),
        ("TWO WORDS=value", {}),
        ("", {}),
    ],
)
def test_a_line_is_read(line: str, settings: dict[str, str]) -> None:
    assert parse_dotenv(line) == settings


def test_the_last_line_of_a_name_wins_and_line_ends_of_any_kind_do() -> None:
    assert parse_dotenv("\ufeffA=1\r\nB=2\n\nA=3\n") == {"A": "3", "B": "2"}
