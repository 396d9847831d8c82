"""When a session that is nearly full hands over to a fresh one, and what it is asked to leave behind.

This is no compaction: the document is a file that a person can read and change before the successor reads it.
"""

import re
from dataclasses import dataclass

from flower.core.documents import DEGRADED, Handoff
from flower.core.windows import default_window
from flower.core.words import Words

HEADROOM_FLOOR = 50_000
SMALLEST_LEVEL = 10_000
WARNING_TOKENS = 20_000
SCENE_CHARACTERS = 1_200

WRITE_HANDOFF = Words(
    """\
停一下手里的活。这个会话的上下文已经用了 {used} / {window} tokens,马上由一个全新的会话接手。
它看不到这里的任何一句话,只看得到你现在写下的交接。什么工具都不要再用,直接写,就写下面五段,标题照抄:

## 现在在做什么
正在做的是哪一件,做到哪一步,离做完还差什么。
## 已经定下的
定了哪些事,每一条带上为什么。人说过的要求和补充也写在这里,原话照录。
## 走不通的路
试过什么、怎么失败的、为什么不行。这一段最值钱,一条都不要省。
## 下一步
接手的人第一件该做什么,然后是什么。
## 现场
相关的文件、分支、脚本、产出在哪。只写路径和一句话,不要贴内容。""",
    """\
Stop what you are doing. The context of this session holds {used} of {window} tokens; a fresh session takes over
at once. It sees no word of what was said here, only the handover that you write now. Use no tool any more, just
write, exactly these five sections, with the headings copied as they are:

## 现在在做什么
(What is being done.) Which thing, how far it got, what is missing until it is done.
## 已经定下的
(What is decided.) Each decision with its why. What the person asked for and added goes here too, in their own words.
## 走不通的路
(What led nowhere.) What was tried, how it failed, why it can't work. This is worth most: leave none out.
## 下一步
(What comes next.) What your successor does first, and then.
## 现场
(Where things are.) The files, branches, scripts and products that matter: paths and a phrase each, no contents.""",
)
HANDOFF_PROMPT = WRITE_HANDOFF.zh

_DOING = Words(
    "{reason}。上一个会话在做步骤「{step}」,做到哪了没有留下记录。",
    "{reason}. The session before was at step {step}; how far it got is not recorded.",
)
_NEXT = Words(
    "先去现场看清楚做到哪了,再从断的地方接着做。",
    "First see for yourself how far it got, then go on from where it broke off.",
)
_SCENE = Words("原来的任务(开头一段):\n{prompt}", "The original task (its beginning):\n{prompt}")

_OVERFLOW = re.compile(
    r"prompt is too long|context[ _]length[ _]exceeded|exceed(?:s|ed)? (?:the )?(?:maximum )?context (?:length|window)"
    r"|maximum context length|too many total text bytes|input length and .{0,4}max_tokens.{0,4} exceed"
    r"|(?:上下文|提示词|输入)[^\n]{0,12}(?:过长|太长|超出|超过)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class HandoffPolicy:
    """When to hand over. Sizes are in tokens of the main thread's context.

    ``window`` of None is what is known of the model. ``headroom`` of None is a quarter of the window, and at least
    50,000; it is what is left for writing the document and for the result that jumps over the line.
    ``max_generations``: how often one step may hand over.
    """

    enabled: bool = True
    window: int | None = None
    headroom: int | None = None
    max_generations: int = 8

    @property
    def size(self) -> int:
        return self.window if self.window is not None else default_window()

    @property
    def room(self) -> int:
        return self.headroom if self.headroom is not None else max(self.size // 4, HEADROOM_FLOOR)

    @property
    def at(self) -> int:
        """The level at which the session hands over."""
        return max(SMALLEST_LEVEL, self.size - self.room)

    @property
    def warn_at(self) -> int:
        """The level at which that is announced."""
        return max(1_000, self.at - WARNING_TOKENS)

    @property
    def urgent_at(self) -> int:
        """The level at which it hands over though something still works that would be lost by it."""
        return self.at + min(self.room, self.size - self.at) // 2


def is_overflow(*texts: str | None) -> bool:
    """Whether one of the texts says that the context no longer fits."""
    return any(text is not None and _OVERFLOW.search(text) is not None for text in texts)


def degraded(step: str, prompt: str, *, why: str = "", language: str = "zh") -> Handoff:
    """The document that is put together mechanically when the session could not write it."""
    reason = f"{DEGRADED}:{why}" if why else DEGRADED
    return Handoff(
        doing=_DOING.spoken(language).format(reason=reason, step=step),
        next=_NEXT.spoken(language),
        scene=_SCENE.spoken(language).format(prompt=prompt[:SCENE_CHARACTERS]),
        step=step,
    )
