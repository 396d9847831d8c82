"""What argparse finds wrong with a command line, in the person's language: one line, and no usage above it."""

import argparse
import re
from typing import Any, Final, NoReturn

from flowerctl.hints import USAGE
from flowerctl.language import Texts
from flowerctl.output import complain

# What argparse says, from Python 3.11 on, and the sentence that says it here. Anything else is passed on as it is.
_SAID: Final = (
    (r"unrecognized arguments: (?P<what>.+)", "usage_unknown"),
    (r"the following arguments are required: (?P<what>.+)", "usage_required"),
    (r"argument (?P<flag>.+?): expected .*argument", "usage_value"),
    (r"argument (?P<flag>.+?): ignored explicit argument '(?P<value>.*)'", "usage_bare"),
    (r"argument (?P<flag>.+?): invalid int value: '(?P<value>.*)'", "usage_whole"),
    (r"argument (?P<flag>.+?): invalid float value: '(?P<value>.*)'", "usage_number"),
    (r"argument (?P<flag>.+?): invalid choice: '(?P<value>.*?)' .*from (?P<known>.+)\)", "usage_choice"),
)


class UsageParser(argparse.ArgumentParser):
    """Says what is wrong, and what to do, in one line; the exit code is 2."""

    def __init__(self, *arguments: Any, texts: Texts, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.texts = texts

    def error(self, message: str) -> NoReturn:
        complain(f"{self.prog}: {self._translated(message)}")
        raise SystemExit(USAGE)

    def unknown(self, arguments: list[str]) -> NoReturn:
        """Wrong usage: nobody knows these."""
        self.error(f"unrecognized arguments: {' '.join(arguments)}")

    def _translated(self, message: str) -> str:
        for pattern, name in _SAID:
            match = re.fullmatch(pattern, message, re.DOTALL)
            if match is not None:
                values = match.groupdict()
                if "known" in values:
                    values["known"] = values["known"].replace("'", "")
                return self.texts(name, prog=self.prog, **values)
        return message
