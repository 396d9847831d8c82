"""The file of transcripts: what goes in, what comes out, and under which names."""

import json
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower.stores.sqlite import SqliteSessionStore
from tests.unit.stores.stored import KEY, entry
from tests.unit.stores.transcripts import Transcript, call, words

SIDE = {**KEY, "subpath": "subagents/agent-1"}
USAGE = {"input_tokens": 1, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 300}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "sessions.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteSessionStore]:
    opened = SqliteSessionStore(path)
    yield opened
    opened.close()


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


async def mtimes(store: SqliteSessionStore) -> dict[str, int]:
    return {each["session_id"]: each["mtime"] for each in await store.list_sessions("p")}


# ---------------------------------------------------------------------- the file


def test_the_tables_are_the_promised_ones(store: SqliteSessionStore, path: Path) -> None:
    columns = {
        table: [(name, kind, bool(required), key) for _, name, kind, required, _, key in rows(path, query)]
        for table in ("entries", "meta", "summaries")
        if (query := f"PRAGMA table_info({table})")
    }
    (index,) = rows(path, "SELECT sql FROM sqlite_master WHERE name = 'entries_uid'")

    assert columns == {
        "entries": [
            ("store_key", "TEXT", True, 1),
            ("seq", "INTEGER", True, 2),
            ("uid", "TEXT", False, 0),
            ("payload", "TEXT", True, 0),
        ],
        "meta": [
            ("store_key", "TEXT", False, 1),
            ("mtime", "INTEGER", True, 0),
            ("next_seq", "INTEGER", True, 0),
        ],
        "summaries": [
            ("project_key", "TEXT", True, 1),
            ("session_id", "TEXT", True, 2),
            ("mtime", "INTEGER", True, 0),
            ("data", "TEXT", True, 0),
        ],
    }
    assert index == ("CREATE UNIQUE INDEX entries_uid ON entries (store_key, uid) WHERE uid IS NOT NULL",)


async def test_file_and_folder_are_the_users_alone(store: SqliteSessionStore, path: Path) -> None:
    await store.append(KEY, [entry("a")])

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {file.name: oct(stat.S_IMODE(file.stat().st_mode)) for file in path.parent.iterdir()} == {
        "sessions.db": "0o600",
        "sessions.db-wal": "0o600",
        "sessions.db-shm": "0o600",
    }


