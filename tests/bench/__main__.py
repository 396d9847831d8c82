"""All measures, one after the other. Nothing is asserted: a figure that misses its goal is shown, and that is all.

``python -m tests.bench [MEASURE …]``. What a measure can't do in its time is said, and the next one begins.
"""

import argparse
import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType

from tests.bench.clock import OutOfTime, limit
from tests.bench.report import Report

ALL_SECONDS = 250.0  # five minutes are the promise; the rest is for what has to be ended and put away


@dataclass(frozen=True, slots=True)
class Measure:
    title: str
    work: Callable[[Report], None]
    seconds: float


def _measure(module: str) -> Callable[[Report], None]:
    """`measure` of ``module``, loaded when its turn comes: one that can't be leaves the others standing."""
    return lambda report: import_module(f"tests.bench.{module}").measure(report)


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "status": Measure("A hundred folders at a glance (medians)", _measure("bench_status"), 60),
        "first-line": Measure(
            "flower, typed where a run is going (medians)", _measure("bench_first_line"), 60
        ),
        "memory": Measure(
            "The daemon's resident memory, without its children's", _measure("bench_memory"), 60
        ),
        "latency": Measure("From the daemon to the screen", _measure("bench_latency"), 60),
        "launcher": Measure("Starting a child (medians)", _measure("bench_launcher"), 40),
        "manifest": Measure("manifest.json (medians)", _measure("bench_manifest"), 30),
        "store": Measure("sessions.db", _measure("bench_store"), 120),
    }
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure flower.")
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=f"of: {', '.join(MEASURES)}")
    chosen = parser.parse_args().measures or list(MEASURES)
    unknown = [name for name in chosen if name not in MEASURES]
    if unknown:
        parser.error(f"no such measure: {', '.join(unknown)}")
    # What was started is ended on this way out too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    _run([MEASURES[name] for name in chosen])
    return 0


def _run(measures: list[Measure]) -> None:
    report = Report()
    load = os.getloadavg()[0]
    report.note(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f} at the start")
    end = time.monotonic() + ALL_SECONDS
    for measure in measures:
        report.title(measure.title)
        try:
            with limit(max(1.0, min(measure.seconds, end - time.monotonic()))):
                measure.work(report)
        except OutOfTime as error:
            report.note(str(error))
        except Exception as error:  # the edge of a measure: the next one begins
            report.broke_off(error)
    report.summary()


if __name__ == "__main__":
    sys.exit(main())
