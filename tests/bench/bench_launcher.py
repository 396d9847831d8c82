"""The launcher that stands in the CLI's place, against starting the same trivial command without it."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from shutil import which

from flower.core.tether import find_cli, place_launcher, tethered
from tests.bench.clock import in_turns, run_time
from tests.bench.quarters import own_quarters
from tests.bench.report import Report, milliseconds

ROUNDS = 20


def measure(report: Report) -> None:
    with own_quarters():
        _measure(report)


def _measure(report: Report) -> None:
    home, environment = Path(os.environ["HOME"]), dict(os.environ)
    echo = which("echo")
    if echo is None:
        raise FileNotFoundError("echo")
    launcher = place_launcher(home / "launcher")
    told = tethered(environment, cli=Path(echo), lock=home / "session.lock")
    launched, direct, ended, direct_ended, interpreter, cli = in_turns(
        ROUNDS,
        partial(_first_byte, [launcher, "here"], told),
        partial(_first_byte, [echo, "here"], environment),
        partial(run_time, [launcher, "here"], told, home),
        partial(run_time, [echo, "here"], environment, home),
        partial(_first_byte, [sys.executable, "-I", "-S", "-c", "print('here')"], environment),
        partial(run_time, [find_cli(environment), "agents", "--json"], environment, home),
    )
    ours, added = milliseconds(launched), milliseconds(launched - direct)
    report.row("launcher, to echo's first byte", ours, "echo itself", milliseconds(direct))
    report.row("", ours, "python -I -S that prints", milliseconds(interpreter))
    report.row("launcher, to its end", milliseconds(ended), "echo itself", milliseconds(direct_ended))
    report.row("what the launcher adds to a start", added, "claude agents --json", milliseconds(cli))


def _first_byte(command: Sequence[str | Path], environment: Mapping[str, str]) -> float:
    begin = time.perf_counter()
    with subprocess.Popen(
        [str(part) for part in command],
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        bufsize=0,
    ) as process:
        assert process.stdout is not None, "a pipe was asked for"
        first = process.stdout.read(1)
        taken = time.perf_counter() - begin
    if first != b"h":
        raise RuntimeError(f"{command[0]} printed {first!r}, exit code {process.returncode}")
    return taken