def test_a_folder_that_was_there_keeps_its_rights(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    SqliteSessionStore(tmp_path / "sessions.db").close()

    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_closing_leaves_one_file_and_can_be_repeated(store: SqliteSessionStore, path: Path) -> None:
    store.append_sync(KEY, [entry("a")])

    store.close()
    store.close()

    assert [file.name for file in path.parent.iterdir()] == ["sessions.db"]


def test_a_path_that_can_not_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(OSError, match="file"):
        SqliteSessionStore(tmp_path / "file" / "sessions.db")


# ---------------------------------------------------------------------- entries


async def test_entries_come_back_verbatim_and_are_stored_as_json_under_their_key(
    store: SqliteSessionStore, path: Path
) -> None:
    entries = [
        entry("b", text="中文 \ud83d"),
        {"type": "mode"},
        entry("a", nested={"x": [1, 2.5, None, True]}),
    ]

    await store.append(KEY, entries)
    await store.append(SIDE, [entry("c")])

    assert await store.load(KEY) == entries
    stored = rows(path, "SELECT store_key, seq, uid, payload FROM entries ORDER BY store_key, seq")
    assert [(key, seq, uid) for key, seq, uid, _ in stored] == [
        ("p/s", 0, "b"),
        ("p/s", 1, None),
        ("p/s", 2, "a"),
        ("p/s/subagents/agent-1", 0, "c"),
    ]
    assert [json.loads(str(payload)) for *_, payload in stored[:3]] == entries


async def test_an_entry_that_comes_twice_is_stored_once_but_those_without_a_uuid_are_not_compared(
    store: SqliteSessionStore,
) -> None:
    await store.append(KEY, [entry("a"), entry("a", n=2), {"type": "mode"}])
    await store.append(KEY, [entry("b"), entry("a", n=3), {"type": "mode"}])

    assert await store.load(KEY) == [entry("a"), {"type": "mode"}, entry("b"), {"type": "mode"}]


async def test_a_batch_that_comes_twice_moves_neither_time_nor_summary(
    store: SqliteSessionStore, path: Path
) -> None:
    batch = [entry("a", customTitle="first"), entry("b", customTitle="second")]
    await store.append(KEY, batch)
    before = rows(path, "SELECT * FROM meta"), rows(path, "SELECT * FROM summaries")

    await store.append(KEY, batch[:1])

    assert (rows(path, "SELECT * FROM meta"), rows(path, "SELECT * FROM summaries")) == before


async def test_a_batch_that_comes_twice_doubles_nothing_not_even_entries_without_a_uuid(
    store: SqliteSessionStore,
) -> None:
    batch = [{"type": "mode", "mode": "plan"}, entry("a"), {"type": "mode"}, entry("b"), {"type": "mode"}]
    await store.append(KEY, batch)

    await store.append(KEY, batch)
    await store.append(KEY, batch[1:3])

    assert await store.load(KEY) == batch


async def test_a_batch_that_overlaps_the_one_before_brings_only_what_is_new(
    store: SqliteSessionStore,
) -> None:
    await store.append(KEY, [entry("a"), entry("b")])
    await store.append(KEY, [entry("b"), entry("c"), entry("c"), entry("a"), entry("d")])

    assert await store.load(KEY) == [entry("a"), entry("b"), entry("c"), entry("d")]


async def test_the_same_uuid_may_stand_in_two_transcripts(store: SqliteSessionStore) -> None:
    await store.append(KEY, [entry("a")])
    await store.append(SIDE, [entry("a")])

    assert await store.load(SIDE) == [entry("a")]


async def test_nothing_is_written_for_an_empty_batch(store: SqliteSessionStore) -> None:
    await store.append(KEY, [])

    assert await store.load(KEY) is None
    assert not store.has_session("p", "s")


async def test_what_is_no_json_is_refused_and_stops_nobody_else(store: SqliteSessionStore) -> None:
    with pytest.raises(TypeError, match="no JSON"):
        await store.append(KEY, [entry("a", value=object())])
    await store.append(KEY, [entry("b")])

    assert await store.load(KEY) == [entry("b")]
    assert store.failures == 1
    assert store.queued == 0


@pytest.mark.parametrize("key", [KEY, {**KEY, "session_id": "half \ud83d"}])
async def test_a_name_that_is_no_unicode_is_refused_and_stops_nobody_else(
    store: SqliteSessionStore, key: dict[str, str]
) -> None:
    with pytest.raises(TypeError):
        await store.append(key, [entry("half \ud83d")])
    await store.append(KEY, [entry("b")])

    assert await store.load(KEY) == [entry("b")]
    assert store.queued == 0


async def test_a_row_that_is_no_json_is_passed_over(store: SqliteSessionStore, path: Path) -> None:
    await store.append(KEY, [entry("a"), entry("b"), entry("c")])
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE entries SET payload = '{\"half' WHERE uid = 'b'")
    connection.close()

    assert await store.load(KEY) == [entry("a"), entry("c")]


async def test_a_long_transcript_is_read_whole(store: SqliteSessionStore) -> None:
    entries = [entry(str(number)) for number in range(3_001)]
    await store.append(KEY, entries)

    assert await store.load(KEY) == entries


def test_numbering_goes_on_where_the_file_stopped(path: Path) -> None:
    for uuid in ("a", "b"):
        store = SqliteSessionStore(path)
        store.append_sync(KEY, [entry(uuid)])
        store.close()

    assert rows(path, "SELECT seq, uid FROM entries ORDER BY seq") == [(0, "a"), (1, "b")]


# ---------------------------------------------------------------------- times and summaries


async def test_the_time_of_a_write_is_later_than_every_one_before_whoever_wrote(
    store: SqliteSessionStore, path: Path
) -> None:
    other = SqliteSessionStore(path)
    seen = []
    for number in range(20):
        session = str(number)
        await (store, other)[number % 2].append({**KEY, "session_id": session}, [entry("a")])
        seen.append((await mtimes(store))[session])
    other.close()

    assert seen == sorted(set(seen)), "strictly later each time, within one millisecond too"


async def test_a_clock_that_went_back_does_not_turn_the_times_round(
    store: SqliteSessionStore, path: Path
) -> None:
    await store.append(KEY, [entry("a")])
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE meta SET mtime = 99999999999999")
    connection.close()

    await store.append(KEY, [entry("b")])

    assert await mtimes(store) == {"s": 100000000000000}


async def test_the_summary_has_the_time_of_its_session_and_only_main_transcripts_have_one(
    store: SqliteSessionStore,
) -> None:
    await store.append(KEY, [entry("a", customTitle="one")])
    await store.append(KEY, [entry("b", customTitle="two")])
    await store.append(SIDE, [entry("c", customTitle="side")])

    (summary,) = await store.list_session_summaries("p")

    assert summary["session_id"] == "s"
    assert summary["data"]["custom_title"] == "two"
    assert {"s": summary["mtime"]} == await mtimes(store)


# ---------------------------------------------------------------------- what there is


async def test_names_with_the_wildcards_of_sql_are_only_names(store: SqliteSessionStore) -> None:
    for project in ("a_b", "a-b", "a%"):
        await store.append({"project_key": project, "session_id": "s"}, [entry("a")])
    await store.append({"project_key": "a_b", "session_id": "s_"}, [entry("a")])
    await store.append(
        {"project_key": "a_b", "session_id": "sx", "subpath": "subagents/agent-1"}, [entry("a")]
    )

    assert store.projects() == ["a%", "a-b", "a_b"]
    assert sorted(each["session_id"] for each in await store.list_sessions("a_b")) == ["s", "s_"]
    assert store.subkeys({"project_key": "a_b", "session_id": "s_"}) == []


async def test_deleting_a_session_takes_its_subagents_along_and_nothing_else(
    store: SqliteSessionStore,
) -> None:
    for key in (KEY, SIDE, {**KEY, "session_id": "s2"}, {**KEY, "session_id": "s-"}):
        await store.append(key, [entry("a")])

    await store.delete(KEY)

    assert await store.load(KEY) is None
    assert await store.load(SIDE) is None
    assert sorted(await mtimes(store)) == ["s-", "s2"]
    assert [each["session_id"] for each in await store.list_session_summaries("p")] == ["s-", "s2"]


async def test_a_session_is_there_when_its_main_transcript_is(store: SqliteSessionStore) -> None:
    await store.append(SIDE, [entry("a")])
    assert not store.has_session("p", "s")

    await store.append(KEY, [entry("a")])
    assert store.has_session("p", "s")
    assert not store.has_session("other", "s")


async def test_the_context_is_that_of_the_main_threads_last_word(store: SqliteSessionStore) -> None:
    transcript = Transcript()
    transcript.says("a", words())["message"]["usage"] = {"input_tokens": 5}
    transcript.says("b", call("t"))["message"]["usage"] = USAGE
    transcript.says("c", words(), isSidechain=True)["message"]["usage"] = {"input_tokens": 7}
    transcript.api_error("d")["message"]["usage"] = {"input_tokens": 0}
    transcript.note()
    await store.append(KEY, transcript.entries)

    assert store.last_context("p", "s") == 321
    assert store.last_context("p", "s", scan=3) == 0
    assert store.last_context("p", "unknown") == 0


async def test_a_database_in_memory_is_one_too() -> None:
    store = SqliteSessionStore(":memory:")
    await store.append(KEY, [entry("a")])

    assert await store.load(KEY) == [entry("a")]
    assert not Path(":memory:").exists()
    store.close()


async def test_a_closed_store_takes_nothing_more(store: SqliteSessionStore) -> None:
    store.close()

    with pytest.raises(RuntimeError, match="closed"):
        await store.append(KEY, [entry("a")])
