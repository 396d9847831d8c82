"""What the system tests share: a user's whole flower, or his client alone with a daemon that a test plays."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.household import HouseholdFactory, households
from tests.support.processes import Spawned
from tests.support.terminal import Terminal
from tests.system.client import FLOWER, ROOT
from tests.unit.flowerctl.pretend import PretendDaemon, Pretending


@pytest.fixture
def household(spawned: Spawned) -> Iterator[HouseholdFactory]:
    """Opens a user's flower: ``household(script)``, or ``household()`` for runs with ``--rehearse``."""
    # In the home, where a banner shows a path short.
    with households(Path(os.environ["HOME"]), spawned) as open_one:
        yield open_one


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that flower is typed in."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "protocol")]))
    made = tmp_path / "home" / "proj"
    made.mkdir(parents=True)
    return made.resolve()


@pytest.fixture
def pretend(folder: Path) -> Iterator[Pretending]:
    with Pretending(
        PretendDaemon(Path(os.environ["XDG_RUNTIME_DIR"]) / "flower" / "flowerd.sock", folder)
    ) as one:
        yield one


@pytest.fixture
def flower(pretend: Pretending, terminal: Callable[..., Terminal], folder: Path) -> Callable[..., Terminal]:
    # After the daemon, so that the clients end before it: one that loses its daemon would start a real one.
    def typed(*arguments: str, columns: int = 100) -> Terminal:
        return terminal([*FLOWER, *arguments], cwd=folder, columns=columns)

    return typed
