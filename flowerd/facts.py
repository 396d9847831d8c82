"""What this process is: its version, its memory, the boot it belongs to."""

import os
import resource
import subprocess
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

DISTRIBUTION = "flower-agent"  # as in pyproject.toml


@cache
def own_version() -> str:
    """The version of the installed distribution; ``0+source`` when run from a tree that isn't installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0+source"


def resident_bytes() -> int:
    """The resident memory of this process: the present one on Linux, the highest so far on macOS."""
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS, unlike Linux


@cache
def boot_id() -> str:
    """Names this boot of the machine; empty when the platform doesn't say."""
    try:
        if sys.platform == "linux":
            return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        asked = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        return subprocess.run(asked, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
