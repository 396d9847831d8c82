"""Starting a run, and what it was started with."""

from typing import Final, Literal

import msgspec

from flower_protocol.workspaces import Place

PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions"]

# In tokens. A session hands over before its window is full, by 50,000 at least; with less than this it would do so
# before it has done anything, for what a coordinator is told at first is some 34,000.
LEAST_WINDOW: Final = 100_000


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The flags of a run, as in the contract; a value of None means "not given"."""

    new: bool = False
    rounds: int = 3
    goal: bool = True
    judge_can_run: bool = False
    asks: int = -1
    timeout_s: float | None = 1800.0
    """How long a question waits for its answer; 0 not at all, None for ever."""
    isolate: bool = False
    window: int | None = None
    handoff: bool = True
    clarify_only: bool = False
    trim: bool = True
    budget_usd: float | None = None
    keep: bool = False
    rehearse: bool = False
    script: str | None = None
    """With ``rehearse``: the script that the embedded model plays; None is the one that comes with flower."""


class StartRun(msgspec.Struct, frozen=True, kw_only=True):
    """``POST /v1/runs``: start or wake. ``ask`` is None when the person said nothing.

    ``environment`` is the whole environment of the client. The daemon keeps it in memory only, hands it to
    the run's children exactly, and never writes it anywhere.
    """

    place: Place
    ask: str | None = None
    options: RunOptions = RunOptions()
    environment: dict[str, str] = {}
    language: str = "zh"

    def __repr__(self) -> str:
        # The environment holds secrets: not even a log line of this record may show them.
        return f"StartRun(place={self.place!r}, ask=…, options={self.options!r})"


class RunStarted(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to ``StartRun``. Attach with ``cursor=seq`` to see every event of the run.

    ``joined``: a run was already in flight, nothing was started; the words went to it as a remark.
    """

    generation: str
    seq: int
    woke: int
    joined: bool = False


class RunOnce(msgspec.Struct, frozen=True, kw_only=True):
    """The first line to ``python -m flowerd.once``: one agent, once, without a workflow and without the daemon.

    ``tools`` are all that the agent has. ``budget_usd`` is what this call may spend, whatever the session has
    cost before. ``resume`` is the session to go on with, ``fork``: with a copy of it.
    """

    place: Place
    prompt: str
    instructions: str = ""
    tools: tuple[str, ...] = ("Read", "Glob", "Grep")
    permission_mode: PermissionMode = "default"
    budget_usd: float | None = None
    resume: str | None = None
    fork: bool = False
    rehearse: bool = False
    script: str | None = None
    language: str = "zh"
