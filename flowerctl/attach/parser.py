"""Takes the command line of a ``flower`` apart, whichever of its commands that is."""

import sys
from collections.abc import Sequence

from flowerctl.attach.flags import GLOBAL
from flowerctl.language import ZH, Texts
from flowerctl.usage import UsageParser


class Parser(UsageParser):
    """Knows the words and the flags that every command has."""

    def __init__(self, prog: str, texts: Texts, *, usage: str, description: str, words: str) -> None:
        super().__init__(prog, usage, description, texts=texts, allow_abbrev=False, add_help=False)
        chinese = texts.language == ZH
        self.add_argument(
            "words", nargs="*", metavar=words, help="要做的事" if chinese else "what is to be done"
        )
        everywhere = self.add_argument_group("通用" if chinese else "everywhere")
        everywhere.add_argument("-h", "--help", action="help", help="这几行" if chinese else "these lines")
        everywhere.add_argument("--version", action="store_true", help="版本" if chinese else "the version")
        for flag in GLOBAL:
            flag.add_to(everywhere, texts.language)

    def need(self, flag: str, value: object, held: bool, rule: str) -> None:
        """Wrong usage, unless the flag was not typed or its rule is ``held``. ``rule`` is the name of a sentence."""
        if value is not None and not held:
            self.error(self.texts("need", flag=flag, value=value, rule=self.texts(rule)))


def behind_dashes(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """What stands before a ``--`` and what behind it: words, whatever they look like to argparse."""
    given = list(arguments)
    end = given.index("--") if "--" in given else len(given)
    return given[:end], given[end + 1 :]


def as_text(text: str) -> str:
    """An argument as text: in another encoding than the locale's it arrives with halves of surrogate pairs in it."""
    return text.encode(sys.getfilesystemencoding(), "surrogateescape").decode("utf-8", "replace")
