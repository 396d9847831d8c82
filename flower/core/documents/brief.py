"""``需求.md``: what the person wants, in four sections, and what they added since."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from flower.core.documents.page import append_to_page, read_page, write_page
from flower.core.documents.sections import (
    Sections,
    has_lines,
    heading,
    inert,
    normalised,
    read_sections,
    tails,
)

ADDED_ON_WAKE = "唤醒时追加"
ADDED_MIDWAY = "运行中补充"

_SECTIONS: Sections = {
    "goal": ("目标",),
    "accept": ("验收标准", "验收条件"),
    "bounds": ("边界", "不做什么"),
    "unknowns": ("未知与假设", "未知项与假设"),
}
_ADDITIONS: Sections = {label: (label,) for label in (ADDED_ON_WAKE, ADDED_MIDWAY)}
# The labels are among them so that an addition ends the section before it.
_HEADINGS: Sections = {**_SECTIONS, **_ADDITIONS}
_PREAMBLE = """\
# 需求确认书

> 由 clarify 步骤生成并**冻结**。要改需求就改这个文件;
> 想重新确认一遍,删掉它再跑。

"""


class Addition(NamedTuple):
    """What a person added to a frozen brief, word for word, and the heading it stands under."""

    label: str
    text: str


@dataclass
class Brief:
    """What is wanted, when it counts as done, what is not to be done, and what is assumed."""

    goal: str = ""
    accept: str = ""
    bounds: str = ""
    unknowns: str = ""
    path: Path | None = field(default=None, compare=False)
    additions: list[Addition] = field(default_factory=list)

    @classmethod
    def parse(cls, text: str) -> "Brief":
        """The brief that ``text`` holds, empty where it says nothing. Never raises.

        A person's additions are taken as they stand, fenced blocks and headings included, up to the next addition.
        """
        found = read_sections(text, _HEADINGS)
        return cls(
            goal=found["goal"],
            accept=found["accept"],
            bounds=found["bounds"],
            unknowns=found["unknowns"],
            additions=_additions(text),
        )

    @classmethod
    def last_in(cls, text: str) -> "Brief":
        """The last whole brief in a conversation's ``text``; what `parse` finds when none is whole."""
        found = (cls.parse(tail) for tail in tails(text, _SECTIONS, "goal"))
        return next((brief for brief in found if brief.complete()), None) or cls.parse(text)

    @classmethod
    def load(cls, path: Path | str) -> "Brief | None":
        """The brief in the file; None when it isn't there or can't be read."""
        text = read_page(path)
        if text is None:
            return None
        brief = cls.parse(text)
        brief.path = Path(path)
        return brief

    def digest(self) -> str:
        """Another one for another content of the four sections; additions don't count.

        It is that of what a file would give back, so that one that is read has the digest of the one written.
        """
        read_back = Brief.parse(self.to_markdown())
        return hashlib.sha256("\0".join(text for _, text in read_back._said()).encode()).hexdigest()[:16]

    def missing(self) -> list[str]:
        """The names of the sections that say nothing, in their order. Additions don't count."""
        return [name for name, text in self._said() if not text]

    def complete(self) -> bool:
        """Whether all four sections say something."""
        return not self.missing()

    def to_markdown(self) -> str:
        """The whole file. Text that would be read as one of its headings or as a fence gets a backslash before it."""
        sections = [(name, inert(text, _HEADINGS) or "(未填)") for name, text in self._said()]
        return _PREAMBLE + "".join(_block(name, text) for name, text in [*sections, *self.additions])

    def prompt_block(self) -> str:
        """What a session is told: the sections that say something, and the additions."""
        return "\n".join(
            _block(name, text) for name, text in [*self._said(), *self.additions] if text
        ).strip()

    def write(self, path: Path | str) -> Path:
        """Replace the file by this brief, whole or not at all. Raises `OSError`."""
        self.path = write_page(path, self.to_markdown())
        return self.path

    def append(self, text: str, *, label: str = ADDED_ON_WAKE, path: Path | str | None = None) -> bool:
        """Add a person's words to this brief, and below what the file says; that stays byte for byte as it was.

        The file is ``path``, else the one this brief was read from or written to; one that is missing is made.
        Returns whether the words were put there: False for blank ones and for ones that stand there already, as
        whole lines. When the file can't be written, this raises `OSError` and the brief in memory has the words all
        the same. Without any path it raises `ValueError`. Under another label than the two of this module the words
        are read back as the end of what stands before them.
        """
        words = normalised(text).strip()
        if not words:
            return False
        target = path if path is not None else self.path
        if target is None:
            raise ValueError("the brief has no file yet: write it first, or name one")
        if not has_lines(self.to_markdown(), words):
            self.additions.append(Addition(label, words))
        return append_to_page(target, _block(label, words), unless=words)

    def _said(self) -> list[tuple[str, str]]:
        bodies = (self.goal, self.accept, self.bounds, self.unknowns)
        return [(names[0], text.strip()) for names, text in zip(_SECTIONS.values(), bodies, strict=True)]


def _block(name: str, text: str) -> str:
    return f"## {name}\n{text}\n"


def _additions(text: str) -> list[Addition]:
    # Fences are not looked at: a block that someone left open above must not swallow what a person said.
    found: list[tuple[str, list[str]]] = []
    for line in normalised(text).split("\n"):
        opened = heading(line, _ADDITIONS)
        if opened is not None:
            found.append((opened.key, [opened.inline]))
        elif found:
            found[-1][1].append(line)
    additions = (Addition(label, "\n".join(lines).strip()) for label, lines in found)
    return [addition for addition in additions if addition.text]
