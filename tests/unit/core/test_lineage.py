"""Lineage: on disk at once, merged with others, absent when it doesn't match."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from flower.core.lineage import Lineage

FIRST, SECOND = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def lineage(tmp_path: Path) -> Lineage:
    return Lineage.open(tmp_path / "runs", tmp_path)


def written(lineage: Lineage) -> dict[str, object]:
    return json.loads(lineage.path.read_text())  # type: ignore[no-any-return]


def test_the_file_has_the_promised_shape(lineage: Lineage, tmp_path: Path) -> None:
    lineage.bump()
    lineage.remember("干活", FIRST)

    assert written(lineage) == {"workspace": str(tmp_path), "woke": 1, "steps": {"干活": FIRST}}
    assert "干活" in lineage.path.read_text()


def test_a_session_is_on_disk_when_remember_returns(lineage: Lineage, tmp_path: Path) -> None:
    lineage.remember("干活", FIRST)

    assert Lineage.open(tmp_path / "runs", tmp_path).steps == {"干活": FIRST}


@pytest.mark.parametrize(("step", "session"), [("", FIRST), ("干活", "")])
def test_nothing_is_remembered_without_a_step_or_a_session(lineage: Lineage, step: str, session: str) -> None:
    lineage.remember(step, session)

    assert not lineage.path.exists()


def test_waking_counts_up_across_processes(lineage: Lineage, tmp_path: Path) -> None:
    assert lineage.bump() == 1
    assert Lineage.open(tmp_path / "runs", tmp_path).bump() == 2


def test_opening_writes_nothing(tmp_path: Path) -> None:
    Lineage.open(tmp_path / "runs", tmp_path)

    assert list(tmp_path.iterdir()) == [tmp_path / "home"]


def test_a_moved_folder_counts_as_absent_and_says_so(lineage: Lineage, tmp_path: Path) -> None:
    lineage.remember("干活", FIRST)
    elsewhere = tmp_path / "copy"
    elsewhere.mkdir()

    moved = Lineage.open(tmp_path / "runs", elsewhere)

    assert (moved.steps, moved.woke) == ({}, 0)
    assert moved.notice is not None and str(tmp_path) in moved.notice.zh


def test_the_lineage_of_a_moved_folder_is_set_aside_not_overwritten(lineage: Lineage, tmp_path: Path) -> None:
    lineage.remember("干活", FIRST)
    elsewhere = tmp_path / "copy"
    elsewhere.mkdir()

    Lineage.open(tmp_path / "runs", elsewhere).remember("干活", SECOND)

    (aside,) = (tmp_path / "runs").glob("lineage.json.unreadable-*")
    assert FIRST in aside.read_text()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"workspace": 3}', b"\xff\xfe", b'{"steps": {}}'])
def test_a_damaged_file_counts_as_absent_and_is_set_aside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "runs" / "lineage.json"
    path.parent.mkdir()
    path.write_bytes(content)

    lineage = Lineage.open(tmp_path / "runs", tmp_path)
    assert lineage.steps == {} and lineage.notice is not None
    lineage.remember("干活", FIRST)

    (aside,) = path.parent.glob("lineage.json.unreadable-*")
    assert aside.read_bytes() == content
    assert Lineage.open(tmp_path / "runs", tmp_path).steps == {"干活": FIRST}


def test_another_processs_steps_are_kept(lineage: Lineage, tmp_path: Path) -> None:
    other = Lineage.open(tmp_path / "runs", tmp_path)
    other.remember("确认需求", SECOND)
    lineage.remember("干活", FIRST)

    assert Lineage.open(tmp_path / "runs", tmp_path).steps == {"确认需求": SECOND, "干活": FIRST}


def test_woke_never_goes_back(lineage: Lineage, tmp_path: Path) -> None:
    other = Lineage.open(tmp_path / "runs", tmp_path)
    assert [other.bump(), other.bump(), lineage.bump()] == [1, 2, 3]


def test_fields_of_a_newer_flower_are_kept(lineage: Lineage) -> None:
    lineage.bump()
    lineage.path.write_text(json.dumps(written(lineage) | {"later": {"a": 1}}))

    lineage.remember("干活", FIRST)

    assert written(lineage)["later"] == {"a": 1}


def test_a_session_without_transcript_does_not_displace_a_living_one(
    lineage: Lineage, tmp_path: Path
) -> None:
    lineage.remember("干活", FIRST)
    lineage.propose("干活", SECOND)

    reopened = Lineage.open(tmp_path / "runs", tmp_path)

    assert reopened.steps == {"干活": FIRST}
    assert reopened.alive({FIRST}.__contains__) == {"干活": FIRST}


def test_a_proposed_session_that_lives_goes_first(lineage: Lineage, tmp_path: Path) -> None:
    lineage.remember("干活", FIRST)
    lineage.propose("干活", SECOND)

    reopened = Lineage.open(tmp_path / "runs", tmp_path)

    assert reopened.alive({FIRST, SECOND}.__contains__) == {"干活": SECOND}


def test_a_proposal_stands_at_once_where_nothing_lived(lineage: Lineage) -> None:
    lineage.propose("干活", FIRST)

    assert written(lineage)["steps"] == {"干活": FIRST}


def test_remembering_settles_what_was_proposed(lineage: Lineage) -> None:
    lineage.remember("干活", FIRST)
    lineage.propose("干活", SECOND)
    lineage.remember("干活", SECOND)

    assert written(lineage)["steps"] == {"干活": SECOND}
    assert "pending" not in written(lineage)


def test_a_session_that_left_the_store_counts_as_absent(lineage: Lineage) -> None:
    lineage.remember("干活", FIRST)

    assert lineage.alive(lambda _: False) == {}


def test_archiving_moves_the_faces_together_and_starts_from_zero(lineage: Lineage, tmp_path: Path) -> None:
    lineage.bump()
    lineage.remember("干活", FIRST)
    brief = tmp_path / "需求.md"
    brief.write_text("要一个 X")

    folder = lineage.archive(tmp_path / "archive", extra=[brief, tmp_path / "not there"])

    assert sorted(path.name for path in folder.iterdir()) == ["lineage.json", "需求.md"]
    assert (lineage.steps, lineage.woke) == ({}, 0)
    assert not brief.exists() and not lineage.path.exists()
    assert lineage.bump() == 1


def test_two_archives_in_one_second_do_not_meet(lineage: Lineage, tmp_path: Path) -> None:
    folders = []
    for _ in range(3):
        lineage.remember("干活", FIRST)
        folders.append(lineage.archive(tmp_path / "archive"))

    assert len(set(folders)) == 3
    assert all((folder / "lineage.json").exists() for folder in folders)


def test_a_folder_that_cannot_be_written_leaves_a_notice_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be")
    lineage = Lineage.open(tmp_path / "runs", tmp_path)

    assert lineage.bump() == 1

    assert lineage.notice is not None and "runs" in lineage.notice.zh


def test_the_file_is_the_users_alone(lineage: Lineage) -> None:
    lineage.bump()

    assert stat.S_IMODE(lineage.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(lineage.path.parent.stat().st_mode) == 0o700


def test_nothing_half_written_is_left_behind(lineage: Lineage) -> None:
    for _ in range(5):
        lineage.bump()

    assert not list(lineage.path.parent.glob("*.tmp"))


WRITER = """
import sys
from pathlib import Path
from flower.core.lineage import Lineage
run_dir, workspace, name = sys.argv[1:]
lineage = Lineage.open(run_dir, workspace)
woken = []
for number in range(200):
    lineage.remember(f"{name}-{number}", f"{name}-session-{number}")
    if number % 4 == 0:
        woken.append(lineage.bump())
