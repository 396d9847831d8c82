"""What is said about a command line that can't be understood."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SENTENCES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "usage_unknown": ("不认识 {what}。看 {prog} --help。", "{what} is not known; see `{prog} --help`."),
        "usage_required": ("还缺 {what}。看 {prog} --help。", "{what} is missing; see `{prog} --help`."),
        "usage_value": ("{flag} 后面要跟一个值", "{flag} needs a value"),
        "usage_bare": ("{flag} 不带值,去掉 {value}", "{flag} takes no value; leave out {value}"),
        "usage_whole": (
            "{flag} {value} 不行:要一个整数",
            "{flag} {value} won't do: a whole number is needed",
        ),
        "usage_number": ("{flag} {value} 不行:要一个数", "{flag} {value} won't do: a number is needed"),
        "usage_choice": (
            "{flag} {value} 不行:要这里面的一个:{known}",
            "{flag} {value} won't do: one of these is needed: {known}",
        ),
    }
)
