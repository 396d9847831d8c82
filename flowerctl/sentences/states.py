"""Where a workspace stands, in a word or two."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SENTENCES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "dormant": ("睡着", "dormant"),
        "running": ("在跑", "running"),
        "asking": ("等你回答", "asking"),
        "offline": ("断网", "offline"),
        "limited": ("到上限", "limited"),
        "login": ("要登录", "login"),
        "interrupted": ("中断", "interrupted"),
        "failed": ("失败", "failed"),
        "state_until": ("{state},等到 {until}", "{state} until {until}"),
    }
)
