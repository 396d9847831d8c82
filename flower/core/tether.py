"""The owner's side of the launcher: what stands in the CLI's place, and what it is told.

`child` is the launcher itself. See there for what the tether does and how.
"""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from flower.core import child
from flower.core.durable import private_folder, write_atomically

# The SDK sets these on the child by itself; they describe this run, not the process that happens to own it.
_FROM_SDK = (
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_AGENT_SDK_VERSION",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE",
    "PWD",
)


def place_launcher(folder: Path) -> Path:
    """Put the launcher into ``folder`` and return its path.

    The SDK takes one executable for the CLI, so the interpreter and the script go into a file of their own.
    It is written anew each time: what stands there may be of another installation, or not ours at all.
    Raises `OSError`.
    """
    path = private_folder(folder) / "launch"
    script = shlex.join([sys.executable, "-I", "-S", child.__file__])
    write_atomically(path, f'#!/bin/sh\nexec {script} "$@"\n'.encode())
    path.chmod(0o700)
    return path


def tethered(environment: Mapping[str, str], *, cli: Path, lock: Path) -> dict[str, str]:
    """The environment to give the SDK so that the launcher starts ``cli`` with exactly ``environment``."""
    plan = {
        "owner": os.getpid(),
        "cli": str(cli),
        "lock": str(lock),
        "keep": sorted({*environment, *_FROM_SDK}),
    }
    return {**environment, child.PLAN: json.dumps(plan)}


def find_cli(environment: Mapping[str, str]) -> Path:
    """The Claude Code CLI: ``FLOWER_CLI``, else the one in the SDK's wheel, else ``claude`` on the PATH.

    Raises `FileNotFoundError` with a sentence that says what to do.
    """
    named = environment.get("FLOWER_CLI")
    if named:
        return Path(named)
    bundled = _bundled()
    if bundled is not None:
        return bundled
    found = shutil.which("claude", path=environment.get("PATH"))
    if found is None:
        raise FileNotFoundError(
            "找不到 Claude Code 的命令行(claude)。装一个,或者用 FLOWER_CLI 指给它。"
            if environment.get("FLOWER_LANG") != "en"
            else "the Claude Code CLI (claude) was not found. Install it, or name it by FLOWER_CLI."
        )
    return Path(found)


def _bundled() -> Path | None:
    from importlib.util import find_spec

    spec = find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "_bundled" / "claude"
    return path if path.is_file() else None
