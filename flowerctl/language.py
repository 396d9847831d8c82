"""The language of the commands: Chinese unless ``--lang`` or ``FLOWER_LANG`` say en."""

from collections.abc import Mapping, Sequence
from typing import Final

from flowerctl.sentences import SENTENCES

ZH: Final = "zh"
EN: Final = "en"


def chosen(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """The language to speak, known before the arguments are parsed: their errors are said in it too."""
    named = environment.get("FLOWER_LANG", "")
    for position, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument.startswith("--lang="):
            named = argument.removeprefix("--lang=")
        elif argument == "--lang" and position + 1 < len(arguments):
            named = arguments[position + 1]
    return EN if named.lower().startswith(EN) else ZH


class Texts:
    """The sentences of one language: ``texts("goodbye", workspace=…)``. KeyError for one that isn't in the table."""

    def __init__(self, language: str = ZH) -> None:
        self.language = language

    def __call__(self, name: str, /, **values: object) -> str:
        chinese, english = SENTENCES[name]
        return (english if self.language == EN else chinese).format_map(values)
