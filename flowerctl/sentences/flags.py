"""What is said about the flags of a run, whichever command takes them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from flower_protocol.runs import LEAST_WINDOW

SENTENCES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "not_yet": ("flower {word} 这一版还没有。", "flower {word} is not in this version."),
        "flag_not_yet": (
            "{flag} 这一版还不支持,没有启动。去掉它再跑。",
            "{flag} is not supported by this version; nothing was started. Leave it out and run again.",
        ),
        "flags_useless": (
            "{workspace} 已经在跑,{flags} 不会生效。去掉再来,或者先 flowerctl stop。",
            "a run is going in {workspace}; {flags} would have no effect. Leave out, or `flowerctl stop` first.",
        ),
        "need": ("{flag} {value} 不行:{rule}", "{flag} {value} won't do: {rule}"),
        "rule_path": ("要一个路径,不能是空的", "a path, not an empty one"),
        "rule_positive_whole": ("要 1 以上的整数", "a whole number from 1 on"),
        "rule_window": (
            f"要 {LEAST_WINDOW} 以上的整数",
            f"a whole number from {LEAST_WINDOW} on",
        ),
        "rule_asks": ("要 -1(不限)、0(不问)或一个正整数", "-1 (no limit), 0 (none) or a positive number"),
        "rule_seconds": (
            "要 0 以上的秒数(0 = 不等,让它自己判断;inf = 一直等)",
            "seconds from 0 on (0 = don't wait, let it decide; inf = for ever)",
        ),
        "rule_money": ("要大于 0 的金额", "an amount above 0"),
        "rule_together": ("{first} 和 {second} 不能一起用", "{first} and {second} don't go together"),
        "rule_script": ("--script 要和 --rehearse 一起用", "--script needs --rehearse"),
    }
)
