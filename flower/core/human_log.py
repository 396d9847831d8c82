"""``问答记录.md``: every question and every answer, on disk the moment it is known.

The page is for people, and for a run that was killed: what had been answered is read back from it, so that nobody
is asked twice. A chapter is one clarification; within it an answer stands below its question.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flower.core.durable import locked, private_folder, write_atomically

_TITLE = "# 需求问答记录\n\n> 自动追加。这一份不进上下文,只作留档。\n\n"
_QUESTION = re.compile(r"- \*\*Q\*\*\(q(?P<number>\d+)\) (?P<text>.*)")
_ANSWER = re.compile(r"  - \*\*A\*\*\[(?P<state>\w+)\] ?(?P<text>.*)")
_TOP = re.compile(r"- |## ")
# What a text goes on with in its further lines: deeper than our own lines, so that none can pass for one of them.
_DEEPER = "    "


@dataclass
class Entry:
    """One question of the page; ``state`` is empty while it has no outcome."""

    number: int
    question: str
    state: str = ""
    answer: str = ""


class QuestionLog:
    """The page at ``path``. Every method may raise `OSError`; those that write return when it is on disk.

    Two processes may write to it at once.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def ask(self, number: int, question: str, options: Sequence[str]) -> None:
        """Write down a question."""
        lines = [f"- **Q**(q{number}) {_nested(question)}"]
        if options:
            lines.append("  - 选项:" + " / ".join(_flat(option) for option in options))
        self._rewrite(lambda page: page + "\n".join(lines) + "\n")

    def settle(self, number: int, state: str, answer: str) -> None:
        """Write what became of a question, below it."""
        line = f"  - **A**[{state}] {_nested(answer)}".rstrip() + "\n"
        self._rewrite(lambda page: _with_answer(page, number, line))

    def say(self, text: str) -> None:
        """Write down what the person said unasked."""
        self._rewrite(lambda page: page + f"- **说** {_nested(text)}\n")

    def begin_chapter(self) -> None:
        """From here on it is another matter, whose answers are its own."""
        if self.chapter():
            stamp = time.strftime("%Y-%m-%d %H:%M:%S")
            self._rewrite(lambda page: page + f"\n## {stamp}\n\n")

    def chapter(self) -> list[Entry]:
        """The questions of the last chapter, in their order."""
        return _entries(re.split(r"^## ", self._read(), flags=re.MULTILINE)[-1])

    def highest(self) -> int:
        """The highest number a question ever had here; 0 when there is none."""
        return max((entry.number for entry in _entries(self._read())), default=0)

    def _read(self) -> str:
        try:
            # What is no UTF-8 comes through unchanged: a page that somebody damaged is not made worse.
            return self.path.read_bytes().decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            return ""

    def _rewrite(self, change: Callable[[str], str]) -> None:
        private_folder(self.path.parent)
        with locked(self.path):
            page = self._read() or _TITLE
            changed = change(page if page.endswith("\n") else page + "\n")
            write_atomically(self.path, changed.encode("utf-8", "surrogateescape"))


def _with_answer(page: str, number: int, line: str) -> str:
    """The page with ``line`` at the end of the last question of this number; at its own end if there is none."""
    lines = page.splitlines(keepends=True)
    asked = [at for at, each in enumerate(lines) if each.startswith(f"- **Q**(q{number}) ")]
    if not asked:
        return page + line
    after = asked[-1] + 1
    while after < len(lines) and lines[after].strip() and not _TOP.match(lines[after]):
        after += 1
    return "".join([*lines[:after], line, *lines[after:]])


def _entries(page: str) -> list[Entry]:
    found: list[Entry] = []
    more = ""  # which text of the last entry the line goes on with
    for line in page.splitlines():
        question, answer = _QUESTION.fullmatch(line), _ANSWER.fullmatch(line)
        if question is not None:
            found.append(Entry(int(question["number"]), question["text"]))
            more = "question"
        elif answer is not None and found:
            found[-1].state, found[-1].answer = answer["state"], answer["text"]
            more = "answer"
        elif line.startswith(_DEEPER) and more:
            said = getattr(found[-1], more)
            setattr(found[-1], more, f"{said}\n{line.removeprefix(_DEEPER)}")
        else:
            more = ""
    return found


def _nested(text: str) -> str:
    # One kind of line end: splitlines() knows many, and each would be a way out of the indentation.
    return f"\n{_DEEPER}".join(text.strip().splitlines())


def _flat(text: str) -> str:
    return " ".join(text.split())
