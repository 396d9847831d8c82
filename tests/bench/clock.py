"""How things are timed: in turns, so that what else the machine does at the time disturbs them alike."""

import contextlib
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles

COMMAND_SECONDS = 20.0


class OutOfTime(Exception):
    """A measure took longer than it may."""


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raises `OutOfTime` inside after ``seconds``, whatever is being waited for. Main thread only."""

    def ring(*_: object) -> None:
        raise OutOfTime(f"not done within {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        no_limit()
        signal.signal(signal.SIGALRM, before)


def no_limit() -> None:
    """From here on nothing rings: what was started has to be ended."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def in_turns(rounds: int, *works: Callable[[], float | tuple[float, ...]], warm: bool = True) -> list[float]:
    """The medians of what ``works`` return, one time or several. With ``warm`` a round before doesn't count."""
    taken = [[each for work in works for each in _several(work())] for _ in range(rounds + warm)][warm:]
    return [median(column) for column in zip(*taken, strict=True)]


def run_time(command: Sequence[str | Path], environment: Mapping[str, str], cwd: Path) -> float:
    """Seconds from the start of ``command`` to its end, which must be a good one."""
    return run_times(command, environment, cwd)[0]


def run_times(
    command: Sequence[str | Path], environment: Mapping[str, str], cwd: Path
) -> tuple[float, float]:
    """`run_time`, and the seconds of processor time it took, which a busy machine disturbs less."""
    begin, before = time.perf_counter(), _processor_time()
    process = subprocess.Popen(
        [str(part) for part in command],
        env=dict(environment),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # With a time limit of its own `wait` looks every 50 ms, and would measure in such steps.
    watchdog = threading.Timer(COMMAND_SECONDS, process.kill)
    watchdog.start()
    try:
        code = process.wait()
    finally:
        watchdog.cancel()
    if code != 0:
        raise subprocess.CalledProcessError(code, [str(part) for part in command])
    return time.perf_counter() - begin, _processor_time() - before


def percentile(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100, method="inclusive")[percent - 1]


def _processor_time() -> float:
    """Of all children that have ended so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _several(times: float | tuple[float, ...]) -> tuple[float, ...]:
    return times if isinstance(times, tuple) else (times,)
