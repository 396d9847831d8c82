"""The flags of ``flower``: what they are called, what they take, what ``--help`` says of them."""

import argparse
from dataclasses import dataclass, field
from typing import Final

from flowerctl.language import EN, ZH


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: its names, both help texts, and what argparse is to do with it."""

    names: tuple[str, ...]
    chinese: str
    english: str
    takes: dict[str, object] = field(default_factory=lambda: {"action": "store_true", "default": None})

    def add_to(self, group: argparse._ArgumentGroup, language: str) -> None:
        text = self.english if language == EN else self.chinese
        group.add_argument(*self.names, **self.takes, help=text)  # type: ignore[arg-type]

    @property
    def attribute(self) -> str:
        """Where argparse keeps its value; None when the flag wasn't typed."""
        return next(name for name in self.names if name.startswith("--"))[2:].replace("-", "_")


def _a(kind: type, metavar: str) -> dict[str, object]:
    return {"type": kind, "metavar": metavar}


GLOBAL: Final = (
    Flag(("-w", "--workspace"), "在哪个文件夹干活(默认 .)", "the folder to work in (.)", _a(str, "DIR")),
    Flag(
        ("-r", "--run-dir"),
        "运行记录放哪(默认 runs,相对当前文件夹)",
        "where runs are kept (runs, relative to the current folder)",
        _a(str, "DIR"),
    ),
    Flag(
        ("-v", "--verbose"),
        "也显示 subagent 的话、工具结果和提示词",
        "show what subagents say, tool results and prompts too",
    ),
    Flag(
        ("--lang",),
        "界面语言(默认 zh,或 FLOWER_LANG)",
        "language (zh, or FLOWER_LANG)",
        {"choices": (ZH, EN)},
    ),
    Flag(
        ("--rehearse",),
        "用内嵌的剧本模型排练:不用 key、不联网、不花钱",
        "play with the embedded scripted model: no key, no network, no cost",
    ),
    Flag(("--script",), "排练用的剧本", "the script of the rehearsal", _a(str, "FILE")),
)

OF_A_RUN: Final = (
    Flag(("--new",), "归档上次,重开一件事", "archive what was here, start afresh"),
    Flag(("--rounds",), "干活最多几轮(3)", "rounds of work at most (3)", _a(int, "N")),
    Flag(("--no-goal",), "不设目标,不判定", "no goal, no judge"),
    Flag(("--judge-can-run",), "判定者可以跑命令", "let the judge run commands"),
    Flag(
        ("--asks",),
        "最多问几个问题(-1 不限,0 不问)",
        "questions at most (-1 no limit, 0 none)",
        _a(int, "N"),
    ),
    Flag(
        ("--timeout",),
        "等一个回答多久(1800;0 = 不等,让它自己判断;inf = 一直等)",
        "how long to wait for an answer (1800; 0 = let it decide; inf = for ever)",
        _a(float, "SECONDS"),
    ),
    Flag(("--isolate",), "每个 subagent 一份 worktree", "a worktree for each subagent"),
    Flag(("--window",), "上下文窗口(token)", "the context window in tokens", _a(int, "N")),
    Flag(("--no-handoff",), "上下文满了不换代", "no handoff when the context is full"),
    Flag(("--clarify-only",), "只确认需求", "only clarify the request"),
    Flag(("--no-trim",), "接续时不裁剪旧的大结果", "keep large old results when going on"),
    Flag(("--budget",), "花到多少就停", "stop at this cost", _a(float, "USD")),
    Flag(("--keep",), "崩溃或重启后自己接着跑", "go on by itself after a crash or reboot"),
)

OF_THE_CLIENT: Final = (
    Flag(("-d", "--detach"), "在后台开始就走", "start in the background and leave"),
    Flag(("--json",), "标准输出每行一个事件", "one event a line on stdout"),
    Flag(("--no-daemon",), "在这个进程里跑(这一版还没有)", "run in this process (not in this version)"),
)
