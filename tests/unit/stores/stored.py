"""The least that can be stored, for the tests of the file: a key, entries of one line, and which of them are there."""

import sqlite3
from pathlib import Path

from tests.unit.stores.transcripts import Entry

KEY = {"project_key": "p", "session_id": "s"}


def entry(uuid: str, **fields: object) -> Entry:
    return {"type": "user", "uuid": uuid, **fields}


def uids(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return [uid for (uid,) in connection.execute("SELECT uid FROM entries ORDER BY store_key, seq")]
    finally:
        connection.close()
