"""Reads the lines of a `.env` file: `parse_dotenv`."""

import re

_LINE = re.compile(r"(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=(?P<value>.*)", re.DOTALL)
_COMMENT = re.compile(r"\s#.*")


def parse_dotenv(text: str) -> dict[str, str]:
    """The settings of a `.env` file, empty ones included; the last one of a name wins.

    A line is ``NAME=value`` or ``export NAME=value``; blank lines, ``#`` lines and whatever else has no name
    are skipped. Quotes around a value are taken away; without quotes `` #`` begins a comment. Nothing is
    expanded: ``$HOME`` stays ``$HOME``, and a value ends with its line.
    """
    settings = {}
    for line in text.removeprefix("\ufeff").splitlines():
        match = _LINE.fullmatch(line.strip())
        if match is not None:
            settings[match["name"]] = _value(match["value"].strip())
    return settings


def _value(text: str) -> str:
    if text[:1] in ("'", '"'):
        inside, closed, _ = text[1:].partition(text[0])
        if closed:
            return inside
    bare = _COMMENT.sub("", f" {text}", count=1)
    return bare.strip().strip("'\"")  # a quote that was never closed, or never opened
