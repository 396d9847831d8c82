"""What the judge answers: achieved, not yet, or out of reach. What isn't clearly "achieved" never passes."""

import re
from dataclasses import dataclass, field
from typing import Literal

from flower.core.documents.sections import (
    Sections,
    items,
    normalised,
    occurrences,
    read_sections,
    tails,
    without_fences,
)
from flower.core.words import Words

State = Literal["achieved", "not_yet", "unreachable", ""]
"""Empty when the judge gave no clear answer."""

ACHIEVED: State = "achieved"
NOT_YET: State = "not_yet"
UNREACHABLE: State = "unreachable"
UNCLEAR = "判定者没给出明确结论,按未达成处理"

_CARRY_ON = Words(
    "目标还没达成,接着做 —— 不是重新开始。",
    "The goal isn't achieved yet: carry on, this is no new start.",
)
_REASON = Words("理由:\n{reason}", "Why:\n{reason}")
_FAILED = Words("没通过的条目:\n{items}", "Checks that didn't hold:\n{items}")

_SECTIONS: Sections = {
    "conclusion": ("结论", "判定结论", "判定"),
    "reason": ("理由",),
    "failed": ("未通过", "未通过项", "未通过的条目"),
}

# Each is looked for before the next, because it contains the next: "无法达成", "未达成", "达成". What can't be
# verified here is out of reach too: another round would see no more than this one.
_OUT_OF_REACH = re.compile(
    r"无法达成|不可能?达成|达不成|无法验证|没法验证|验证不了|无法判定|unverifiable|unreachable", re.IGNORECASE
)
_NOT_THERE = re.compile(r"[未没不非][^,，。;；\n]{0,6}达成|not[ _](?:yet|achieved)", re.IGNORECASE)
# "应该达成了" or "达成一半" is no verdict: only a plain word at the start of the answer, followed by no other word.
_THERE = re.compile(
    r"\W*(?:1\W+)?(?:(?:本轮|目标|所有|条目|判定?为|全部|完全|已经|已|均|都)\W*)*"
    r"(?:达成|achieved)了?(?=[^\w?？]*$|\s*[^\w\s?？])",
    re.IGNORECASE,
)
_HEDGED = re.compile(r"部分|一半|基本|除了|还差|但|partial|except|\bbut\b", re.IGNORECASE)
_DIGIT = re.compile(r"\W*(?:(?P<yes>1|true)|(?P<no>0|false))\W*", re.IGNORECASE)
_NOTHING = re.compile(
    r"\W*(?:(?:无|没有)(?:任何)?(?:未通过的?(?:条目|项|检查)?)?|none|n/a|(?:全部|均|都)[^未没不]{0,8}通过|0\s*[条项个](?:未通过)?)"
    r"(?:\W.*)?|\W*0\W*",
    re.IGNORECASE,
)


@dataclass
class Verdict:
    """The judge's answer, why, and the checks that didn't hold."""

    state: State = ""
    reason: str = ""
    failed: list[str] = field(default_factory=list)

    @classmethod
    def parse(cls, text: str) -> "Verdict":
        """The verdict that ``text`` holds; one without a clear answer has the state ``""``. Never raises.

        "Achieved" beside checks that didn't hold is "not yet". Conclusions that contradict each other are no answer.
        """
        found = read_sections(text, _SECTIONS)
        failed = [item for item in items(found["failed"]) if _is_failure(item)]
        state = _agreed(text)
        if state == ACHIEVED and failed:
            state = NOT_YET
        return cls(state=state, reason=found["reason"] or ("" if state else UNCLEAR), failed=failed)

    @classmethod
    def last_in(cls, text: str) -> "Verdict":
        """The verdict that ``text`` ends with. What stands above its last conclusion can't help, only hinder:

        a judge may quote a conclusion that it found in a file, above its own or below it.
        """
        whole = cls.parse(text)
        last = next((cls.parse(tail) for tail in tails(text, _SECTIONS, "conclusion")), whole)
        if last.achieved:
            return whole
        if last.state and not last.reason:
            last.reason = whole.reason
        return last

    @property
    def achieved(self) -> bool:
        return self.state == ACHIEVED

    @property
    def unreachable(self) -> bool:
        return self.state == UNREACHABLE

    @property
    def ok(self) -> bool:
        """Whether the work may pass: on "achieved" alone."""
        return self.achieved

    def feedback(self, language: str = "zh") -> str:
        """What the worker is told: what is missing and why, never how to mend it. Empty when nothing is missing."""
        if self.ok:
            return ""
        parts = [_CARRY_ON.spoken(language)]
        if self.reason:
            parts.append(_REASON.spoken(language).format(reason=self.reason))
        if self.failed:
            items = "\n".join(f"- {item}" for item in self.failed)
            parts.append(_FAILED.spoken(language).format(items=items))
        return "\n\n".join(parts)


def _is_failure(item: str) -> bool:
    # "无" says that nothing failed; "无,但第 3 条没看到" doesn't.
    return _NOTHING.fullmatch(item) is None or _HEDGED.search(item) is not None


def _agreed(text: str) -> State:
    """What the conclusions in ``text`` say, or the whole of it when it has none."""
    conclusions = [body for key, body in occurrences(text, _SECTIONS) if key == "conclusion" and body]
    if not conclusions:
        return _state(without_fences(normalised(text)).strip())
    # A judge may quote the worker's own conclusion above its own: the first one must not decide alone.
    states = {_state(conclusion) for conclusion in conclusions} - {""}
    return states.pop() if len(states) == 1 else ""


def _state(conclusion: str) -> State:
    first = conclusion.split("\n", 1)[0]
    digit = _DIGIT.fullmatch(first)
    if _OUT_OF_REACH.search(conclusion):
        return UNREACHABLE
    if _NOT_THERE.search(conclusion) or (digit and digit["no"]):
        return NOT_YET
    if (digit and digit["yes"]) or (_THERE.match(first) and not _HEDGED.search(first)):
        return ACHIEVED
    return ""
