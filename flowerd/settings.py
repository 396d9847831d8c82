"""What a daemon is started with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flower_protocol.paths import socket_path, state_dir
from flowerd.journal import Limits


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a daemon lives, and its limits.

    ``idle_exit_seconds``: end after that long without a run, a client or a request; None: never.
    ``heartbeat_seconds``: how often a client is pinged; one that doesn't answer within half of it is let go.
    """

    socket: Path
    state: Path
    idle_exit_seconds: float | None = None
    heartbeat_seconds: float = 15.0
    journal: Limits = field(default_factory=Limits)


def from_environment(environment: Mapping[str, str], *, idle_exit_seconds: float | None = None) -> Settings:
    """The settings that both sides compute alike from the environment."""
    return Settings(
        socket=socket_path(environment), state=state_dir(environment), idle_exit_seconds=idle_exit_seconds
    )
