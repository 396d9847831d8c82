"""What can be known of a workspace, and of the daemon that keeps it."""

from enum import StrEnum

import msgspec


class State(StrEnum):
    """Where a workspace stands. The words are those of ``flowerctl status --json``."""

    DORMANT = "dormant"
    RUNNING = "running"
    ASKING = "asking"
    OFFLINE = "offline"
    LIMITED = "limited"
    LOGIN = "login"
    INTERRUPTED = "interrupted"
    FAILED = "failed"

    @property
    def active(self) -> bool:
        """A run is in flight: a second one is not started, words become remarks.

        OFFLINE and LIMITED are waits of such a run. LOGIN is none: it ended because its credentials were refused.
        """
        return self in _ACTIVE


_ACTIVE = frozenset({State.RUNNING, State.ASKING, State.OFFLINE, State.LIMITED})


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The identity of a workspace: two absolute, resolved folders."""

    workspace: str
    run_dir: str


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """An open question of the agent to the person."""

    id: str
    text: str
    options: tuple[str, ...] = ()
    asked_at: float = 0.0


class WorkspaceStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One workspace, as ``flowerctl status --json`` prints it.

    ``context`` and ``window`` are tokens (0: unknown), times are epoch seconds, ``cost_usd`` is the folder's
    total over all wakes. ``until`` says when a usage limit resets. ``rehearse``: the run in flight, or the
    last one, plays a script; nothing of it comes from a model.
    """

    workspace: str
    run_dir: str
    state: State
    woke: int = 0
    step: str | None = None
    index: int = 0
    total: int = 0
    round: int = 0
    session_id: str | None = None
    context: int = 0
    window: int = 0
    cost_usd: float = 0.0
    checks: int = 0
    clients: int = 0
    question: Question | None = None
    keep: bool = False
    rehearse: bool = False
    until: float | None = None
    started_at: float | None = None
    updated_at: float | None = None
    error: str | None = None


class DaemonStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The daemon itself."""

    pid: int
    version: str
    protocol: int
    uptime_s: float
    rss_bytes: int


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to ``GET /v1/status``; ``daemon`` is None when none answered and the files were read."""

    daemon: DaemonStatus | None
    workspaces: tuple[WorkspaceStatus, ...] = ()


class Wake(msgspec.Struct, frozen=True, kw_only=True):
    """What a client needs to know of a folder before it asks the person anything.

    ``used``: there is something to go on with; ``confirmed``: the request is clarified, and the brief is there;
    ``context`` is that of the work step's last turn (tokens, 0: unknown); ``notices`` are quiet lines about what
    could not be picked up; ``seen`` is the last event that a client has shown.
    """

    status: WorkspaceStatus
    used: bool
    confirmed: bool = False
    checks: int = 0
    context: int = 0
    notices: tuple[str, ...] = ()
    generation: str = ""
    last_seq: int = 0
    seen: int = 0
