"""The first words on an attachment, from both sides."""

import msgspec

from flower_protocol.events import EventRecord
from flower_protocol.version import PROTOCOL
from flower_protocol.workspaces import Place, WorkspaceStatus


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    """The client's first message.

    ``generation`` and ``cursor`` name the last event it has shown, if it has shown any: the daemon sends what
    came after, each exactly once. Without them, or when they can't be met, a snapshot comes first.
    ``tail`` is how many past events a snapshot should hold at most.
    """

    place: Place
    protocol: int = PROTOCOL
    version: str = ""
    generation: str | None = None
    cursor: int | None = None
    tail: int = 200
    who: str = ""


class Welcome(msgspec.Struct, frozen=True, kw_only=True, tag="welcome"):
    """The daemon's first message: who it is, and how the workspace stands."""

    protocol: int
    version: str
    generation: str
    status: WorkspaceStatus
    capabilities: tuple[str, ...] = ()


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, tag="snapshot"):
    """A fresh start for a client that has none, or that fell too far behind.

    ``events`` are the latest, in order, up to ``last_seq``; ``omitted`` says how many that the client
    has not seen lie before them. What follows continues right after ``last_seq``.

    Events of an earlier generation may stand before those of this one. They are numbered 0, -1, -2 …
    backwards here, so ``last_seq`` is always where the client stands afterwards. A client that named where
    it stood in an earlier generation gets all that came after, as far as a frame holds it, whatever its
    ``tail`` says.
    """

    generation: str
    last_seq: int
    events: tuple[EventRecord, ...] = ()
    omitted: int = 0
