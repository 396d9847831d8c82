"""How an attachment came to its end."""

from dataclasses import dataclass
from enum import Enum, auto

from flower_protocol.events import EventRecord


class End(Enum):
    """The ways out."""

    ENDED = auto()  # the run is over, well or not
    LEFT = auto()  # the person left, the run goes on
    HUNG_UP = auto()  # the terminal went away; nobody is there to be told
    STOPPED = auto()  # Ctrl-C twice, and the run is over
    UNSURE = auto()  # Ctrl-C twice, and nobody confirmed it
    CUT_OFF = auto()  # the daemon died under the run
    DAEMON_LEFT = auto()  # the daemon took leave, and the run with it
    UNREACHABLE = auto()  # the daemon is gone, and no other could be reached
    REFUSED = auto()  # the daemon said no
    START_OVER = auto()  # the person wants another run in its place


@dataclass(frozen=True, slots=True)
class Outcome:
    """``event`` is the ``run_ended``, if one was seen; ``reason`` the sentence that says why it failed, if that is
    known otherwise.

    ``words`` is what was typed behind ``/new``.
    ``unsent`` are the words that never were accepted: they are given back, not dropped.
    """

    end: End
    event: EventRecord | None = None
    error: Exception | None = None
    reason: str = ""
    words: str = ""
    unsent: tuple[str, ...] = ()
