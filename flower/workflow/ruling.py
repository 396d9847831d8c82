"""What a judge is told: the goal, how to look, and how to say what it saw."""

from flower.core.documents import Addition, Goal, Verdict
from flower.core.words import Words

RULER = Words(
    "你这一次的任务:判定。说出结论、理由和未通过的条目。",
    "Your task this time: judge. Give the conclusion, the reason, and the checks that didn't hold (未通过).",
)

_PROMPT = Words(
    """\
活交上来了,你去看。这是它的目标和清单:

{goal}
{added}
- 一条一条来。没亲眼看到证据的条目,就是没过。
- 目标里「(已修改)」后面是人后来说的,和清单冲突时以它为准。
- 结论只有三种:
  达成 —— 每一条都看到了。
  未达成 —— 有没过的,再做一轮能补上。
  无法达成 —— 剩下没过的,再做一轮也不会变。在这个环境里验不了的,或者你手上的工具看不到的,
    属于这一种,绝不算达成。
- 只说缺什么、看到了什么,不说怎么修。

最后一条回复只有这三段,标题照抄,不要放进代码块:

# 结论
(达成、未达成、无法达成,三个里的一个,不写别的)

# 理由
(看了什么,看到了什么)

# 未通过
- (没过的条目,一条一行;没有就写「无」)""",
    """\
The work is handed in: go and look. This is its goal, and the list:

{goal}
{added}
- One check after another. A check that you haven't seen evidence for has not passed.
- What follows "(已修改)" in the goal is what the person said later; where it contradicts the list, it holds.
- There are three conclusions only, and they are written in these words:
  达成 (achieved): you saw each check hold.
  未达成 (not yet): some didn't, and another round of work can make up for it.
  无法达成 (out of reach): some didn't, and another round would change nothing. What can't be verified in this
    environment, or can't be seen with the tools you hold, is of this kind, and never achieved.
- Say only what is missing and what you saw, not how to mend it.

Your last reply holds these three sections only. Copy the headings as they are (结论: the conclusion; 理由: the
reason; 未通过: what didn't hold), and use no code block:

# 结论
(达成, 未达成 or 无法达成: one of the three, nothing else)

# 理由
(what you looked at, what you saw)

# 未通过
- (the checks that didn't hold, one a line; 无 if there are none)""",
)

_ADDED = Words(
    """
人后来还说了这些,清单里还没有,一样要看:
{words}
""",
    """
The person said this later, and the list doesn't have it yet; look at it just the same:
{words}
""",
)


def ruling_prompt(goal: Goal, unlisted: list[Addition], language: str) -> str:
    """What the judge is told; ``unlisted`` is what the person added that is not among the goal's checks."""
    added = _ADDED.spoken(language).format(words=as_list(unlisted)) if unlisted else ""
    return _PROMPT.spoken(language).format(goal=goal.prompt_block(), added=added)


def as_list(additions: list[Addition]) -> str:
    """What the person added, a line each."""
    return "\n".join(f"- {addition.text}" for addition in additions)


def put_before(verdict: Verdict, says: Words, words: str, language: str) -> None:
    """Put the person's words before the judge's in the verdict's reason, in a sentence that ``says`` how they came."""
    verdict.reason = says.spoken(language).format(words=words, reason=verdict.reason).strip()
