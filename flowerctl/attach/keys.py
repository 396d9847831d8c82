"""What Ctrl-C means, pressed once, twice, and once more: a table."""

from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import Final


class Stage(Enum):
    """How far the presses have come. A line typed after the first one goes back to CALM."""

    CALM = auto()
    ARMED = auto()
    STOPPING = auto()


class Effect(Enum):
    """What a press does."""

    INTERRUPT = auto()
    STOP = auto()
    GIVE_UP_WAITING = auto()


PRESSES: Final[Mapping[Stage, tuple[Stage, Effect]]] = MappingProxyType(
    {
        Stage.CALM: (Stage.ARMED, Effect.INTERRUPT),
        Stage.ARMED: (Stage.STOPPING, Effect.STOP),
        Stage.STOPPING: (Stage.STOPPING, Effect.GIVE_UP_WAITING),
    }
)


def pressed(stage: Stage) -> tuple[Stage, Effect]:
    """The stage after Ctrl-C, and what is to be done."""
    return PRESSES[stage]
