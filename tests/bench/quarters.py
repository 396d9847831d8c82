"""A home for one measure: folders of its own, no foreign variable, and an end for all that was started there."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.clock import no_limit
from tests.support.household import HouseholdFactory, households
from tests.support.processes import Spawned

# All that gets in from outside: no key, no proxy, no setting of the machine.
_KEPT = ("PATH", "LANG", "TZ", "VIRTUAL_ENV", "PYTHONPATH")


@contextlib.contextmanager
def own_quarters() -> Iterator[tuple[HouseholdFactory, Spawned]]:
    """Inside, the environment is that of a user who has nothing yet; ``households(script)`` opens their flower."""
    # Short, since a socket's path may have 104 bytes.
    place = Path(tempfile.mkdtemp(prefix="fl-bench-", dir="/tmp")).resolve()
    before = dict(os.environ)
    spawned = Spawned()
    try:
        _become({name: before[name] for name in _KEPT if name in before} | _folders(place))
        with households(place / "home", spawned) as open_household:
            try:
                yield open_household, spawned
            finally:
                no_limit()
    finally:
        spawned.close()
        _become(before)
        shutil.rmtree(place, ignore_errors=True)


def _folders(place: Path) -> dict[str, str]:
    folders = {
        "HOME": place / "home",
        "XDG_CONFIG_HOME": place / "config",
        "XDG_STATE_HOME": place / "state",
        "XDG_RUNTIME_DIR": place / "run",
        "CLAUDE_CONFIG_DIR": place / "claude",
        "TMPDIR": place / "tmp",
    }
    for folder in folders.values():
        folder.mkdir(mode=0o700)
    # The real CLI would call home for updates and telemetry.
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ANTHROPIC_API_KEY": "made-up"}
    return {name: str(folder) for name, folder in folders.items()} | quiet


def _become(environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # forgets what it read from the other TMPDIR
