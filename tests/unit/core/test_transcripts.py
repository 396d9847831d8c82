"""Salvage and restore: what a killed child wrote comes into the store once, and a resume finds the store's story."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flower.core.lease import Lease
from flower.core.transcripts import ClaudeFolder
from flower.stores.prune import PruningSessionStore

SESSION = "11111111-1111-4111-8111-111111111111"
KEY = {"project_key": "p", "session_id": SESSION}


def user(number: int, parent: int | None = None) -> dict[str, Any]:
    return {
        "type": "user",
        "uuid": f"00000000-0000-4000-8000-{number:012d}",
        "parentUuid": None if parent is None else f"00000000-0000-4000-8000-{parent:012d}",
        "message": {"role": "user", "content": f"words {number}"},
    }


def mode(name: str) -> dict[str, Any]:
    return {"type": "mode", "mode": name, "sessionId": SESSION}


class Place:
    def __init__(self, folder: Path) -> None:
        self.folder = ClaudeFolder(folder / "runs" / "claude", "p", "here")
        self.store = PruningSessionStore(folder / "runs" / "sessions.db", folder)
        self.file = self.folder.path / "projects" / "here" / f"{SESSION}.jsonl"

    def child_wrote(self, entries: list[dict[str, Any]], tail: str = "", subpath: str | None = None) -> Path:
        file = self.file if subpath is None else self.file.with_suffix("") / f"{subpath}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(entry) + "\n" for entry in entries) + tail)
        return file


@pytest.fixture
def place(tmp_path: Path):  # type: ignore[no-untyped-def]
    one = Place(tmp_path)
    yield one
    one.store.close()


def test_what_the_store_lacks_is_taken_in_once_and_in_order(place: Place) -> None:
    place.store.append_sync(KEY, [user(1), mode("a")])
    place.child_wrote([user(1), mode("a"), user(2, 1), mode("a"), user(3, 2)])

    assert place.folder.salvage(place.store, SESSION) == 3

    assert place.store.entries(KEY) == [user(1), mode("a"), user(2, 1), mode("a"), user(3, 2)]


def test_a_file_that_is_wholly_in_the_store_is_removed(place: Place) -> None:
    place.child_wrote([user(1)])

    place.folder.salvage(place.store, SESSION)

    assert not place.file.exists()
    assert place.folder.salvage(place.store, SESSION) == 0


def test_a_half_written_last_line_is_no_entry(place: Place) -> None:
    place.child_wrote([user(1)], tail='{"type": "user", "uu')

    assert place.folder.salvage(place.store, SESSION) == 1
    assert not place.file.exists()


def test_a_file_that_ends_at_any_byte_gives_every_whole_entry_and_is_no_damage(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    last = user(2, 1) | {"message": {"role": "user", "content": "最后一句 👨‍👩‍👧"}}
    whole = json.dumps(last, ensure_ascii=False).encode()
    place = Place(tmp_path_factory.mktemp("place"))
    for end in range(len(whole) + 1):
        place.child_wrote([user(1)])
        with place.file.open("ab") as file:
            file.write(whole[:end])

        taken = place.folder.salvage(place.store, SESSION)

        assert taken == (end == 0) + (end == len(whole)), end
        assert list(place.file.parent.iterdir()) == [], "neither a file nor one that was set aside"
    assert place.store.entries(KEY) == [user(1), last]
    place.store.close()


def test_a_file_with_an_unreadable_line_is_set_aside_after_the_rest_is_taken_in(place: Place) -> None:
    place.child_wrote([user(1)], tail=f"not json\n{json.dumps(user(2, 1))}\n")

    assert place.folder.salvage(place.store, SESSION) == 2

    (aside,) = place.file.parent.glob("*.unreadable-*")
    assert "not json" in aside.read_text()


def test_subagents_transcripts_are_taken_in_under_their_subpath(place: Place) -> None:
    place.child_wrote([user(1)], subpath="subagents/agent-a1")
    place.child_wrote([user(2)])

    assert place.folder.salvage(place.store, SESSION) == 2

    assert place.store.subkeys(KEY) == ["subagents/agent-a1"]
    assert not place.file.with_suffix("").exists()


def test_a_restore_writes_what_is_fed_back_and_a_salvage_after_it_takes_nothing(place: Place) -> None:
    place.store.append_sync(KEY, [user(1), mode("a"), user(2, 1)])
    place.store.append_sync({**KEY, "subpath": "subagents/agent-a1"}, [user(7)])

    place.folder.restore(place.store, SESSION)

    assert [json.loads(line) for line in place.file.read_text().splitlines()] == [
        user(1),
        mode("a"),
        user(2, 1),
    ]
    assert (place.file.with_suffix("") / "subagents" / "agent-a1.jsonl").exists()
    assert place.folder.salvage(place.store, SESSION) == 0


def test_what_pruning_made_up_for_a_resume_never_reaches_the_store(place: Place) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "x"}}
    orphan = {
        "type": "assistant",
        "uuid": "00000000-0000-4000-8000-000000000009",
        "parentUuid": user(1)["uuid"],
        "message": {"role": "assistant", "content": [call]},
    }
    place.store.append_sync(KEY, [user(1), orphan])
    place.folder.restore(place.store, SESSION)
    assert "heal-" in place.file.read_text()

    assert place.folder.salvage(place.store, SESSION) == 0
    assert place.store.entries(KEY) == [user(1), orphan]


def test_a_session_that_another_run_has_is_left_alone(place: Place) -> None:
    place.child_wrote([user(1)])
    lease = Lease.take(place.folder.leases, SESSION)
    assert lease is not None

    assert place.folder.salvage_all(place.store, patience=0.1) == []
    assert place.file.exists()
    lease.release()

    (line,) = place.folder.salvage_all(place.store, patience=0.1)
    assert "1" in line.zh
    assert place.store.entries(KEY) == [user(1)]


def test_a_subpath_cannot_lead_out_of_the_sessions_folder(place: Place) -> None:
    place.store.append_sync({**KEY, "subpath": "../../../../escaped"}, [user(1)])
    place.store.append_sync(KEY, [user(2)])

    with pytest.raises(OSError, match="escaped"):
        place.folder.restore(place.store, SESSION)


entries = st.lists(st.one_of(st.integers(0, 6).map(user), st.sampled_from("abc").map(mode)), max_size=14)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries, st.integers(0, 14))
def test_however_far_the_store_got_it_ends_up_with_what_the_child_wrote(
    tmp_path_factory: pytest.TempPathFactory, written: list[dict[str, Any]], mirrored: int
) -> None:
    place = Place(tmp_path_factory.mktemp("place"))
    place.store.append_sync(KEY, written[:mirrored])
    place.child_wrote(written)

    place.folder.salvage(place.store, SESSION)

    seen: set[str] = set()
    expected = [
        entry
        for entry in written
        if "uuid" not in entry or not (entry["uuid"] in seen or seen.add(entry["uuid"]))
    ]
    assert place.store.entries(KEY) == expected
    place.store.close()


def test_a_bookmark_that_a_resume_moves_is_not_taken_in_again(place: Place) -> None:
    error = {**user(2, 1), "type": "assistant", "isApiErrorMessage": True}
    place.store.append_sync(KEY, [user(1), error, {"type": "last-prompt", "leafUuid": error["uuid"]}])

    for _ in range(3):
        place.folder.restore(place.store, SESSION)
        assert place.folder.salvage(place.store, SESSION) == 0
