"""``registry.json``: the workspaces that the daemon knows, and how each was left.

The file is replaced whole. Fields and records that a newer flowerd wrote are kept as they are; a record that
can't be read stays in the file and keeps no other from its place; a file that can't be read is set aside. No
environment of a run is ever in it.
"""

import asyncio
import logging
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from flower.core.durable import private_folder, set_aside, write_atomically
from flower.core.words import Words
from flower_protocol.runs import RunOptions
from flower_protocol.workspaces import Place, State

logger = logging.getLogger(__name__)

NAME: Final = "registry.json"
VERSION: Final = 1
GATHER_SECONDS: Final = 5.0  # many changes are one write; who needs one at once calls `saved`
SAVE_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 2.0


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one workspace. ``generation`` and ``boot`` name the daemon that wrote it last.

    ``until`` says when a usage limit resets, while the run waits for that. ``seen_generation`` and ``seen`` name
    the last event that a client has shown.
    """

    workspace: str
    run_dir: str
    state: State = State.DORMANT
    woke: int = 0
    step: str | None = None
    index: int = 0
    total: int = 0
    round: int = 0
    session_id: str | None = None
    context: int = 0
    window: int = 0
    checks: int = 0
    rehearse: bool = False
    options: RunOptions | None = None
    until: float | None = None
    started_at: float | None = None
    updated_at: float | None = None
    error: str | None = None
    generation: str = ""
    boot: str = ""
    seen_generation: str = ""
    seen: int = 0

    @property
    def place(self) -> Place:
        return Place(workspace=self.workspace, run_dir=self.run_dir)


class Registry:
    """The records in memory, and the file that follows them. All but `load` belongs to the loop's thread."""

    def __init__(self, path: Path, pool: Executor) -> None:
        self.path = path
        self._notice: Words | None = None
        self._pool = pool
        self._records: dict[Place, Record] = {}
        self._raw: dict[Place, dict[str, Any]] = {}
        self._unread: list[Any] = []
        self._rest: dict[str, Any] = {}
        self._version = self._written = 0
        self._dirty = asyncio.Event()
        self._saving: asyncio.Task[bool] | None = None
        self._failing = False

    def load(self) -> None:
        """Read the file, once, before anything else. Blocking. What can't be read is no error."""
        content = self._content()
        records = content.pop("workspaces", [])
        self._rest = {name: value for name, value in content.items() if name != "version"}
        for raw in records if isinstance(records, list) else [records]:
            try:
                record = msgspec.convert(raw, Record)
            except msgspec.ValidationError as error:
                logger.warning("a record of %s can't be read and is left as it is: %s", self.path, error)
                self._unread.append(raw)
                continue
            self._records[record.place] = record
            self._raw[record.place] = raw

    def take_notice(self) -> Words | None:
        """What a person should be told of the file: once."""
        notice, self._notice = self._notice, None
        return notice

    def records(self) -> list[Record]:
        return list(self._records.values())

    def get(self, place: Place) -> Record | None:
        return self._records.get(place)

    def put(self, record: Record) -> None:
        """Remember ``record``; the file follows by and by, at once with `saved`."""
        if self._records.get(record.place) != record:
            self._records[record.place] = record
            self._changed()

    def remove(self, place: Place) -> None:
        if self._records.pop(place, None) is not None:
            self._raw.pop(place, None)
            self._changed()

    async def saved(self) -> bool:
        """Returns when all that was put so far is on disk: True, or False when the disk refused it or hangs."""
        wanted = self._version
        while self._written < wanted:
            if self._saving is None:
                self._saving = asyncio.create_task(self._save(), name="registry save")
            done, _ = await asyncio.wait({self._saving}, timeout=SAVE_SECONDS)
            if not done or not done.pop().result():
                return False
        return True

    async def keep_saving(self) -> None:
        """Write what changes, now and then, for as long as the daemon lives; a task of the daemon's."""
        while True:
            await self._dirty.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._dirty.clear()
            if not await self.saved():
                await asyncio.sleep(RETRY_SECONDS)
                self._dirty.set()

    async def _save(self) -> bool:
        """Write the file; False when the disk refuses, which is logged once. One at a time."""
        version = self._version
        write = partial(_write, self.path, self._encoded())
        try:
            await asyncio.get_running_loop().run_in_executor(self._pool, write)
        except OSError as error:
            if not self._failing:
                logger.warning("could not write %s: %s", self.path, error)
            self._failing = True
        else:
            self._failing, self._written = False, version
        finally:
            self._saving = None
        return not self._failing

    def _changed(self) -> None:
        self._version += 1
        self._dirty.set()

    def _encoded(self) -> bytes:
        known = [
            self._raw.get(place, {}) | msgspec.to_builtins(each) for place, each in self._records.items()
        ]
        content = self._rest | {"version": VERSION, "workspaces": [*known, *self._unread]}
        return msgspec.json.format(msgspec.json.encode(content))

    def _content(self) -> dict[str, Any]:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=dict[str, Any])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._set_aside(error)
            return {}

    def _set_aside(self, error: Exception) -> None:
        logger.warning("%s can't be read: %s", self.path, error)
        try:
            aside = set_aside(self.path)
        except OSError as problem:
            logger.warning("%s can't be set aside: %s", self.path, problem)
            return
        self._notice = Words(
            f"{self.path} 读不懂,已改名为 {aside.name},名单从头记起。",
            f"{self.path} could not be read; it was renamed to {aside.name} and a new list begun.",
        )


def _write(path: Path, content: bytes) -> None:
    private_folder(path.parent)
    write_atomically(path, content)
