"""Under which name a transcript is stored."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self


class TranscriptKey(NamedTuple):
    """A session's transcript, or with a `subpath` that of one of its subagents (``subagents/agent-<id>``)."""

    project_key: str
    session_id: str
    subpath: str | None = None

    @classmethod
    def of(cls, key: Mapping[str, Any]) -> Self:
        """From the SDK's ``SessionKey``. Raises `KeyError`."""
        return cls(key["project_key"], key["session_id"], key.get("subpath") or None)

    @property
    def stored(self) -> str:
        """``<project_key>/<session_id>[/<subpath>]``"""
        return "/".join(part for part in self if part is not None)


def bounds_below(*parts: str) -> tuple[str, str]:
    """The stored keys below these parts are those from the first bound on, up to and without the second."""
    prefix = "/".join(parts)
    return f"{prefix}/", f"{prefix}0"  # "0" follows "/"
