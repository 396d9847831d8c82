"""What is said when a command can not do its work: paths, and the way to the daemon."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SENTENCES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        # -- paths
        "not_a_folder": (
            "{path} 不是文件夹。检查 -w/--workspace。",
            "{path} is no folder. Check -w/--workspace.",
        ),
        "run_dir_not_a_folder": (
            "{path} 不是文件夹。检查 -r/--run-dir。",
            "{path} is no folder. Check -r/--run-dir.",
        ),
        "bad_path": ("路径 {path} 用不了:{reason}", "the path {path} can't be used: {reason}"),
        "no_folder_here": (
            "当前文件夹已经不在了。cd 到别处再来。",
            "the current folder is gone. cd somewhere else first.",
        ),
        # -- failures
        "no_daemon": (
            "flowerd 没在跑。`flower` 或 `flowerctl daemon start` 会启动它。",
            "flowerd isn't running. `flower` or `flowerctl daemon start` starts it.",
        ),
        "unanswered": (
            "flowerd 没有回话({detail})。看日志:{log}",
            "flowerd did not answer ({detail}). See its log: {log}",
        ),
        "cannot_start": (
            "flowerd 起不来({detail})。看日志:{log}",
            "flowerd does not start ({detail}). See its log: {log}",
        ),
        "not_ours": (
            "{path} 是别的用户的,没有连上去。检查 FLOWER_SOCKET 和 XDG_RUNTIME_DIR。",
            "{path} belongs to another user; not connected. Check FLOWER_SOCKET and XDG_RUNTIME_DIR.",
        ),
        "internal": ("出了没料到的错({detail})。", "an unexpected error ({detail})."),
    }
)
