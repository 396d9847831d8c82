"""Text measured in terminal columns, and cut, padded or wrapped without splitting what is seen as one character.

Characters of ambiguous width (``— … ·``) count two columns: a line is then never too long, whichever way a
terminal draws them. A table, which must line up, counts them as most terminals draw them: one.
"""

from collections.abc import Iterator
from typing import Final

from wcwidth import iter_graphemes, width

WIDEST_LINE: Final = 110  # longer lines are hard to read, however wide the window
NARROWEST_LINE: Final = 40
_ELLIPSIS: Final = "…"


def line_width(terminal_columns: int) -> int:
    """How long a printed line may be in a terminal of that many columns."""
    return max(NARROWEST_LINE, min(terminal_columns, WIDEST_LINE))


def columns(text: str, *, ambiguous: int = 2) -> int:
    """The columns that ``text`` (clean, on one line) takes up."""
    if text.isascii():
        return len(text)
    return int(width(text, ambiguous_width=ambiguous))


def cut(text: str, limit: int, *, ambiguous: int = 2) -> str:
    """``text``, or as much of its beginning as fits into ``limit`` columns with an ellipsis after it."""
    if columns(text, ambiguous=ambiguous) <= limit:
        return text
    room = limit - columns(_ELLIPSIS, ambiguous=ambiguous)
    head, _ = _split(text, room, ambiguous)
    return head.rstrip() + _ELLIPSIS if room >= 0 else ""


def cut_left(text: str, limit: int, *, ambiguous: int = 2) -> str:
    """`cut` that keeps the end, for paths: the end tells more."""
    if columns(text, ambiguous=ambiguous) <= limit:
        return text
    room = limit - columns(_ELLIPSIS, ambiguous=ambiguous)
    kept: list[str] = []
    for cluster in reversed(list(iter_graphemes(text))):
        room -= columns(cluster, ambiguous=ambiguous)
        if room < 0:
            break
        kept.append(cluster)
    return _ELLIPSIS + "".join(reversed(kept))


def pad(text: str, wanted: int, *, ambiguous: int = 2, right: bool = False) -> str:
    """``text`` with spaces up to ``wanted`` columns; ``right`` puts them before it."""
    spaces = " " * max(0, wanted - columns(text, ambiguous=ambiguous))
    return spaces + text if right else text + spaces


def wrap(text: str, limit: int) -> list[str]:
    """``text`` (clean) as lines of at most ``limit`` columns; nothing but spaces at a break is left out.

    Breaks between words where it can, between any two characters of Chinese, and inside a word that is longer
    than a line. An indentation stays; an empty line stays one.
    """
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines.extend(_wrap_paragraph(paragraph.rstrip(), limit))
    return lines


def _wrap_paragraph(text: str, limit: int) -> Iterator[str]:
    while True:
        head, tail = _split(text, limit, 2)
        if not tail:
            break
        if not head:  # not even one character fits; it is shown, and is too wide
            head = next(iter_graphemes(text))
            tail = text[len(head) :]
        head, tail = _back_to_a_word(head, tail)
        yield head.rstrip()
        text = tail.lstrip(" ")
    yield text


def _split(text: str, limit: int, ambiguous: int) -> tuple[str, str]:
    if text.isascii():
        return text[:limit], text[limit:]
    used = position = 0
    for cluster in iter_graphemes(text):
        used += columns(cluster, ambiguous=ambiguous)
        if used > limit:
            break
        position += len(cluster)
    return text[:position], text[position:]


def _back_to_a_word(head: str, tail: str) -> tuple[str, str]:
    # A break in front of a space or beside a wide character is good as it is.
    if tail[:1] == " " or not (tail[:1].isascii() and head[-1:].isascii()):
        return head, tail
    at = head.rfind(" ")
    wide = next((i + 1 for i in range(len(head) - 1, -1, -1) if not head[i].isascii()), 0)
    at = max(at + 1, wide)
    if not head[:at].strip():  # one long word: it has to be broken
        return head, tail
    return head[:at], head[at:] + tail
