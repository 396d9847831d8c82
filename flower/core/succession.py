"""How one session of a step gives way to the next: the level it watches, the document it leaves, the brakes.

Three things can be killed between: the document is on disk, the lineage says so, the successor lives. Whoever comes
next finds the last of them that is true, and goes on from there.
"""

import logging
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flower.core.documents import Handoff
from flower.core.events import Event
from flower.core.handoff import WRITE_HANDOFF, HandoffPolicy, degraded, is_overflow
from flower.core.result import StepResult
from flower.core.windows import Windows, is_another
from flower.core.words import Words

logger = logging.getLogger(__name__)

MOST_DEGRADED_IN_A_ROW = 3

NEAR = Words(
    "上下文 {context}/{window} · 还有约 {left} 到换代",
    "context {context}/{window} · about {left} left until the handoff",
)
WRITING = Words(
    "上下文 {context}/{window} —— 写交接准备换代",
    "context {context}/{window}: writing the handoff",
)
DONE = Words("交接写在 {path}", "the handoff is in {path}")
DONE_WITHOUT_FILE = Words("交接写好了,新会话接手", "the handoff is written, a new session takes over")
CALLED_OFF = Words(
    "这一轮已经收尾了,这次不用换代。", "the turn had already come to its end: no handoff this time."
)
OTHER_MODEL = Words(
    "答话的模型是 {answered},不是配的 {configured}:窗口可能没有按名字猜的那么大。"
    "用 --window 或 FLOWER_WINDOW 说实际的窗口。",
    "{answered} answers, not {configured} as configured: its window may be smaller than that name promises. Say how"
    " large it is with --window or FLOWER_WINDOW.",
)
FULL = Words("上下文已经放不下了", "the context no longer fits")
REFUSED = Words("这段会话的记录接口不认", "the model's service refuses this session's record")
LACKING = Words("写的东西缺 {missing}", "what it wrote lacks {missing}")
TOO_MANY = Words(
    "换代到了上限({count} 次)。多半是窗口太小,刚过启动地板(约 34K)就又满了:"
    "用 --window 给大一点,或者 --no-handoff 关掉换代。",
    "handed over {count} times, which is the limit. The window is most likely too small, full again right above the"
    " startup floor (about 34K): give a larger --window, or turn it off with --no-handoff.",
)
TOO_DEGRADED = Words(
    "连着 {count} 次交接都是降级的,再换下去只是烧钱,停在这里。"
    "设的窗口比实际的大,或者余量不够写一份交接:用 --window 给实际的窗口。",
    "{count} handoffs in a row were degraded; going on would only burn money, so this stops. The window is smaller than"
    " assumed, or leaves no room to write in: give the real one with --window.",
)
_ILLEGAL = re.compile(r'[\x00-\x1f/\\:*?"<>|]')


