"""Who sits here, as others in the same folder are told: the user and the terminal."""

import os
import sys
from collections.abc import Mapping
from pwd import getpwuid


def who(environment: Mapping[str, str]) -> str:
    """``ann@pts/3``; with the process instead of a terminal where there is none."""
    try:
        name = environment.get("USER") or getpwuid(os.getuid()).pw_name
    except KeyError:  # a container without a line for this user
        name = str(os.getuid())
    try:
        return f"{name}@{os.ttyname(sys.stdin.fileno()).removeprefix('/dev/')}"
    except (OSError, AttributeError, ValueError):
        return f"{name}#{os.getpid()}"
