"""Lines on their way out: what a line is, which colour it may have, and the two streams it can go to."""

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TextIO

_RESET: Final = "\x1b[0m"


class Style(StrEnum):
    """flower's own colours: the only control sequences that reach a terminal. The values are SGR parameters."""

    PLAIN = ""
    BOLD = "1"
    DIM = "2"
    BAD = "31"
    GOOD = "32"
    WARN = "33"
    TOOL = "36"


@dataclass(frozen=True, slots=True)
class Line:
    """One line as it is printed: clean, not longer than the screen allows, in one style."""

    text: str
    style: Style = Style.PLAIN


def painted(line: Line, *, colour: bool) -> str:
    """The characters of ``line``, its colours put back at its end."""
    if not colour or line.style is Style.PLAIN:
        return line.text
    return f"\x1b[{line.style.value}m{line.text}{_RESET}"


def colourful(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether colours are welcome there: a terminal that has some, and nobody said no."""
    return stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM", "dumb") != "dumb"


def terminal_columns() -> int:
    """The width of the terminal on stdout; 80 when there is none."""
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


def write(lines: Iterable[Line], stream: TextIO, *, colour: bool = False) -> None:
    """Writes and flushes; blocks for as long as the reader does. Raises OSError when nobody reads any more."""
    stream.write("".join(painted(line, colour=colour) + "\n" for line in lines))
    stream.flush()


def complain(message: str) -> None:
    """A message on stderr; one that can't be written is dropped."""
    try:
        write([Line(message)], sys.stderr)
    except (OSError, ValueError):
        return


def prepare_streams() -> None:
    """Makes stdout and stderr fit to be written to: closed ones lead nowhere, odd encodings don't raise."""
    for name in ("stdout", "stderr"):
        stream: TextIO | None = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for the whole process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def close_streams() -> None:
    """To be called last: what a reader that has gone can't take any more is dropped without a word."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # Python would flush again at its end, fail again, and say so.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
