"""What a run leaves behind in its folder: transcripts, the CLI's own and the stored ones, and whoever still lives."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import psutil

from tests.support.runs import entries_of

Entry = dict[str, Any]


def written_transcripts(run_dir: Path) -> dict[str, list[Entry]]:
    """What the CLI itself has written, main thread's and subagents', by their names."""
    found = {}
    for folder in (run_dir / "claude" / "projects").glob("*"):
        for file in folder.rglob("*.jsonl"):
            entries = entries_of(file.read_text())
            name = file.relative_to(folder).with_suffix("").as_posix()
            found[name] = [entry for entry in entries if not str(entry.get("uuid", "")).startswith("heal-")]
    return found


def stored_transcripts(run_dir: Path) -> dict[str, list[Entry]]:
    """What ``sessions.db`` has, by the same names, read without flower."""
    found: dict[str, list[Entry]] = {}
    with sqlite3.connect(f"file:{run_dir / 'sessions.db'}?mode=ro", uri=True) as database:
        for key, payload in database.execute("SELECT store_key, payload FROM entries ORDER BY seq"):
            found.setdefault(key.partition("/")[2], []).append(json.loads(payload))
    database.close()
    return found


def blocks(entries: list[Entry], kind: str) -> list[dict[str, Any]]:
    """The blocks of that kind in a transcript's messages."""
    contents = [entry["message"]["content"] for entry in entries if entry["type"] in ("user", "assistant")]
    return [
        block
        for content in contents
        if isinstance(content, list)
        for block in content
        if block["type"] == kind
    ]


def anybody_in(folder: Path) -> list[int]:
    """Whoever stands in this folder: a script, its launcher, the CLI, and the commands below it."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()).is_relative_to(folder):
                found.append(process.pid)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found
