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
from flower.core.words import Words, language_of

_NOT_INSTALLED = Words(
    "找不到 Claude Code 的命令行(claude)。装一个,或者用 FLOWER_CLI 指给它。",
    "the Claude Code CLI (claude) was not found. Install it, or name it by FLOWER_CLI.",
)

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

    ``FLOWER_CLI`` is a path, or a name to be looked for on the PATH. Raises `FileNotFoundError` with a sentence
    that says what to do.
    """
    named = environment.get("FLOWER_CLI")
    if named:
        # A daemon's own folder says nothing of the person's.
        wanted = os.path.join(environment.get("PWD", ""), named) if os.path.dirname(named) else named
        found, missing = shutil.which(wanted, path=environment.get("PATH")), _not_there(named)
    else:
        found, missing = _bundled() or shutil.which("claude", path=environment.get("PATH")), _NOT_INSTALLED
    if found is None:
        raise FileNotFoundError(missing.spoken(language_of(environment)))
    return Path(found).absolute()


def _not_there(named: str) -> Words:
    return Words(
        f"FLOWER_CLI 指的 {named} 不在,或者不能执行。改对它;去掉它就用自带的那个。",
        f"FLOWER_CLI names {named}, which isn't there or can't be executed. Correct it, or unset it.",
    )


def _bundled() -> str | None:
    from importlib.util import find_spec

    spec = find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "_bundled" / "claude"
    return str(path) if path.is_file() else None