assert woken == sorted(set(woken)), woken
assert lineage.notice is None, lineage.notice
"""


def test_two_processes_that_write_at_once_lose_nothing_of_each_other(
    lineage: Lineage, tmp_path: Path
) -> None:
    lineage.propose("before", FIRST)
    lineage.propose("before", SECOND)
    lineage.path.write_text(json.dumps(written(lineage) | {"later": {"a": 1}}))
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "runs"), str(tmp_path), name],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for name in ("one", "two")
    ]

    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]

    steps = {
        f"{name}-{number}": f"{name}-session-{number}" for name in ("one", "two") for number in range(200)
    }
    assert written(lineage) == {
        "workspace": str(tmp_path),
        "woke": 100,
        "steps": {"before": FIRST, **steps},
        "pending": {"before": SECOND},
        "later": {"a": 1},
    }
    assert not list(lineage.path.parent.glob("*.tmp"))


def test_what_was_asked_about_is_known_until_it_is_settled(tmp_path: Path) -> None:
    lineage = Lineage.open(tmp_path, tmp_path)
    lineage.note("make a tool")
    Lineage.open(tmp_path, tmp_path).note("in Python")

    lineage.ask_about("make a tool")
    lineage.ask_about("make a tool")

    again = Lineage.open(tmp_path, tmp_path)
    assert (again.words, again.request) == (["in Python"], ["make a tool"])
    again.settle()
    assert "request" not in written(lineage)


def test_a_file_nested_beyond_reason_is_one_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "lineage.json").write_bytes(b"[" * 200_000)
    lineage = Lineage.open(tmp_path, tmp_path)
    assert lineage.steps == {} and lineage.notice is not None


def test_what_a_session_left_to_its_successor_stands_until_the_successor_lives(tmp_path: Path) -> None:
    lineage = Lineage.open(tmp_path, tmp_path)
    lineage.remember("work", "old")
    lineage.hand_over("work", "old", tmp_path / "document.md")
    lineage.propose("work", "new")

    again = Lineage.open(tmp_path, tmp_path)
    assert again.alive(lambda session: session == "old") == {"work": "old"}
    assert again.document_of("work", "old") == tmp_path / "document.md"
    assert again.document_of("work", "new") is None and again.document_of("other", "old") is None

    again.remember("work", "new")
    assert Lineage.open(tmp_path, tmp_path).document_of("work", "old") is None


def test_a_session_that_hands_over_is_the_living_one_whatever_was_proposed_before(tmp_path: Path) -> None:
    lineage = Lineage.open(tmp_path, tmp_path)
    lineage.remember("work", "first")
    lineage.propose("work", "second")
    lineage.hand_over("work", "second", tmp_path / "document.md")
    assert Lineage.open(tmp_path, tmp_path).alive(lambda session: True) == {"work": "second"}


def test_what_was_left_to_a_successor_survives_another_process_that_writes(tmp_path: Path) -> None:
    mine, theirs = Lineage.open(tmp_path, tmp_path), Lineage.open(tmp_path, tmp_path)
    mine.hand_over("work", "old", tmp_path / "document.md")
    theirs.remember("other", "session")
    assert Lineage.open(tmp_path, tmp_path).document_of("work", "old") == tmp_path / "document.md"
