"""What a run in flight waits for: a person's answer, the network, a usage limit. Pure.

An open question goes first: whatever else holds the run up, this is what a person can do something about.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from flower_protocol.workspaces import Question, State
from flowerd.states import Move
from flowerd.wire import Draft

# What a run can wait for, and where it stands meanwhile. An overload is waited out at work, and who is refused
# a login doesn't wait: the run ends.
_WAITS: Final = {"network": State.OFFLINE, "limit": State.LIMITED}
_INTO: Final = {
    State.ASKING: Move.ASK,
    State.OFFLINE: Move.LOSE_NETWORK,
    State.LIMITED: Move.HIT_LIMIT,
}


@dataclass(frozen=True, slots=True)
class Waiting:
    """``questions`` are open, the oldest first; ``service`` is where the run would stand without them."""

    questions: tuple[Question, ...] = ()
    service: State = State.RUNNING
    resets_at: float | None = None

    @property
    def state(self) -> State:
        return State.ASKING if self.questions else self.service

    @property
    def until(self) -> float | None:
        """When the wait ends, in epoch seconds, if that is known."""
        return self.resets_at if self.state is State.LIMITED else None

    def after(self, draft: Draft) -> "Waiting":
        """What it waits for once the event has happened."""
        about = draft.payload
        if draft.kind == "retry" and "waiting" in about:
            waiting = about["waiting"]
            service = _WAITS.get(waiting, State.RUNNING) if isinstance(waiting, str) else State.RUNNING
            return replace(self, service=service, resets_at=_seconds(about.get("until")))
        if draft.kind == "ask" and about.get("kind") == "question":
            others = tuple(each for each in self.questions if each.id != about.get("id"))
            opened = (_question(draft),) if about.get("state") == "asked" else ()
            return replace(self, questions=others + opened)
        return self


def moves(state: State, goal: State) -> tuple[Move, ...]:
    """How a run in flight gets from one of the states of waiting, or of running, to another."""
    if state is goal:
        return ()
    leave = (Move.GO_ON,) if state in _INTO else ()
    return (*leave, _INTO[goal]) if goal in _INTO else leave


def _question(draft: Draft) -> Question:
    about = draft.payload
    options = about.get("options")
    return Question(
        id=str(about.get("id", "")),
        text=draft.text,
        options=tuple(str(each) for each in options) if isinstance(options, list | tuple) else (),
        asked_at=_seconds(about.get("asked_at")) or 0.0,
    )


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
