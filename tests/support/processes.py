"""Processes of a test: who lives, who descends from whom, and an end for those it started."""

import asyncio
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil


def alive(pid: int) -> bool:
    """Whether `pid` runs. A zombie doesn't: it has ended, and only waits for its parent to notice."""
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def descendants(pid: int) -> list[int]:
    """The living children of `pid`, their children and so on; empty once `pid` is gone."""
    try:
        children = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [child.pid for child in children if alive(child.pid)]


def wait_until(condition: Callable[[], object], timeout: float = 10.0, *, what: str = "") -> None:
    """Returns as soon as `condition()` is true; AssertionError, naming `what`, after `timeout` seconds.

    For tests without an event loop of their own (see `eventually`): it blocks the thread between two looks.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:g} s: {what or condition}")
        time.sleep(0.02)


async def eventually(condition: Callable[[], object], timeout: float = 10.0, *, what: str = "") -> None:
    """`wait_until` for a test with an event loop: the loop goes on between two looks."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:g} s: {what or condition}")
        await asyncio.sleep(0.02)


class Spawned:
    """The processes that one test started; `close` ends them and what descends from them, and no other."""

    def __init__(self, patience: float = 5.0) -> None:
        self._patience = patience  # seconds between the gentle end and the hard one
        self._processes: list[subprocess.Popen[Any]] = []

    def start(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        **options: Any,
    ) -> subprocess.Popen[Any]:
        """Starts `command` in a session of its own; `options` as for `subprocess.Popen`."""
        options.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen(
            [str(part) for part in command], env=env, cwd=cwd, start_new_session=True, **options
        )
        self._processes.append(process)
        return process

    def close(self) -> None:
        """Ends all that still live, gently first, and closes their pipes."""
        _end(self._roots(), self._patience)
        for process in self._processes:
            process.wait(timeout=10)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()

    def _roots(self) -> list[psutil.Process]:
        living = (process.pid for process in self._processes if process.poll() is None)
        return [psutil.Process(pid) for pid in living if psutil.pid_exists(pid)]


def _end(roots: list[psutil.Process], patience: float) -> None:
    # The tree is read before anything ends: an orphan can't be found by its parent any more.
    # psutil compares start times too, so a pid that was given to somebody else meanwhile is left alone.
    tree = [process for root in roots for process in _tree(root)]
    for process in tree:
        _signal(process.terminate)
    if _gone(tree, patience):
        return
    for process in tree:
        _signal(process.kill)
    _gone(tree, 5)


def _gone(tree: list[psutil.Process], timeout: float) -> bool:
    # Not psutil.wait_procs: it would reap our own children, and their exit codes with them.
    deadline = time.monotonic() + timeout
    while any(_runs(process) for process in tree):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _runs(process: psutil.Process) -> bool:
    return process.is_running() and alive(process.pid)


def _tree(root: psutil.Process) -> list[psutil.Process]:
    try:
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _signal(send: Callable[[], None]) -> None:
    try:
        send()
    except psutil.NoSuchProcess:
        return
