"""The texts of a script: their placeholders filled in, and a text that was said known again."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_PLACEHOLDER = re.compile(r"\{(cwd|prompt|result|round|fill:\d+|found:[a-z]+)\}")
_FILLER = "The quick brown fox jumps over the lazy dog, once more and again.\n"


def fill(template: str, values: Mapping[str, str]) -> str:
    """`template` with `{cwd}` and whatever else `values` names replaced, and `{fill:N}` by N bytes of text.

    Any other brace stays as it is: scripts hold code.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1]
        return (
            filler(int(name.removeprefix("fill:")))
            if name.startswith("fill:")
            else values.get(name, match[0])
        )

    return _PLACEHOLDER.sub(value, template)


def fill_all(template: Any, values: Mapping[str, str]) -> Any:
    """`fill` for every string inside plain data."""
    if isinstance(template, str):
        return fill(template, values)
    if isinstance(template, list):
        return [fill_all(item, values) for item in template]
    if isinstance(template, dict):
        return {key: fill_all(item, values) for key, item in template.items()}
    return template


def is_said(template: str, text: str) -> bool:
    """Whether `text` is `template`, whatever was filled in."""
    return _shape(template).fullmatch(text.strip()) is not None


def filler(size: int) -> str:
    """Exactly `size` bytes of harmless text in short lines."""
    return (_FILLER * (size // len(_FILLER) + 1))[:size]


@lru_cache(maxsize=512)
def _shape(template: str) -> re.Pattern[str]:
    parts = _PLACEHOLDER.split(template.strip())
    # `split` leaves the placeholders' names at the odd places.
    return re.compile(".*".join(re.escape(part) for part in parts[::2]), re.DOTALL)
