"""``交接-<step>.md``: what a session that is nearly full leaves to the one that takes over."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from flower.core.documents.page import read_page, write_page
from flower.core.documents.sections import Sections, inert, normalised, read_sections
from flower.core.words import Words

DEGRADED = "[降级:交接没写成]"
"""Stands in ``doing`` when the document was put together mechanically because the session couldn't write it."""

_SECTIONS: Sections = {
    "doing": ("现在在做什么", "现在在做"),
    "decided": ("已经定下的", "已经定下的事", "已定的事"),
    "deadends": ("走不通的路", "走不通的"),
    "next": ("下一步",),
    "scene": ("现场",),
}
_TITLE = re.compile(r"# 交接 · (?P<step>.+)")

_TAKE_OVER = Words(
    """\
你在接手一段还没干完的活{step}。上一个会话的上下文快满了,下面是它留下的交接,原来的任务不会再发一遍。
先看一眼现场是不是和交接说的一样,再从「下一步」接着做:定下的事不重新讨论,走不通的路不再走一遍。""",
    """\
You take over work that isn't finished{step}. The context of the session before you was nearly full; below is the
handover it left, and the original task will not be sent again. First see whether things are as the handover says, then
go on from 下一步 (what comes next): what was decided (已经定下的) isn't discussed again, and what led nowhere
(走不通的路) isn't tried again.""",
)

_TAKE_OVER_DEGRADED = Words(
    """\
你在接手一段还没干完的活{step}。上一个会话没能写成交接,下面是机械拼出来的,并不完整。
动手之前先自己去现场看清楚(文件、git 状态、工作台里的记录):做到哪了、定过什么、试过什么。
然后接着做,不要从头来过。""",
    """\
You take over work that isn't finished{step}. The session before you could not write its handover; what follows was put
together mechanically, and is not complete. Before you do anything, see for yourself (files, git status, the notes on
the workbench): how far it got, what was decided, what was tried. Then go on; don't start over.""",
)
_STEP = Words("(步骤「{step}」)", " (step {step})")


@dataclass
class Handoff:
    """What is being done, what is settled, what was tried in vain, what comes next, and where things are."""

    doing: str = ""
    decided: str = ""
    deadends: str = ""
    next: str = ""
    scene: str = ""
    step: str = ""
    path: Path | None = field(default=None, compare=False)

    @classmethod
    def parse(cls, text: str, *, step: str = "") -> "Handoff":
        """The document that ``text`` holds, empty where it says nothing. Never raises.

        Without ``step``, the step is the one that the title of a written document names.
        """
        found = read_sections(text, _SECTIONS)
        return cls(
            doing=found["doing"],
            decided=found["decided"],
            deadends=found["deadends"],
            next=found["next"],
            scene=found["scene"],
            step=step or _step_in_title(text),
        )

    @classmethod
    def load(cls, path: Path | str) -> "Handoff | None":
        """The document in the file; None when it isn't there or can't be read."""
        text = read_page(path)
        if text is None:
            return None
        handoff = cls.parse(text)
        handoff.path = Path(path)
        return handoff

    @property
    def degraded(self) -> bool:
        """Whether this was put together mechanically."""
        return DEGRADED in self.doing

    def missing(self) -> list[str]:
        """The names of the required sections that say nothing, in their order."""
        required = {_SECTIONS["doing"][0], _SECTIONS["next"][0]}
        return [name for name, text in self._said() if name in required and not text]

    def complete(self) -> bool:
        """Whether it says what is being done and what comes next, without which nobody can take over."""
        return not self.missing()

    def to_markdown(self) -> str:
        """The whole file. Text that would be read as one of its headings or as a fence gets a backslash before it."""
        title = f"# 交接 · {self.step}" if self.step else "# 交接"
        sections = [f"## {name}\n{inert(text, _SECTIONS) or '(空)'}" for name, text in self._said()]
        return "\n\n".join([title, *sections]) + "\n"

    def prompt_block(self, language: str = "zh") -> str:
        """The first message to the successor: what this is, and the sections that say something."""
        words = _TAKE_OVER_DEGRADED if self.degraded else _TAKE_OVER
        step = _STEP.spoken(language).format(step=self.step) if self.step else ""
        opening = words.spoken(language).format(step=step)
        return "\n\n".join([opening, *(f"## {name}\n{text}" for name, text in self._said() if text)])

    def write(self, path: Path | str) -> Path:
        """Replace the file by this document, whole or not at all. Raises `OSError`."""
        self.path = write_page(path, self.to_markdown())
        return self.path

    def _said(self) -> list[tuple[str, str]]:
        bodies = (self.doing, self.decided, self.deadends, self.next, self.scene)
        return [(names[0], text.strip()) for names, text in zip(_SECTIONS.values(), bodies, strict=True)]


def _step_in_title(text: str) -> str:
    title = _TITLE.fullmatch(normalised(text).lstrip("\ufeff \n").split("\n", 1)[0].rstrip())
    return title["step"] if title else ""
