"""The step that asks: it goes on until the request is clear, and freezes what was settled into ``需求.md``."""

import os
from pathlib import Path
from typing import Any, Literal

from flower.core.agent import AgentSpec
from flower.core.documents import Brief
from flower.core.human import HumanChannel
from flower.core.human_log import Entry
from flower.core.result import StepResult
from flower.core.roles import clarify
from flower.core.words import Words, language_of
from flower.workflow.base import Ctx, Prompt, Step
from flower.workflow.frozen import freeze
from flower.workflow.steps import CLARIFY

BRIEF_KEY = "_brief"
MISSING_KEY = "_brief_missing"

GO_ON_ASKING = Words(
    """\
接着刚才那次没问完的需求确认继续 —— 不是重新开始。诉求、问过的、答过的都在你的上下文里。
答过的就是定了的,别再问一遍;还没弄清的接着问。都清楚了,就给出那份四段的确认书。""",
    """\
Go on with the clarification that was cut off; this is no new start. The request, what was asked and what was
answered are all in your context. What was answered is settled, don't ask it again; ask on about what isn't
clear yet. When all is clear, give the brief in its four sections.""",
)
CLARIFY_RESUME = GO_ON_ASKING.zh

_SETTLED = Words(
    """\
(中断之前已经有结果的问题都在这里,你的上下文里可能缺最后一个。这些也别再问一遍。)
{answers}""",
    """\
(These questions were settled before the break; the last of them may be missing from your context. Don't ask
them again either.)
{answers}""",
)
_OPEN = Words(
    "(这些问了还没有得到回答就断了,回答不会再来。要弄清楚就再问一遍。)\n{questions}",
    "(These had been asked and were not answered before the break; no answer will come. Ask again what you need.)\n"
    "{questions}",
)
_QUESTION = Words("- 问:{question}\n  答:{answer}", "- Q: {question}\n  A: {answer}")
_NO_ANSWER = Words("(没有得到回答,自己判断)", "(no answer: use your own judgement)")

_INCOMPLETE = Words(
    """\
确认书里这几段是空的:{missing}。接着补完 —— 不是重新开始,答过的别再问一遍。
最后一条回复把四段完整地再写一遍,用「## 」标题,不要放进代码块。""",
    """\
These sections of the brief are empty: {missing}. Complete it; this is no new start, don't ask again what was
answered. Your last reply holds all four sections in full, with "## " headings, not in a code block.""",
)


def clarify_step(
    channel: HumanChannel,
    *,
    brief_path: Path | str,
    prompt: Prompt,
    name: str = CLARIFY,
    spec: AgentSpec | None = None,
    instructions: str = "",
    always_ask: bool = False,
    on_fail: Literal["stop", "skip", "continue"] = "stop",
    retries: int = 0,
    language: str | None = None,
    **spec_kw: Any,
) -> Step:
    """A step that makes of the request in ``prompt`` a brief in ``brief_path``.

    It is left out when a complete brief is there already (``always_ask`` asks all the same). Either way
    ``ctx["_brief"]`` is the `Brief` and ``ctx[name]`` its text. A brief that lacks sections isn't written:
    ``ctx["_brief_missing"]`` names them, and the session is told so as long as there are ``retries``. Killed
    and continued, it goes on asking where it stood. ``spec`` replaces the role, else ``spec_kw`` goes to
    `clarify`. ``language`` (zh or en; None: by ``FLOWER_LANG``) is that of the words to the agent.
    """
    spoken = language or language_of(os.environ)
    clarifying = _Clarifying(channel, Path(brief_path), name, always_ask, spoken)
    return Step(
        name,
        spec or clarify(name, channel, instructions=instructions, language=spoken, **spec_kw),
        prompt,
        retries=retries,
        gate=clarifying.settled,
        on_fail=on_fail,
        when=clarifying.needed,
        on_reject=clarifying.incomplete,
        resume_prompt=GO_ON_ASKING.spoken(spoken),
        reduce=clarifying.block,
    )


class _Clarifying:
    def __init__(self, channel: HumanChannel, path: Path, name: str, always: bool, language: str) -> None:
        self._channel = channel
        self._language = language
        self._path = path
        self._name = name
        self._always = always
        self._brief = Brief()

    def needed(self, ctx: Ctx) -> bool:
        """Whether there is anything to ask; if not, what was settled before goes into the context."""
        brief = None if self._always else Brief.load(self._path)
        if brief is not None and brief.complete():
            _forget_request(ctx)
            self._pour(brief, ctx)
            ctx[self._name] = brief.prompt_block()
            return False
        self._recall(ctx)
        return True

    def settled(self, result: StepResult, ctx: Ctx) -> bool:
        """Whether the answer is a whole brief; then it is frozen."""
        brief = Brief.last_in(result.text)
        if not brief.complete():
            ctx[MISSING_KEY] = brief.missing()
            return False
        if freeze(brief, self._path, ctx):
            _forget_request(ctx)
        self._pour(brief, ctx)
        return True

    def incomplete(self, result: StepResult, ctx: Ctx) -> str:
        """What to tell a session whose brief lacks sections."""
        return _INCOMPLETE.spoken(self._language).format(missing="、".join(ctx.get(MISSING_KEY, [])))

    def block(self, result: StepResult) -> str:
        return self._brief.prompt_block()

    def _pour(self, brief: Brief, ctx: Ctx) -> None:
        self._brief = ctx[BRIEF_KEY] = brief
        ctx.pop(MISSING_KEY, None)

    def _recall(self, ctx: Ctx) -> None:
        """Give a continued session the answers that its transcript may lack; a new one has none to have."""
        if self._name not in ctx.get("_inherited", {}):
            self._channel.begin_chapter()
            return
        entries = self._channel.asked_before()
        settled = [entry for entry in entries if entry.state]
        known = {entry.question for entry in settled}
        if settled:
            # An answer is on disk before the agent has it: killed in between, only the log knows it.
            answers = "\n".join(_told(entry, self._language) for entry in settled)
            ctx["_runtime"].keep(_SETTLED.spoken(self._language).format(answers=answers))
        left = [f"- {entry.question}" for entry in entries if entry.question not in known]
        if left:
            # The CLI tells the model that the call was interrupted, which it may take for an answer.
            ctx["_runtime"].keep(_OPEN.spoken(self._language).format(questions="\n".join(left)))


def _forget_request(ctx: Ctx) -> None:
    """What was asked about is on disk in a brief; until then the lineage keeps it for who has to begin anew."""
    lineage = ctx.get("_lineage")
    if lineage is not None:
        lineage.settle()


def _told(entry: Entry, language: str) -> str:
    answer = entry.answer if entry.state == "answered" else _NO_ANSWER.spoken(language)
    return _QUESTION.spoken(language).format(question=entry.question, answer=answer)
