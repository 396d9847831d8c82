"""The ids of the tool calls that a script makes: they carry scene and turn, so that a conversation tells how
far its script has come, to an endpoint that was started a moment ago too."""

import re
from dataclasses import dataclass
from typing import Self

_CALL = re.compile(r"toolu_([A-Za-z0-9-]+)_(\d+)_(\d+)_(\d+)of(\d+)_[A-Za-z0-9]+")
_MARK = re.compile(r"\[rehearsal:([A-Za-z0-9-]+):(\d+):(\d+)\]")


@dataclass(frozen=True)
class CallId:
    """Call `number` (from 1) of the `total` calls of one pass through one turn."""

    scene: str
    turn: int
    round: int
    number: int
    total: int

    def text(self, token: str) -> str:
        """The id as it is sent; `token` (letters and digits) tells one attempt from the next."""
        return f"toolu_{self.scene}_{self.turn}_{self.round}_{self.number}of{self.total}_{token}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """What an id says; None for an id that is none of ours."""
        match = _CALL.fullmatch(text)
        if match is None:
            return None
        scene, *numbers = match.groups()
        return cls(scene, *(int(number) for number in numbers))


@dataclass(frozen=True)
class Mark:
    """How far a scene had come when the conversation before it was summed up: `turn` is played next."""

    scene: str
    turn: int
    round: int

    def text(self) -> str:
        return f"[rehearsal:{self.scene}:{self.turn}:{self.round}]"

    @classmethod
    def find_all(cls, text: str) -> list[Self]:
        return [cls(scene, int(turn), int(round_)) for scene, turn, round_ in _MARK.findall(text)]
