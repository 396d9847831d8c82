"""One of each thing that all workspaces share."""

import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

from flowerd.costs import Costs
from flowerd.journal import Limits
from flowerd.logins import Logins
from flowerd.registry import Registry
from flowerd.run import Runs


@dataclass(frozen=True, slots=True)
class Shared:
    """``generation`` names this life of the daemon, ``boot`` that of the machine.

    Blocking work goes to ``pool`` when it touches the daemon's own files, to ``outside`` when it touches folders
    that a person named: those may be on a dead file system, and must not keep the journals waiting.
    """

    registry: Registry
    runs: Runs
    pool: Executor
    outside: Executor
    generation: str
    boot: str
    journals: Path
    limits: Limits
    logins: Logins
    clock: Callable[[], float] = time.time
    costs: Costs = field(default_factory=Costs)
