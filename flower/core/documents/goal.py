"""``目标.md``: what the judge judges by, one sentence and a list of checks."""

from dataclasses import dataclass, field
from pathlib import Path

from flower.core.documents.page import read_page, write_page
from flower.core.documents.sections import Sections, inert, items, read_sections, tails

UNVERIFIABLE = "[此环境无法验证"
"""The mark on a check that can't be seen to hold on this machine; the reason and a bracket follow."""

_SECTIONS: Sections = {
    "statement": ("目标",),
    "checks": ("判定清单", "检查清单"),
}


@dataclass
class Goal:
    """What must be so at the end, and what to look at to see that it is. A check is one line."""

    statement: str = ""
    checks: list[str] = field(default_factory=list)
    path: Path | None = field(default=None, compare=False)

    @classmethod
    def parse(cls, text: str) -> "Goal":
        """The goal that ``text`` holds, empty where it says nothing. Never raises."""
        found = read_sections(text, _SECTIONS)
        return cls(statement=found["statement"], checks=items(found["checks"]))

    @classmethod
    def last_in(cls, text: str) -> "Goal":
        """The last whole goal in a conversation's ``text``; what `parse` finds when none is whole."""
        found = (cls.parse(tail) for tail in tails(text, _SECTIONS, "statement"))
        return next((goal for goal in found if goal.complete()), None) or cls.parse(text)

    @classmethod
    def load(cls, path: Path | str) -> "Goal | None":
        """The goal in the file; None when it isn't there or can't be read."""
        text = read_page(path)
        if text is None:
            return None
        goal = cls.parse(text)
        goal.path = Path(path)
        return goal

    @property
    def unverifiable(self) -> list[str]:
        """The checks that bear the mark `UNVERIFIABLE`."""
        return [check for check in self.checks if UNVERIFIABLE in check]

    def missing(self) -> list[str]:
        """The names of the sections that say nothing, in their order."""
        said = {"statement": self.statement.strip(), "checks": self.checks}
        return [names[0] for key, names in _SECTIONS.items() if not said[key]]

    def complete(self) -> bool:
        """Whether there is a statement and at least one check."""
        return not self.missing()

    def amend(self, extra: str) -> "Goal":
        """Add a person's change to the statement, and return this same goal. The checks stay as they are."""
        self.statement = f"{self.statement}\n\n(已修改){extra}"
        return self

    def to_markdown(self) -> str:
        """The whole file. Text that would be read as one of its headings or as a fence gets a backslash before it."""
        return self._sections("#") + "\n"

    def prompt_block(self) -> str:
        """What a session is told: both sections."""
        return self._sections("##")

    def write(self, path: Path | str) -> Path:
        """Replace the file by this goal, whole or not at all. Raises `OSError`."""
        self.path = write_page(path, self.to_markdown())
        return self.path

    def _sections(self, level: str) -> str:
        statement = inert(self.statement, _SECTIONS).strip() or "(空)"
        checks = "\n".join(f"- {check}" for check in self.checks) or "(空)"
        return f"{level} 目标\n{statement}\n\n{level} 判定清单\n{checks}"
