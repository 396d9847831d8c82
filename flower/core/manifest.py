"""``manifest.json``: one row a step, added up over all processes that ever ran in this folder.

A row belongs to the run that wrote it (``run``). A write re-reads the file, replaces this run's rows by their
latest state and leaves everybody else's where they are, all under a lock: parallel runs lose no row.
"""

import json
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from flower.core.durable import locked, set_aside, write_atomically
from flower.core.result import StepResult
from flower.core.words import Words

NAME = "manifest.json"


def new_run_id() -> str:
    """``YYYYmmdd-HHMMSS-<6 hex>``: two runs that start in the same second differ."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"


def read_rows(run_dir: Path) -> list[dict[str, Any]]:
    """Every row there is, oldest first; none when the file is missing or can't be read."""
    rows = _read(run_dir / NAME)
    return rows if rows is not None else []


class Manifest:
    """The rows of one run within the manifest of its folder."""

    def __init__(self, run_dir: Path, run_id: str) -> None:
        self.path = run_dir / NAME
        self.run_id = run_id
        self.notice: Words | None = None

    def write(self, results: Sequence[StepResult]) -> None:
        """Make this run's rows on disk those of ``results``, in order. Raises `OSError`."""
        mine = [result.row(self.run_id) for result in results]
        with locked(self.path):
            rows = self._rows_of_others() + mine
            write_atomically(self.path, _encode(rows))

    def _rows_of_others(self) -> list[dict[str, Any]]:
        rows = _read(self.path)
        if rows is None:
            aside = set_aside(self.path)
            self.notice = Words(
                f"{self.path} 读不懂,已改名为 {aside.name},清单从头记起。",
                f"{self.path} could not be read; it was renamed to {aside.name} and a new manifest begun.",
            )
            return []
        return [row for row in rows if row.get("run") != self.run_id]


def _encode(rows: list[dict[str, Any]]) -> bytes:
    try:
        return msgspec.json.format(msgspec.json.encode(rows), indent=2)
    except UnicodeEncodeError:
        # A text that was cut in the middle of a character; a row without its last sign is better than none.
        return json.dumps(rows, ensure_ascii=False, indent=2).encode(errors="replace")


def _read(path: Path) -> list[dict[str, Any]] | None:
    """The rows; ``[]`` when there is no file, None when there is one that is no manifest."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[dict[str, Any]])
    except FileNotFoundError:
        return []
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
