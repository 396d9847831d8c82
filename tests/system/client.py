"""``flower`` in a test: how it is called, what it asks, and a daemon that a test plays, with a run in flight."""

import subprocess
import sys
import termios
from pathlib import Path

from flower_protocol.workspaces import State
from tests.support.terminal import Terminal
from tests.unit.flowerctl.pretend import Pretending

ROOT = Path(__file__).parents[2]
FLOWER = [sys.executable, "-c", "import sys; from flowerctl.attach.main import main; sys.exit(main())"]
NEW = "要做什么? 一句话就够,回车开始(Ctrl-C 退出)"
WAKE = "接着上次? 直接回车 = 接着做;也可以说点新的;/new = 重开一件事(Ctrl-C 退出)"
WORDS = "(直接说 = 加需求,下个检查点送达;? 开头 = 顺便问一句,不打扰它干活) > "


def piped(folder: Path, *arguments: str, text: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*FLOWER, *arguments], cwd=folder, input=text, capture_output=True, text=True, timeout=30
    )


def running(pretend: Pretending, **status: object) -> None:
    pretend.daemon.used = True
    pretend.do(pretend.daemon.stand(state=State.RUNNING, woke=3, **status))
    pretend.do(pretend.daemon.happen("run_started", rehearse=bool(status.get("rehearse"))))


def cooked(screen: Terminal) -> bool:
    return bool(termios.tcgetattr(screen._master)[3] & termios.ICANON)
