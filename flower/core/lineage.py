"""``lineage.json``: which step used which session. Continuity rests on this one line of mapping.

Two invariants. The id is on disk the moment it is known, never only when the step ends: a process that is killed
is just what this file is for. And what doesn't match counts as absent: a moved folder, a deleted store or a
damaged file means starting from scratch with one quiet line, never an error.

A session that has no transcript yet must not displace one that has. Such an id is kept under ``pending`` beside
the living one, and takes its place when `alive` finds that it lives. A session that is nearly full and has left a
document for its successor is under ``handoffs``, until the successor lives. What a person said and no session has
heard for certain is under ``words``; what a clarification has heard and no brief holds yet under ``request``, for the
next one may have to begin anew. The digest of the brief that the work knows is under ``brief``: a person may have
edited it since. Other fields that a newer flower wrote are kept as they are.
"""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from flower.core.durable import locked, private_folder, set_aside, stamped_folder, write_atomically
from flower.core.words import Words

NAME = "lineage.json"


@dataclass
class Lineage:
    """The lineage of one workspace, as the file at ``path`` had it when opened, and every change since.

    Writing merges: steps that another process remembered meanwhile are kept, ``woke`` never goes back, the last
    writer of a step wins. A write that fails with `OSError` is swallowed (continuity is a bonus and must not
    take the run down) and leaves a ``notice``.
    """

    path: Path
    workspace: Path
    steps: dict[str, str] = field(default_factory=dict)
    woke: int = 0
    pending: dict[str, str] = field(default_factory=dict)
    handoffs: dict[str, dict[str, str]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    request: list[str] = field(default_factory=list)
    brief: str = ""
    notice: Words | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        self.workspace = Path(self.workspace).resolve()

    @classmethod
    def open(cls, run_dir: Path | str, workspace: Path | str) -> "Lineage":
        """What ``<run_dir>/lineage.json`` says of this workspace; empty when it says nothing. Writes nothing."""
        lineage = cls(path=Path(run_dir) / NAME, workspace=Path(workspace))
        record = lineage._read()
        if isinstance(record, dict):
            lineage._take(record)
        elif record is not None:
            lineage.notice = record
        return lineage

    def remember(self, step: str, session_id: str) -> None:
        """``step`` is in ``session_id`` from now on: on disk when this returns."""
        if not step or not session_id:
            return
        self._change(lambda: self._settle(step, session_id))

    def propose(self, step: str, session_id: str) -> None:
        """``step`` is about to be in ``session_id``, which has no transcript yet: on disk when this returns.

        Without a living session in its place the proposal stands at once; see the module's text.
        """
        if not step or not session_id or self.steps.get(step) == session_id:
            return
        if step not in self.steps:
            self.remember(step, session_id)
            return
        self._change(lambda: self.pending.__setitem__(step, session_id))

    def hand_over(self, step: str, session_id: str, document: Path) -> None:
        """``step``'s session is full and has left ``document`` to its successor: on disk when this returns."""
        if step and session_id:
            self._change(lambda: self._retire(step, session_id, document))

    def document_of(self, step: str, session_id: str) -> Path | None:
        """What the session left to a successor that has not begun yet; None if it is to go on itself."""
        handed = self.handoffs.get(step, {})
        return Path(handed["document"]) if handed.get("session") == session_id else None

    def note(self, words: str) -> None:
        """The person said ``words``, which a session is still to hear: on disk when this returns. Once is enough."""
        if words:
            self._change(lambda: None if words in self.words else self.words.append(words))

    def heard(self, *words: str) -> None:
        """A session has heard ``words``."""
        if set(words) & set(self.words):
            self._change(lambda: self._forget(words))

    def ask_about(self, *words: str) -> None:
        """A clarification has heard ``words``: on disk when this returns. They stay known until `settle`."""
        if set(words) & set(self.words) or set(words) - set(self.request):
            self._change(lambda: self._take_up(words))

    def settle(self) -> None:
        """What was asked about stands in a brief."""
        if self.request:
            self._change(lambda: self.request.clear())

    def go_by(self, brief: str) -> None:
        """The work knows the brief of this digest: on disk when this returns."""
        if self.brief != brief:
            self._change(lambda: setattr(self, "brief", brief))

    def alive(self, is_alive: Callable[[str], bool]) -> dict[str, str]:
        """The session of each step whose session still lives; a pending one that does goes first."""
        living = {}
        for step in {**self.steps, **self.pending}:
            candidates = (self.pending.get(step), self.steps.get(step))
            session_id = next((each for each in candidates if each and is_alive(each)), None)
            if session_id is not None:
                living[step] = session_id
        return living

    def bump(self) -> int:
        """Count one more wake and return its number (1 for the first run)."""

        def one_more() -> None:
            self.woke += 1

        self._change(one_more)
        return self.woke

    def archive(self, into: Path | str, *, extra: Iterable[Path] | None = None) -> Path:
        """Move the lineage file and each existing path of ``extra`` into ``<into>/<YYYYmmdd-HHMMSS>/``.

        They are faces of one history and go together. The steps and ``woke`` start from zero. Returns that
        folder. Raises `OSError`: half an archive must be heard of.
        """
        folder = stamped_folder(Path(into))
        with locked(self.path):
            for each in [self.path, *(extra or ())]:
                if each.exists():
                    shutil.move(each, folder / each.name)
        self.steps, self.pending, self.handoffs, self.words, self.woke = {}, {}, {}, [], 0
        self.request, self.brief = [], ""
        return folder

    def _settle(self, step: str, session_id: str) -> None:
        self.steps[step] = session_id
        self.pending.pop(step, None)
        if self.handoffs.get(step, {}).get("session") != session_id:
            self.handoffs.pop(step, None)

    def _forget(self, words: tuple[str, ...]) -> None:
        self.words = [each for each in self.words if each not in words]

    def _take_up(self, words: tuple[str, ...]) -> None:
        self._forget(words)
        self.request.extend(each for each in words if each not in self.request)

    def _retire(self, step: str, session_id: str, document: Path) -> None:
        self._settle(step, session_id)
        self.handoffs[step] = {"session": session_id, "document": str(document)}

    def _change(self, change: Callable[[], None]) -> None:
        """Apply ``change`` on top of what the file says now, and write it."""
        applied = False
        try:
            private_folder(self.path.parent)
            with locked(self.path):
                others = self._catch_up()
                change()
                applied = True
                write_atomically(self.path, self._record(others))
        except OSError as error:
            if not applied:
                change()
            self.notice = Words(
                f"血缘写不进 {self.path}:{error.strerror}。这次照跑,但下次可能接不上。",
                f"could not write {self.path}: {error.strerror}. This run goes on, the next may not continue it.",
            )

    def _catch_up(self) -> dict[str, Any]:
        """Take what the file says now; returns the fields that aren't ours to know."""
        record = self._read()
        if isinstance(record, Words):
            self.notice = record
            set_aside(self.path)
        if not isinstance(record, dict):
            return {}
        self._take(record)
        return {name: value for name, value in record.items() if name not in _Shape.__struct_fields__}

    def _record(self, others: dict[str, Any]) -> bytes:
        ours: dict[str, Any] = {"workspace": str(self.workspace), "woke": self.woke, "steps": self.steps}
        for name in ("pending", "handoffs", "words", "request", "brief"):
            if getattr(self, name):
                ours[name] = getattr(self, name)
        return msgspec.json.format(msgspec.json.encode(ours | others))

    def _take(self, record: dict[str, Any]) -> None:
        self.woke = max(self.woke, record["woke"])
        self.steps = dict(record["steps"])
        self.pending = dict(record.get("pending", {}))
        self.handoffs = dict(record.get("handoffs", {}))
        self.words = list(record.get("words", []))
        self.request = list(record.get("request", []))
        self.brief = record.get("brief", "")

    def _read(self) -> dict[str, Any] | Words | None:
        """The file's record; None when there is none; the reason when it can't serve this workspace."""
        try:
            record = msgspec.json.decode(self.path.read_bytes())
            msgspec.convert(record, _Shape)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return Words(
                f"{self.path} 读不懂,上次的对话接不上,从头开始。",
                f"{self.path} could not be read: the last conversation can't be picked up, starting from scratch.",
            )
        if record["workspace"] != str(self.workspace):
            return Words(
                f"这里的对话是在 {record['workspace']} 留下的,目录换了地方,接不上,从头开始。",
                f"the conversation here was left in {record['workspace']}: the folder moved, starting from scratch.",
            )
        return record  # type: ignore[no-any-return]


class _Shape(msgspec.Struct):
    workspace: str
    woke: int
    steps: dict[str, str]
    pending: dict[str, str] = {}
    handoffs: dict[str, dict[str, str]] = {}
    words: list[str] = []
    request: list[str] = []
    brief: str = ""
