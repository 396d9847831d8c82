"""What a judge says at its end, taken apart to be shown: the conclusion first, then why, then what didn't hold.

Only for the eye. What counts is what the run makes of it; a text that isn't plainly a verdict is shown as it is.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Conclusion(StrEnum):
    """The values are the names of their sentences."""

    ACHIEVED = "verdict_achieved"
    NOT_YET = "verdict_not_yet"
    UNREACHABLE = "verdict_unreachable"


@dataclass(frozen=True, slots=True)
class Verdict:
    """``before`` is what was said ahead of it."""

    conclusion: Conclusion
    reason: str
    failed: tuple[str, ...]
    before: str


_HEADING: Final = re.compile(r"^[#*\s]*(结论|理由|未通过)[*\s]*[:：]?[*\s]*$", re.MULTILINE)
_WORDS: Final = {
    "达成": Conclusion.ACHIEVED,
    "未达成": Conclusion.NOT_YET,
    "无法达成": Conclusion.UNREACHABLE,
}
_MARKER: Final = re.compile(r"^\s*(?:[-*·]|\d+[.)])\s+")
_NOTHING: Final = re.compile(r"\W*(?:无|没有|none)?\W*", re.IGNORECASE)


def verdict_in(text: str) -> Verdict | None:
    """The verdict that ``text`` plainly is; None otherwise."""
    before, *parts = _HEADING.split(text)
    if parts[::2] != ["结论", "理由", "未通过"]:
        return None
    word, reason, failures = (part.strip() for part in parts[1::2])
    conclusion = _WORDS.get(word.strip("*`。. "))
    if conclusion is None:
        return None
    items = (_MARKER.sub("", line).strip() for line in failures.splitlines())
    failed = tuple(item for item in items if not _NOTHING.fullmatch(item))
    if failed and conclusion is Conclusion.ACHIEVED:
        conclusion = Conclusion.NOT_YET  # as the run takes it
    return Verdict(conclusion, reason, failed, before.strip())
