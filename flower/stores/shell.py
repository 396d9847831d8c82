"""A shell line, read the way a shell reads it: which commands with which words, as far as that is certain.

Only the plain part of the language is understood: words, quotes, escapes, and commands in a row. Whoever decides by
the result relies on this: what a shell would do beyond the returned commands is nothing.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

# What can run a command wherever it stands; looked for in the whole line, in quotes too. Arithmetic and all that
# `${…}` does beyond giving a value belong to it: they evaluate what a variable holds.
_SUBSTITUTION = re.compile(r"\$(?:[(\[]|\{(?!\w+\}))|`|[<>]\(")
# Writing to nowhere, and joining the two outputs. What follows must not belong to the file's name.
_END = r"(?![^\s;&|<>()])"
_HARMLESS = re.compile(rf"(?:(?:&>>?|[012]?>>?)[ \t]*/dev/null|[012]?>&[12]|0?<[ \t]*/dev/null){_END}")
_SEPARATOR = re.compile(r"&&|\|\|(?!\|)|;|\n|\|(?!&)")
# What has no meaning of its own inside of a word.
_PLAIN = re.compile(r"[^\s'\"\\$&|;<>()]*")
_BRACES = re.compile(r"\{[^}]*(?:,|\.\.)")


class Word(NamedTuple):
    """A word without its quotes, and whether a shell may make something else of it (a variable, braces)."""

    text: str
    expands: bool = False


class _Obscure(Exception):
    """The line is not of the plain part of the language."""


def read_commands(line: str) -> list[list[Word]] | None:
    """The commands of a line, those joined by pipes and conditions one by one; None if that is not certain."""
    # A shell joins lines first: a dollar and its parenthesis may stand on two.
    if _SUBSTITUTION.search(line) or _SUBSTITUTION.search(line.replace("\\\n", "")):
        return None
    try:
        return _Reader(line).read()
    except _Obscure:
        return None


@dataclass
class _Reader:
    line: str
    at: int = 0
    commands: list[list[Word]] = field(default_factory=lambda: [[]])
    word: list[str] | None = None  # the word that is being read; None between words
    bare: list[str] = field(default_factory=list)  # what of it stands outside of quotes
    expands: bool = False

    def read(self) -> list[list[Word]]:
        while self.at < len(self.line):
            self._step(self.line[self.at])
        self._end_word()
        return [command for command in self.commands if command]

    def _step(self, character: str) -> None:
        if self._skip(_HARMLESS, character in "<>&" or (self.word is None and character in "012")):
            self._end_word()
        elif self._skip(_SEPARATOR, character in "&|;\n"):
            self._end_word()
            self.commands.append([])
        elif character in " \t":
            self._end_word()
            self.at += 1
        elif character in "<>&|()" or (character == "#" and self.word is None):
            raise _Obscure
        elif character == "'":
            self._add(self._until("'"))
        elif character == '"':
            self._double_quoted()
        elif character == "\\":
            self._escaped()
        else:
            self._plain(character)

    def _skip(self, pattern: re.Pattern[str], possible: bool) -> bool:
        match = pattern.match(self.line, self.at) if possible else None
        if match is None:
            return False
        self.at = match.end()
        return True

    def _plain(self, character: str) -> None:
        if character == "$":
            if self.line[self.at + 1 : self.at + 2] in ("'", '"'):
                raise _Obscure  # quotes with escapes of their own
            self.expands = True
        end = _PLAIN.match(self.line, self.at + 1).end()  # type: ignore[union-attr]
        text = self.line[self.at : end]
        self._add(text, bare=text)
        self.at = end

    def _escaped(self) -> None:
        if self.at + 1 >= len(self.line):
            raise _Obscure
        if self.line[self.at + 1] != "\n":  # before the end of a line it only joins it with the next
            self._add(self.line[self.at + 1])
        self.at += 2

    def _double_quoted(self) -> None:
        self.at += 1
        text = []
        while (character := self._current()) != '"':
            if character == "\\" and self.line[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                self.at += 1
                text.append("" if self._current() == "\n" else self._current())
            else:
                self.expands = self.expands or character == "$"
                text.append(character)
            self.at += 1
        self.at += 1
        self._add("".join(text))

    def _until(self, quote: str) -> str:
        end = self.line.find(quote, self.at + 1)
        if end < 0:
            raise _Obscure
        text = self.line[self.at + 1 : end]
        self.at = end + 1
        return text

    def _current(self) -> str:
        if self.at >= len(self.line):
            raise _Obscure
        return self.line[self.at]

    def _add(self, text: str, *, bare: str = "\0") -> None:
        if self.word is None:
            self.word = []
        self.word.append(text)
        self.bare.append(bare)

    def _end_word(self) -> None:
        if self.word is not None:
            expands = self.expands or _BRACES.search("".join(self.bare)) is not None
            self.commands[-1].append(Word("".join(self.word), expands))
        self.word, self.bare, self.expands = None, [], False
