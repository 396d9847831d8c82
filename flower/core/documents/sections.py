"""The tolerant reader of documents in sections, and the writer whose pages it reads back.

Models and people write the same heading in many ways: ``## 目标``, ``**目标**``, ``3. 边界``, ``目标:`` with the
text behind it. All are understood. Where one document has a name both as a Markdown heading and at the start of a
bare line, the bare line is text: "目标: 100 req/s" among the checks must not cut them off.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

Sections = Mapping[str, tuple[str, ...]]
"""A section's key, and the names its heading may have; the first one is the name that is written."""

_PLACEHOLDERS = {"(未填)", "（未填）", "(空)", "（空）"}
_FENCE = re.compile(r"\ufeff?\s*(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_MARKER = re.compile(r"\s*(?:[-*+•]\s+|\d{1,3}[.)](?![0-9A-Za-z])|\d{1,3}、)?\s*(?:\[[ xX]\]\s+)?")


class Heading(NamedTuple):
    """A line that opens a section: its key, the text behind the name, and whether it is a Markdown heading."""

    key: str
    inline: str
    marked: bool


def read_sections(text: str, sections: Sections) -> dict[str, str]:
    """The text of each section, ``""`` for one that is absent, empty or a placeholder.

    Fenced blocks are left out, an unclosed one with everything behind it; so is the prose before the first heading.
    Headings that are none of ours belong to the section they stand in. The first occurrence that says something wins.
    """
    found = dict.fromkeys(sections, "")
    for key, body in occurrences(text, sections):
        if not found[key] and body not in _PLACEHOLDERS:
            found[key] = body
    return found


def occurrences(text: str, sections: Sections) -> Iterator[tuple[str, str]]:
    """Every section of ``text`` in its order, repeated and empty ones too: its key and its text."""
    lines = [(line, heading(line, sections)) for line in without_fences(normalised(text)).split("\n")]
    marked = {opened.key for _, opened in lines if opened and opened.marked}
    key, body = "", list[str]()
    for line, opened in lines:
        if opened is None or (opened.key in marked and not opened.marked):
            body.append(line)
            continue
        if key:
            yield key, "\n".join(body).strip()
        key, body = opened.key, [opened.inline]
    if key:
        yield key, "\n".join(body).strip()


def tails(text: str, sections: Sections, key: str) -> Iterator[str]:
    """``text`` from a section ``key`` that says something to its end, from the last one of them to the first.

    Whoever writes a document at the end of a conversation may have quoted or drafted one before.
    """
    found = list(occurrences(text, sections))
    for at in reversed(range(len(found))):
        if found[at][0] == key and found[at][1]:
            yield "\n".join(f"## {sections[each][0]}\n{body}" for each, body in found[at:])


def heading(line: str, sections: Sections) -> Heading | None:
    """The section that ``line`` opens, if it opens one."""
    match = _pattern(tuple(name for names in sections.values() for name in names)).fullmatch(line)
    if match is None:
        return None
    marked = bool(match["hashes"] or match["bold"])
    rest = _without_closing(match["rest"]).rstrip() if match["hashes"] else match["rest"].rstrip()
    if match["bold"] and not match["closed"]:  # "**目标:做一个 X**"
        if not (match["colon"] and rest.endswith(match["bold"])):
            return None
        rest = rest.removesuffix(match["bold"])
    if not _separated(match, rest, marked):
        return None
    key = next(key for key, names in sections.items() if match["name"] in names)
    return Heading(key, rest.strip().lstrip(":：").strip(), marked)


def inert(text: str, sections: Sections) -> str:
    """``text`` with a backslash before each line that would be read as one of our headings or as a fence.

    Markdown doesn't show the backslash. What is written so is read back whole.
    """
    return "\n".join(_inert_line(line, sections) for line in normalised(text).split("\n"))


def without_fences(text: str) -> str:
    """``text`` without its fenced blocks; one that is never closed reaches to the end."""
    kept = []
    mark = ""
    for line in text.split("\n"):
        fence = _FENCE.fullmatch(line)
        if mark:
            closes = fence is not None and fence["mark"].startswith(mark) and not fence["info"].strip()
            mark = "" if closes else mark
        elif fence is not None and _opens(fence):
            mark = fence["mark"]
        else:
            kept.append(line)
    return "\n".join(kept)


def items(text: str) -> list[str]:
    """One item a line, its list marker taken off; lines without a word (rules, empty bullets) are none."""
    stripped = (_MARKER.sub("", line, count=1).strip() for line in text.split("\n"))
    return [item for item in stripped if re.search(r"\w", item) and item not in _PLACEHOLDERS]


def normalised(text: str) -> str:
    """``text`` with ``\\n`` for every kind of line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def has_lines(text: str, wanted: str) -> bool:
    """Whether the lines of ``wanted`` stand in ``text`` one after the other, spaces around them aside.

    Whole lines: a short remark must not count as said because some longer word contains it.
    """
    return f"\n{_trimmed(wanted)}\n" in f"\n{_trimmed(text)}\n"


@lru_cache(maxsize=16)  # one a kind of document
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    # Longest first, so that a short name never hides a longer one that begins with it.
    alternatives = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    number = r"(?:\d{1,2}[.)、．]|[一二三四五六七八九十]{1,3}、)\s*"
    return re.compile(
        rf"""\ufeff?[ ]{{0,3}}
        (?:(?P<hashes>\#{{1,6}})\s*)?
        (?P<number>{number})?
        (?P<bold>\*\*|__)? (?:{number})?
        (?P<name>{alternatives})
        (?P<remark>\s*[(（][^()（）]*[)）])?   # "目标(Goal)": a gloss on the name, not the section's text
        (?P<colon>\s*[:：])?
        (?P<closed>(?P=bold))?
        (?P<rest>.*)""",
        re.VERBOSE,
    )


def _separated(match: re.Match[str], rest: str, marked: bool) -> bool:
    """Whether the name ends where a heading's name may end, rather than going on as another word or a sentence."""
    if match["colon"] or rest.lstrip().startswith((":", "：")):
        return True
    if not rest:
        return marked or match["number"] is not None
    # "## 目标 做一个 X" is a heading with its text; "### 边界 情况" is more likely a heading inside a section.
    return marked and rest[0].isspace() and len(match["hashes"] or "") <= 2


def _without_closing(rest: str) -> str:
    """``rest`` without the ``##`` that may close a heading; the one in "C#" stays."""
    before = rest.rstrip().rstrip("#")
    return before if not before or before[-1].isspace() else rest


def _inert_line(line: str, sections: Sections) -> str:
    fence = _FENCE.fullmatch(line)
    opened = heading(line, sections)
    if not ((fence and _opens(fence)) or (opened and opened.marked)):
        return line
    words = line.lstrip()
    return f"{line[: len(line) - len(words)]}\\{words}"


def _opens(fence: re.Match[str]) -> bool:
    # "```x```" is code within a line.
    return "`" not in fence["info"] or fence["mark"][0] == "~"


def _trimmed(text: str) -> str:
    return "\n".join(line.strip() for line in normalised(text).strip().split("\n"))
