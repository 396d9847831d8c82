"""Every sentence of the three commands by its name, in Chinese and in English; a file a room."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from flowerctl.sentences import attach, failures, flags, once, operate, states, transcript, usage

ROOMS: Final = (attach, failures, flags, once, operate, states, transcript, usage)

SENTENCES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {name: pair for room in ROOMS for name, pair in room.SENTENCES.items()}
)
