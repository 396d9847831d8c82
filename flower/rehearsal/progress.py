"""How far one scene has come, told from what happened in the conversation.

The ids of the calls say which turn made them; a turn without calls is known by its words. A turn with calls
has been played when each of them brought a result that is no interrupt; an agent that works in the background
brings its own with its report.
"""

import re
from dataclasses import dataclass, field

from flower.rehearsal.call_ids import Mark
from flower.rehearsal.conversation import Called, Report, Result
from flower.rehearsal.script import Scene, Turn
from flower.rehearsal.wording import fill, is_said


@dataclass
class Progress:
    """Where `scene` stands: `turn` is to be played next, for the `round`-th time (from 0).

    The methods take what happened, in its order; `at` is its number in the conversation.
    """

    scene: Scene
    turn: int = 0
    round: int = 0
    result: str = ""  # what the last turn with calls brought
    begun: bool = False
    interrupted: bool = False
    ended: bool = False
    spoken_since: bool = False  # a person spoke after its end
    last_seen: int = -1  # the last happening that was of this scene
    found: dict[str, str] = field(default_factory=dict)  # placeholder -> what stood in a person's words
    _open: dict[str, str | None] = field(default_factory=dict)  # call id -> what it brought
    _expected: int = 0
    _numbers: set[int] = field(default_factory=set)
    _agents: dict[str, str] = field(default_factory=dict)  # agent that still works -> call id

    def __post_init__(self) -> None:
        self.found = {f"found:{name}": find.otherwise for name, find in self.scene.finds.items()}

    @property
    def next_turn(self) -> Turn:
        return self.scene.turns[self.turn]

    @property
    def waiting(self) -> bool:
        """Whether agents that it sent out still work."""
        return bool(self._agents) and not self.interrupted

    @property
    def playing(self) -> bool:
        """Whether it has the stage: begun, not ended, not broken off."""
        return self.begun and not self.interrupted

    @property
    def playable(self) -> bool:
        """Whether there is something left to play, or to play again."""
        return not self.ended or (self.scene.again and self.spoken_since)

    @property
    def mark(self) -> Mark | None:
        """What to write down of it where the conversation itself is lost; None when it never began."""
        if self.ended:
            return Mark(self.scene.name, len(self.scene.turns), 0)
        return Mark(self.scene.name, self.turn, self.round) if self.begun else None

    def knows(self, words: str) -> bool:
        """Whether its next turn has no calls, and says `words`."""
        return not self.next_turn.calls and is_said(self.next_turn.text, words)

    def heard(self, words: str) -> None:
        """A person spoke."""
        self.spoken_since = True
        if not re.search(self.scene.prompt, words):
            return
        for name, find in self.scene.finds.items():
            match = re.search(find.pattern, words)
            if match is not None and match[1] is not None:
                self.found[f"found:{name}"] = match[1]

    def said(self, at: int) -> None:
        """The words of its next turn were said."""
        self._begin(at)
        self._advance()

    def called(self, called: Called, at: int) -> None:
        if called.call.scene != self.scene.name or called.call.turn >= len(self.scene.turns):
            return  # another scene's, or from before the script was changed
        self._begin(at)
        here = (called.call.turn, called.call.round)
        # The CLI may tell the calls of one answer in several messages. A number that comes again is a new try.
        if here != (self.turn, self.round) or called.call.number in self._numbers:
            self._forget_calls()
        self.turn, self.round = here
        self._numbers.add(called.call.number)
        self._open[called.id] = None
        self._expected = called.call.total

    def brought(self, result: Result, at: int) -> None:
        if result.id not in self._open:
            return
        if result.interrupted:
            self.break_off()
        elif result.launched:
            self._agents[result.launched] = result.id
        else:
            self._close(result.id, result.text, at)

    def reported(self, report: Report, at: int) -> None:
        # The report of an agent whose process ended under it names no call.
        call = self._agents.pop(report.agent, "") or report.call
        if call not in self._open:
            return
        if report.stopped:
            self.break_off()
        else:
            self._close(call, report.text, at)

    def break_off(self) -> None:
        self.interrupted = self.begun
        self._agents.clear()

    def marked(self, mark: Mark, at: int) -> None:
        if mark.scene != self.scene.name:
            return
        self._begin(at)
        self.turn, self.round = mark.turn, mark.round
        if self.turn >= len(self.scene.turns):
            self._end()

    def _close(self, call: str, text: str, at: int) -> None:
        self._open[call] = text
        self.last_seen = at
        brought = [each for each in self._open.values() if each is not None]
        if len(brought) == self._expected:
            self._forget_calls()
            self.result = "\n".join(brought)
            self._advance()

    def _advance(self) -> None:
        self.round += 1
        if self.round < self.next_turn.times:
            return
        self.round = 0
        self.turn += 1
        while self.turn < len(self.scene.turns) and not self._fits(self.next_turn):
            self.turn += 1
        if self.turn == len(self.scene.turns):
            self._end()

    def _begin(self, at: int) -> None:
        self.begun, self.interrupted, self.ended = True, False, False
        self.last_seen = at

    def _end(self) -> None:
        self.turn = self.round = 0
        self.begun, self.spoken_since, self.ended = False, False, True
        self._forget_calls()

    def _forget_calls(self) -> None:
        self._open.clear()
        self._numbers.clear()
        self._agents.clear()

    def _fits(self, turn: Turn) -> bool:
        literally = {name: re.escape(words) for name, words in self.found.items()}
        if turn.when and not re.search(fill(turn.when, literally), self.result):
            return False
        return not (turn.unless and re.search(fill(turn.unless, literally), self.result))
