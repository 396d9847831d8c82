"""A sentence for the person in both languages; which one is shown is decided where it is shown."""

import os
from collections.abc import Mapping
from typing import NamedTuple


class Words(NamedTuple):
    """The same sentence in Chinese, which is the default, and in English."""

    zh: str
    en: str

    def spoken(self, language: str) -> str:
        return self.en if language == "en" else self.zh

    def __str__(self) -> str:
        """In the language of this process."""
        return self.spoken(language_of(os.environ))


def language_of(environment: Mapping[str, str]) -> str:
    """``en`` when ``FLOWER_LANG`` says so, else ``zh``."""
    return "en" if environment.get("FLOWER_LANG", "").lower().startswith("en") else "zh"
