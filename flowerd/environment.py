"""What a daemon keeps of the environment it was started with: too little to carry anybody's credentials.

The first shell that starts a daemon is no more entitled than the next one: each run has the environment of the
client that starts it, and whatever the daemon's own held would leak into all of them.
"""

from collections.abc import Mapping, MutableMapping
from typing import Final

KEPT: Final = frozenset(
    {
        "HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TMPDIR",
        "TZ",
        "USER",
        # Where the daemon itself lives.
        "FLOWER_LANG",
        "FLOWER_SOCKET",
        "XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
        # What systemd sets for its own: journald's stream, and this start's id.
        "INVOCATION_ID",
        "JOURNAL_STREAM",
    }
)
_KEPT_PREFIXES: Final = ("LC_",)


def scrub(environment: MutableMapping[str, str]) -> None:
    """Take everything out of ``environment`` that is not on the list."""
    for name in [name for name in environment if not kept(name)]:
        del environment[name]


def kept(name: str) -> bool:
    """Whether a variable stays with the daemon."""
    return name in KEPT or name.startswith(_KEPT_PREFIXES)


def for_rehearsal(environment: Mapping[str, str], endpoint: Mapping[str, str]) -> dict[str, str]:
    """A run's environment when a script plays the model: no credential of the person's is near it."""
    foreign = ("ANTHROPIC_", "CLAUDE")
    return {name: value for name, value in environment.items() if not name.startswith(foreign)} | dict(
        endpoint
    )
