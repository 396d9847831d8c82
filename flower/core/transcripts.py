"""The CLI's own transcript files: written before a resume, taken into the store afterwards.

The CLI resumes from a file in its configuration folder and appends to it. Flower gives it a folder of its own,
``<run_dir>/claude``, durable and beside the store, and writes what the store would feed back there itself. The
SDK's way, a temporary configuration folder with a copy of the credentials, leaves both behind when the owner is
killed, and a login can't be renewed from a copy. The user's login stays where it is; see `environment`.

A child that was killed may have written entries that never reached the store. `salvage` takes in what is
missing, each entry once, and removes a file when all of it is in the store: the store is the archive, the file
only the CLI's working copy.
"""

import contextlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from flower.core.durable import private_folder, set_aside, write_atomically
from flower.core.lease import DYING_OWNER_SECONDS, Lease, wait_for_child
from flower.core.words import Words

Entry = dict[str, Any]
BATCH_BYTES = 1024 * 1024  # in one transaction, and in memory at a time
BOOKMARK = "leafUuid"
HEALED = "heal-"  # entries that pruning made up for a resume: in the CLI's file, never in the store


class Archive(Protocol):
    """What is needed of a session store here; `flower.stores` has it."""

    def load_sync(self, key: Any) -> list[Entry] | None: ...

    def uuids(self, key: Any) -> set[str]: ...

    def nameless(self, key: Any) -> Iterator[Entry]: ...

    def append_sync(self, key: Any, entries: list[Entry]) -> None: ...

    def subkeys(self, key: Any) -> list[str]: ...


class Glimpse(NamedTuple):
    """``heard``: which of the things said the model was shown. ``cost``: of the session, None if it isn't told."""

    heard: set[str]
    cost: float | None


@dataclass(frozen=True)
class ClaudeFolder:
    """The configuration folder of the CLI children of one run_dir, for one workspace's sessions.

    ``project_key`` is what the store files them under, ``directory`` where the CLI keeps their transcripts.
    """

    path: Path
    project_key: str
    directory: str

    @property
    def leases(self) -> Path:
        return self.path / "leases"

    def environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """What sends the CLI here, and for the user's login still to where the user keeps it."""
        return {
            "CLAUDE_CONFIG_DIR": str(self.path),
            # Empty means ~/.claude to the CLI; it reads and renews the login in place.
            "CLAUDE_SECURESTORAGE_CONFIG_DIR": environment.get(
                "CLAUDE_SECURESTORAGE_CONFIG_DIR", environment.get("CLAUDE_CONFIG_DIR", "")
            ),
            # Task outputs and the like; in the system's temporary folder they would stay behind after a kill.
            "CLAUDE_CODE_TMPDIR": str(private_folder(self.path / "tmp")),
            # CLI and SDK derive different names from a path that is long or holds an emoji; named, it is one.
            "CLAUDE_CODE_PROJECT_DIR_NAME": self.directory,
        }

    def restore(self, archive: Archive, session_id: str) -> list[Entry]:
        """Write what the store feeds back for ``session_id``, subagents' transcripts too; returns the main one.

        Raises `OSError`.
        """
        entries = archive.load_sync(self._key(session_id)) or []
        self._write(self._file(session_id), entries)
        for subpath in archive.subkeys(self._key(session_id)):
            part = archive.load_sync(self._key(session_id, subpath)) or []
            self._write_part(self._file(session_id, subpath), part)
        return entries

    def glimpse(self, session_id: str, said: Collection[str]) -> Glimpse:
        """What a child's file tells beside its entries; ``said`` are uuids of what was said to it.

        Call it before `salvage`, which takes the file away. Raises `OSError`.
        """
        file = self._file(session_id)
        heard, costs = set(), b""
        if file.exists():
            with file.open("rb") as lines:
                for line in lines:
                    # A prompt has the uuid itself; of a remark the entry that shows it to the model names it.
                    heard |= {uuid for uuid in said if uuid.encode() in line}
                    costs = line if b'"cost-state"' in line[:200] else costs
        return Glimpse(heard, _total(costs))

    def salvage(self, archive: Archive, session_id: str) -> int:
        """Take what the session's files hold beyond the store into it; returns how many entries that were.

        Call it with the session's lease held and no child of it alive. Raises `OSError`, and what the store
        raises: the files stay then.
        """
        taken = 0
        for file, key in list(self._files_of(session_id)):
            transcript = _Transcript(file)
            for missing in transcript.beyond(archive.uuids(key), archive.nameless(key)):
                archive.append_sync(key, missing)
                taken += len(missing)
            if transcript.damaged:
                set_aside(file)
            else:
                file.unlink(missing_ok=True)
        self._tidy(session_id)
        return taken

    def salvage_all(self, archive: Archive, *, patience: float = 10.0) -> list[Words]:
        """`salvage` every session that was left behind and that nobody has; returns lines for the person.

        ``patience`` is how long to wait, in seconds, for children that are just being ended. Blocking.
        """
        lines = []
        # One moment for all of them: a run has several sessions, and they are let go of together.
        deadline = time.monotonic() + DYING_OWNER_SECONDS
        for session_id in sorted(self._left_behind()):
            left = max(0.0, deadline - time.monotonic())
            lease = Lease.take(self.leases, session_id, patience=left)
            if lease is None:
                continue
            try:
                if wait_for_child(self.leases, session_id, patience):
                    taken = self.salvage(archive, session_id)
                    if taken:
                        lines.append(
                            Words(
                                f"上次没来得及存的 {taken} 条记录已经收回来了。",
                                f"{taken} entries that the last run had no time to save were taken in.",
                            )
                        )
            finally:
                lease.release()
        return lines

    def _left_behind(self) -> set[str]:
        project = self.path / "projects" / self.directory
        if not project.is_dir():
            return set()
        return {file.stem for file in project.glob("*.jsonl")} | {
            folder.name for folder in project.iterdir() if folder.is_dir() and any(folder.rglob("*.jsonl"))
        }

    def _files_of(self, session_id: str) -> Iterator[tuple[Path, Mapping[str, str]]]:
        main = self._file(session_id)
        if main.exists():
            yield main, self._key(session_id)
        folder = main.with_suffix("")
        for file in sorted(folder.rglob("*.jsonl")):
            yield file, self._key(session_id, file.relative_to(folder).with_suffix("").as_posix())

    def _file(self, session_id: str, subpath: str | None = None) -> Path:
        project = self.path / "projects" / self.directory
        if subpath is None:
            return project / f"{session_id}.jsonl"
        file = project / session_id / f"{subpath}.jsonl"
        if not file.resolve().is_relative_to((project / session_id).resolve()):
            raise OSError(f"a transcript's name leaves its folder: {subpath!r}")
        return file

    def _key(self, session_id: str, subpath: str | None = None) -> Mapping[str, str]:
        key = {"project_key": self.project_key, "session_id": session_id}
        return key if subpath is None else {**key, "subpath": subpath}

    def _write_part(self, file: Path, entries: list[Entry]) -> None:
        # What the CLI keeps in a file beside a subagent's transcript comes to a store as entries of this type.
        metadata = [entry for entry in entries if entry.get("type") == "agent_metadata"]
        self._write(file, [entry for entry in entries if entry.get("type") != "agent_metadata"])
        if metadata:
            content = {name: value for name, value in metadata[-1].items() if name != "type"}
            write_atomically(file.with_suffix(".meta.json"), msgspec.json.encode(content))

    def _write(self, file: Path, entries: list[Entry]) -> None:
        private_folder(file.parent)
        write_atomically(file, b"".join(_line(entry) for entry in entries))

    def _tidy(self, session_id: str) -> None:
        """Remove what is left of a session whose transcripts are all in the store."""
        for leftover in [*self.path.glob(f"tmp/*/*/{session_id}"), self.path / "session-env" / session_id]:
            shutil.rmtree(leftover, ignore_errors=True)
        folder = self._file(session_id).with_suffix("")
        if not folder.is_dir() or any(folder.rglob("*.jsonl*")):
            return
        for file in sorted(folder.rglob("*.meta.json")):
            file.unlink(missing_ok=True)
        for each in sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True):
            with contextlib.suppress(OSError):
                each.rmdir()
        with contextlib.suppress(OSError):
            folder.rmdir()


