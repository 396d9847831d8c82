"""What `flower once` says beside the answer."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SENTENCES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "once_usage": (
            '要给一句话,例如 flower once "这个项目是做什么的"',
            'words are needed, for example: flower once "what is this project for"',
        ),
        "once_stopped": ("已停下。", "stopped."),
        "once_budget": (
            "${budget} 花完了,停在了这里。",
            "the budget of ${budget} is spent; it stopped here.",
        ),
        "once_died": ("agent 的进程中途没了({reason})。", "the agent's process died ({reason})."),
        "once_go_on": ("接着说:{command}", "go on with: {command}"),
        "rule_session": ("要一个会话 id,不能是空的", "the id of a session, not an empty one"),
        "rule_tool": (
            "要工具的名字,用逗号隔开,例如 Read,Bash",
            "names of tools with commas between them, Read,Bash say",
        ),
        "rule_fork": ("--fork 要和 --resume 一起用", "--fork needs --resume"),
    }
)
