"""What a file says of itself in one line, for a list of many files."""

import os
import re
import stat
from pathlib import Path

LONGEST = 100  # characters; with a path and a size beside it, that is a line

_HEAD_BYTES = 8192
_HEAD_LINES = 8
_MARKED = re.compile(r"\s*(?:#|//|--)\s*desc:\s*(\S.*)", re.IGNORECASE)
# The space keeps out `#!/bin/sh`, `#include` and the `---` of a patch.
_COMMENT = re.compile(r"\s*(?:#+|//+|--)\s+(?!-\*-|desc:\s*$)(\S.*)")
_QUOTES = re.compile(r"\s*[rRuU]?(\"\"\"|''')(.*)")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.+?)(?:\s+#+)?\s*$")
_FENCE = re.compile(r"\s*(?:```|~~~)")


def look_at(path: Path) -> tuple[str, int] | None:
    """The description (``""`` if there is none) and the size in bytes; None for what is no regular file.

    Never waits, whatever the path leads to, and never raises.
    """
    try:
        seen = path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(seen.st_mode):
        return None
    return describe(_head_of(path), markdown=path.suffix.lower() in (".md", ".markdown")), seen.st_size


def describe(head: bytes, *, markdown: bool = False) -> str:
    """The line for a file that begins with ``head``.

    That is, first found: what follows ``desc:`` in a comment of the first eight lines; in Markdown, the first
    heading; elsewhere the first comment, or the first line of a docstring, of the first eight lines. Binary
    files have none.
    """
    if b"\0" in head:
        return ""
    lines = head.decode("utf-8-sig", errors="replace").splitlines()
    found = _marked(lines[:_HEAD_LINES])
    if not found:
        found = _heading(lines) if markdown else _comment(lines[:_HEAD_LINES])
    line = " ".join(found.split())
    return "".join(character for character in line if character.isprintable())[:LONGEST]


def _head_of(path: Path) -> bytes:
    try:
        # It may have become a pipe since it was looked at: opening that would wait for a writer.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return file.read(_HEAD_BYTES) if regular else b""
    except OSError:
        return b""


def _marked(lines: list[str]) -> str:
    found = filter(None, map(_MARKED.match, lines))
    return next((match[1] for match in found), "")


def _heading(lines: list[str]) -> str:
    fenced = False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and (match := _HEADING.match(line)):
            return match[1]
    return ""


def _comment(lines: list[str]) -> str:
    for at, line in enumerate(lines):
        if match := _COMMENT.match(line):
            return match[1]
        if match := _QUOTES.match(line):
            return _docstring(match[1], [match[2], *lines[at + 1 :]])
    return ""


def _docstring(quotes: str, lines: list[str]) -> str:
    """The first line with text before the closing quotes."""
    for line in lines:
        text, closed, _ = line.partition(quotes)
        if text.strip() or closed:
            return text
    return ""