def _total(line: bytes) -> float | None:
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return float(json.loads(line)["totalCostUSD"])
    return None


def _line(entry: Entry) -> bytes:
    # json.dumps, not msgspec: a transcript may hold lone surrogates, which only an escape can carry.
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


class _Transcript:
    """A transcript file, read line by line: it may be larger than the memory that a run should take."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.damaged = False
        """A line other than a half-written last one was unreadable; known when all of it was read."""

    def beyond(self, known: set[str], nameless: Iterable[Entry]) -> Iterator[list[Entry]]:
        """The entries that a store lacks which has those uuids and those entries without one; in order, in batches.

        An entry without a uuid is known by its content, and counted, for two of the same content may both be
        real.
        """
        anonymous = Counter(map(_content, nameless))
        batch, weight = [], 0
        for line, entry in self._entries():
            uuid = entry.get("uuid")
            if uuid:
                if uuid in known or str(uuid).startswith(HEALED):
                    continue
                known.add(uuid)
            elif anonymous[content := _content(entry)] > 0:
                anonymous[content] -= 1
                continue
            batch.append(entry)
            weight += len(line)
            if weight >= BATCH_BYTES:
                yield batch
                batch, weight = [], 0
        if batch:
            yield batch

    def _entries(self) -> Iterator[tuple[bytes, Entry]]:
        unreadable = False
        with self._file.open("rb") as lines:
            for line in lines:
                self.damaged = self.damaged or unreadable
                unreadable = False
                if not line.strip():
                    continue
                try:
                    entry = json.loads(line)
                except ValueError:
                    unreadable = True
                    continue
                if isinstance(entry, dict):
                    yield line, entry
            # The last line was cut off by a kill; a whole one that can't be read is damage.
            self.damaged = self.damaged or (unreadable and line.endswith(b"\n"))


def _content(entry: Entry) -> bytes:
    # A bookmark is moved off what a resume leaves out, and that makes it no other one.
    told = {name: value for name, value in entry.items() if name != BOOKMARK}
    return sha256(json.dumps(told, sort_keys=True).encode()).digest()
