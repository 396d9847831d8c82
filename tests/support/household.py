"""One user's whole flower for a test: a model, folders, the real commands, and a daemon that ends with the test."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from flower.rehearsal import Rehearsal, Script
from tests.support.processes import Spawned, alive, descendants, wait_until
from tests.support.runs import settle
from tests.support.terminal import Terminal

COMMANDS = Path(sys.executable).parent


class Household:
    """Commands run with an environment that leads to ``model``; without a script there is no model (``--rehearse``)."""

    def __init__(self, folder: Path, spawned: Spawned, script: Script | None = None) -> None:
        self.root = folder
        self.spawned = spawned
        self.model = Rehearsal(script).start() if script is not None else None
        self.environment = {**os.environ, **(self.model.env() if self.model else {}), "LANG": "C.UTF-8"}
        self.daemons: set[int] = set()

    def folder(self, name: str = "work") -> Path:
        path = self.root / name
        path.mkdir(exist_ok=True)
        return path

    def settled_folder(self, name: str = "work") -> Path:
        """One with a brief: with ``--no-goal`` a run there is the work alone. See `settle`."""
        return settle(self.folder(name))

    def flower(
        self, *arguments: str, folder: Path, timeout: float = 90
    ) -> "subprocess.CompletedProcess[str]":
        """``flower`` without a terminal, to its end."""
        return self._command("flower", arguments, folder, timeout)

    def flowerctl(self, *arguments: str, timeout: float = 30) -> "subprocess.CompletedProcess[str]":
        return self._command("flowerctl", arguments, self.root, timeout)

    def start(self, *arguments: str, folder: Path) -> "subprocess.Popen[Any]":
        """``flower`` without a terminal, in the background."""
        return self.spawned.start(
            [COMMANDS / "flower", *arguments],
            env=self.environment,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def terminal(self, *arguments: str, folder: Path, **options: Any) -> Terminal:
        """``flower`` under a terminal of its own; close it."""
        return Terminal([COMMANDS / "flower", *arguments], env=self.environment, cwd=folder, **options)

    def status(self) -> dict[str, Any]:
        done = self.flowerctl("status", "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    def workspace(self, folder: Path) -> dict[str, Any]:
        """The status of one folder; empty when the daemon doesn't know it."""
        found = [each for each in self.status()["workspaces"] if each["workspace"] == str(folder.resolve())]
        return found[0] if found else {}

    def daemon(self) -> int:
        """The daemon's pid; it ends with the test."""
        status = self.status()
        assert status["daemon"] is not None, "no daemon answers"
        pid = int(status["daemon"]["pid"])
        self.daemons.add(pid)
        return pid

    def run_in(self, folder: Path) -> Path:
        return folder / "runs"

    def wait_for_state(self, folder: Path, *states: str, timeout: float = 60) -> dict[str, Any]:
        seen: dict[str, Any] = {}

        def reached() -> bool:
            seen.update(self.workspace(folder))
            return seen.get("state") in states

        wait_until(reached, timeout, what=f"{folder.name} to be {' or '.join(states)}")
        return seen

    def close(self) -> None:
        with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
            self.daemon()
        for pid in self.daemons:
            _end(pid)
        if self.model is not None:
            self.model.close()

    def _command(
        self, name: str, arguments: tuple[str, ...], folder: Path, timeout: float
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [COMMANDS / name, *arguments],
            env=self.environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )


def _end(pid: int) -> None:
    below = descendants(pid)
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, AssertionError):
            if alive(pid):
                os.kill(pid, number)
            # Not for its parent to notice: a container's first process may take seconds for that.
            wait_until(lambda: not alive(pid), timeout=8)
    wait_until(
        lambda: not any(alive(each) for each in below), timeout=12, what="the daemon's children to be gone"
    )


HouseholdFactory = Callable[..., Household]


@contextlib.contextmanager
def households(folder: Path, spawned: Spawned) -> Iterator[HouseholdFactory]:
    opened: list[Household] = []

    def open_one(script: Script | None = None) -> Household:
        opened.append(Household(folder, spawned, script))
        return opened[-1]

    try:
        yield open_one
    finally:
        for each in opened:
            each.close()
