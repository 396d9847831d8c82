"""Large tool results are fed back as pointers: their text moves to a file, which the agent can read again.

`TrimmingSessionStore` rewrites what it loads, never what is stored.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from flower.core.durable import private_folder

from .entries import (
    Block,
    Entry,
    calls_in,
    content_of,
    encode,
    is_set_apart,
    plain_text,
    results_in,
    with_content,
    with_text,
)
from .expire import EphemeralPolicy, expire, is_ephemeral
from .keys import TranscriptKey
from .residue import is_left_over
from .sqlite import SqliteSessionStore

__all__ = ["EphemeralPolicy", "TrimPolicy", "TrimmingSessionStore", "is_ephemeral", "trim", "trim_report"]

_POINTER = "[工具结果已归档:{chars} 字符。完整内容在 {path},需要时用 Read 读取]"


@dataclass(frozen=True)
class TrimPolicy:
    """Which tool results are replaced by a pointer: of those before the last `keep_recent` the ones from
    `min_chars` characters on, if they are text alone. `spill_dirname` is relative to the workspace.
    """

    keep_recent: int = 20
    min_chars: int = 2000
    spill_dirname: str = ".flower/spill"
    enabled: bool = True


@dataclass(frozen=True)
class Trimmed:
    """What `trim` did."""

    entries: list[Entry]  # changed ones are copies
    cleared: int  # how many results were replaced
    kept: int  # how many stayed because they are recent
    chars_saved: int


class TrimmingSessionStore(SqliteSessionStore):
    """A store that feeds back neither stale looks nor large old results. Both policies default to enabled.

    `last_report` tells of the last load of a session's main transcript: ``expired``, ``cleared``, ``kept`` and
    ``chars_saved``, each only if its rule was on.
    """

    def __init__(
        self,
        path: str | Path,
        workspace: str | Path,
        policy: TrimPolicy | None = None,
        ephemeral: EphemeralPolicy | None = None,
    ) -> None:
        super().__init__(path)
        self.workspace = Path(workspace).resolve()
        self.policy = policy or TrimPolicy()
        self.ephemeral = ephemeral or EphemeralPolicy()
        self.last_report: dict[str, int] = {}

    def _fed_back(self, key: TranscriptKey) -> list[Entry] | None:
        entries = super()._fed_back(key)
        report: dict[str, int] = {}
        if entries is not None and self.ephemeral.enabled:
            entries, report["expired"] = expire(entries, self.ephemeral)
        if entries is not None and self.policy.enabled:
            trimmed = trim(entries, self.policy, self._spill)
            entries = trimmed.entries
            report |= {"cleared": trimmed.cleared, "kept": trimmed.kept, "chars_saved": trimmed.chars_saved}
        if key.subpath is None:
            self.last_report = report
        return entries

    def _spill(self, text: str) -> Path | None:
        """The file that holds this text, written if need be; None if that can't be done."""
        content = text.encode(errors="replace")  # half a character, cut off by a tool, can't be written
        folder = self.workspace / self.policy.spill_dirname
        path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}.txt"
        try:
            if not path.exists() or path.stat().st_size != len(content):
                _write(private_folder(folder) / path.name, content)
        except OSError:
            return None
        return path


def trim(entries: list[Entry], policy: TrimPolicy, spill: Callable[[str], Path | None]) -> Trimmed:
    """Replace large old results by pointers to where `spill` put their text; what it can't put anywhere stays.

    So does what the model fetched from there: a pointer to a copy of it would only send it there again.
    """
    results = [(at, result) for at, entry in enumerate(entries) for result in _trimmable(entry)]
    old = results[: max(0, len(results) - policy.keep_recent)]
    large = [
        (at, result, text)
        for at, result in old
        if (text := plain_text(result.get("content"))) is not None and len(text) >= policy.min_chars
    ]
    fetched = _calls_that_name(policy.spill_dirname, entries) if large else set()
    pointers: dict[int, dict[int, Block]] = {}
    saved = 0
    for at, result, text in large:
        path = spill(text) if result["tool_use_id"] not in fetched else None
        if path is not None:
            pointer = _POINTER.format(chars=len(text), path=path)
            pointers.setdefault(at, {})[id(result)] = with_text(result, pointer)
            saved += len(text) - len(pointer)
    trimmed = [
        _replaced(entry, pointers[at]) if at in pointers else entry for at, entry in enumerate(entries)
    ]
    return Trimmed(trimmed, sum(map(len, pointers.values())), len(results) - len(old), saved)


def trim_report(store: TrimmingSessionStore) -> str:
    """What the last load left out, in one line for the person."""
    report = store.last_report
    parts = []
    if report.get("expired"):
        parts.append(f"{report['expired']} 个时效性结果标记为过期")
    if report.get("cleared"):
        tokens = report["chars_saved"] // 4
        parts.append(
            f"裁掉 {report['cleared']} 个工具结果(保留最近 {report['kept']} 个),省下 ~{tokens} tokens"
        )
    return "; ".join(parts) or "未裁剪"


def _trimmable(entry: Entry) -> list[Block]:
    # What other rules are about to rewrite is left to them: they know it by its text.
    results = results_in(entry)
    return [] if results and (is_set_apart(entry) or is_left_over(entry)) else results


def _calls_that_name(folder: str, entries: list[Entry]) -> set[str]:
    return {
        call["id"] for entry in entries for call in calls_in(entry) if folder in encode(call.get("input"))
    }


def _replaced(entry: Entry, blocks: Mapping[int, Block]) -> Entry:
    return with_content(entry, [blocks.get(id(block), block) for block in content_of(entry)])


def _write(path: Path, content: bytes) -> None:
    # Not synced to the disk: there may be thousands, and the next load writes again what a power failure cut off.
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