class Succession:
    """The sessions of one step.

    ``notes`` is the folder for the document; None keeps it in memory. ``record`` makes a note that the session
    has left it there.
    """

    def __init__(
        self,
        policy: HandoffPolicy,
        windows: Windows,
        result: StepResult,
        notes: Path | None,
        language: str,
        emit: Callable[[Event], None],
        record: Callable[[str, Path], None],
    ) -> None:
        self._record = record
        self._policy = policy
        self._windows = windows
        self._result = result
        self._notes = notes
        self._language = language
        self._emit = emit
        self._level = 0
        self._warned = False
        self._degraded_in_a_row = 0
        self._document: Handoff | None = None
        self.begun = False
        """The session was broken off to write its document."""

    @property
    def enabled(self) -> bool:
        return self._policy.enabled

    @property
    def step(self) -> str:
        """The step's own name, whatever attempt of it this is."""
        return self._result.step.partition("#")[0]

    @property
    def ready(self) -> bool:
        """The document is there: a successor can begin."""
        return self._document is not None

    @property
    def due(self) -> bool:
        """Whether it is time, if nothing would be lost by it."""
        return self.enabled and not self.begun and self._level >= self._measure().at

    @property
    def urgent(self) -> bool:
        """Whether it is time whatever is lost by it."""
        return self.due and self._level >= self._measure().urgent_at

    @property
    def prompt(self) -> str:
        """What the session is told to write."""
        return WRITE_HANDOFF.spoken(self._language).format(**self._figures())

    def see_level(self, level: int) -> None:
        """The main thread's context is this large now, in tokens."""
        # What it takes to write the document is no part of what is handed over.
        if not self.begun:
            self._level = level
        policy = self._measure()
        if self.enabled and not self._warned and not self.begun and policy.warn_at <= level < policy.at:
            self._warned = True
            self._tell("near", NEAR, at=policy.at)

    def see_model(self, answered: str) -> Event | None:
        """What to tell the person when another model answers than the one whose window is assumed."""
        configured = self._windows.named
        if not self.enabled or self._policy.window is not None or self._windows.is_said:
            return None
        if not is_another(answered, configured):
            return None
        said = Words(*(each.format(answered=answered, configured=configured) for each in OTHER_MODEL))
        about = {**said._asdict(), "model_mismatch": {"answered": answered, "configured": configured}}
        return Event("notice", said.spoken(self._language), payload=about)

    def see_window(self, window: int) -> None:
        """The CLI reports how large the window is."""
        self._windows.report(window)

    def begin(self) -> None:
        """The session is being broken off."""
        self.begun = True
        self._tell("writing", WRITING)

    def call_off(self) -> None:
        """The turn ended well before it could be broken off: there is nothing to hand over."""
        self.begun = False
        self._emit(Event("notice", CALLED_OFF.spoken(self._language), payload=CALLED_OFF._asdict()))

    def overflowed(self, failure: str) -> bool:
        """Whether the failure means that the context no longer fits; learned from, if so."""
        if not self.enabled or not is_overflow(failure):
            return False
        self._windows.overflow(self._level)
        return True

    def take(self, text: str, prompt: str) -> None:
        """The session wrote this; what is no document is replaced by one put together from ``prompt``."""
        document = Handoff.parse(text, step=self.step)
        if document.complete():
            self._degraded_in_a_row = 0
            self._keep(document)
        else:
            missing = "、".join(document.missing())
            self.degrade(prompt, Words(*(each.format(missing=missing) for each in LACKING)))

    def degrade(self, prompt: str, reason: Words) -> None:
        """The session could not write its document: put one together."""
        why = reason.spoken(self._language)
        if not self.begun:
            self._tell("writing", WRITING)
        self._degraded_in_a_row += 1
        self._result.errors.append(f"交接降级({why})")
        self._keep(degraded(self.step, prompt, why=why, language=self._language))

    def pass_on(self) -> str:
        """Retire the session; returns the first words for its successor, as the file has them by now."""
        document, self._document = self._document, None
        assert document is not None
        if self._result.session_id is not None:
            self._result.retired.append(self._result.session_id)
        self.begun = self._warned = False
        self._level = 0
        edited = Handoff.load(document.path) if document.path is not None else None
        return (edited if edited is not None and edited.complete() else document).prompt_block(self._language)

    def brake(self) -> str | None:
        """Why there must be no further session, if there must not."""
        count = len(self._result.retired)
        if self._degraded_in_a_row >= MOST_DEGRADED_IN_A_ROW:
            return TOO_DEGRADED.spoken(self._language).format(count=self._degraded_in_a_row)
        if count >= self._policy.max_generations:
            return TOO_MANY.spoken(self._language).format(count=count)
        return None

    def _keep(self, document: Handoff) -> None:
        if self._notes is not None:
            try:
                self._write(document, self._notes)
            except OSError as error:
                # The successor gets it all the same; only nobody can read it beforehand.
                logger.warning("could not write the handoff: %s", error)
        self._document = document
        if document.path is not None and self._result.session_id is not None:
            self._record(self._result.session_id, document.path)
        where = str(document.path) if document.path is not None else ""
        sections = {
            name: getattr(document, name) for name in ("doing", "decided", "deadends", "next", "scene")
        }
        self._tell(
            "done",
            DONE if where else DONE_WITHOUT_FILE,
            degraded=document.degraded,
            path=where,
            sections=sections,
        )

    def _write(self, document: Handoff, notes: Path) -> None:
        name = _ILLEGAL.sub("", self.step) or "step"
        path = notes / f"交接-{name}.md"
        if path.exists():
            archive = notes / "archive" / "交接"
            archive.mkdir(parents=True, exist_ok=True, mode=0o700)
            stamp = time.strftime("%Y%m%d-%H%M%S")
            former, number = archive / f"{name}-{stamp}.md", 1
            while former.exists():
                number += 1
                former = archive / f"{name}-{stamp}-{number}.md"
            path.rename(former)
        document.write(path)

    def _measure(self) -> HandoffPolicy:
        if self._policy.window is not None:
            return self._policy
        return HandoffPolicy(
            self._policy.enabled, self._windows.size(), self._policy.headroom, self._policy.max_generations
        )

    def _figures(self) -> dict[str, int]:
        return {"used": self._level, "window": self._measure().size}

    def _tell(self, phase: str, words: Words, **more: Any) -> None:
        policy = self._measure()
        about = {
            "phase": phase,
            "step": self._result.step,
            "context": self._level,
            "window": policy.size,
            **more,
        }
        text = words.spoken(self._language).format(
            context=f"{self._level / 1000:.1f}K",
            window=f"{policy.size / 1000:.0f}K",
            left=f"{max(policy.at - self._level, 0) / 1000:.0f}K",
            path=more.get("path", ""),
        )
        self._emit(Event("handoff", text, payload=about))
