"""Large old results become pointers to files."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from flower.stores.expire import EphemeralPolicy
from flower.stores.trim import TrimmingSessionStore, TrimPolicy, trim, trim_report
from tests.unit.stores.transcripts import Entry, Transcript, blocks, call, result, thinking, words

KEY = {"project_key": "p", "session_id": "s"}
LARGE = "x" * 2000


def work(*outputs: object, command: str = "make") -> Transcript:
    transcript = Transcript()
    for number, output in enumerate(outputs):
        transcript.says(f"a{number}", call(f"t{number}", command))
        transcript.results(f"r{number}", result(f"t{number}", output))
    return transcript


def outputs(entries: list[Entry]) -> list[object]:
    return [block["content"] for block in blocks(entries, "tool_result")]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[list[TrimmingSessionStore]]:
    stores: list[TrimmingSessionStore] = []
    yield stores
    for store in stores:
        store.close()


def load(
    opened: list[TrimmingSessionStore], tmp_path: Path, transcript: Transcript, policy: TrimPolicy
) -> list[Entry]:
    store = TrimmingSessionStore(tmp_path / "sessions.db", tmp_path / "workspace", policy)
    opened.append(store)
    store.append_sync(KEY, transcript.entries)
    return store.load_sync(KEY) or []


def test_a_large_old_result_becomes_a_pointer_to_a_file_that_holds_it(
    tmp_path: Path, opened: list[TrimmingSessionStore]
) -> None:
    entries = load(opened, tmp_path, work(LARGE, "small"), TrimPolicy(keep_recent=1))

    name = hashlib.sha256(LARGE.encode()).hexdigest()[:16]
    file = tmp_path / "workspace" / ".flower" / "spill" / f"{name}.txt"
    assert outputs(entries) == [f"[工具结果已归档:2000 字符。完整内容在 {file},需要时用 Read 读取]", "small"]
    assert file.read_text() == LARGE
    assert file.stat().st_mode & 0o777 == 0o600


def test_recent_and_small_results_stay() -> None:
    transcript = work("x" * 1999, LARGE, LARGE)

    trimmed = trim(transcript.entries, TrimPolicy(keep_recent=2), lambda _: Path("file"))

    assert trimmed.entries == transcript.entries
    assert (trimmed.cleared, trimmed.kept, trimmed.chars_saved) == (0, 2, 0)


def test_images_are_never_touched_and_a_list_of_texts_stays_a_list() -> None:
    image = [words(LARGE), {"type": "image", "source": {}}]
    transcript = work(image, [words(LARGE), words(LARGE)])

    entries = trim(transcript.entries, TrimPolicy(keep_recent=0), lambda _: Path("file")).entries

    pointer = "[工具结果已归档:4000 字符。完整内容在 file,需要时用 Read 读取]"
    assert outputs(entries) == [image, [words(pointer)]]


def test_what_the_model_said_is_never_trimmed() -> None:
    transcript = Transcript()
    transcript.says("a", thinking(LARGE), words(LARGE))
    transcript.prompt("p", LARGE)

    assert (
        trim(transcript.entries, TrimPolicy(keep_recent=0), lambda _: Path("file")).entries
        == transcript.entries
    )


def test_a_result_that_can_not_be_put_anywhere_stays(
    tmp_path: Path, opened: list[TrimmingSessionStore]
) -> None:
    (tmp_path / "workspace").write_text("a file where the folder should be")

    entries = load(opened, tmp_path, work(LARGE), TrimPolicy(keep_recent=0))

    assert outputs(entries) == [LARGE]


def test_what_was_read_from_a_spilled_file_is_not_spilled_again() -> None:
    transcript = work(LARGE, command="cat /w/.flower/spill/0123456789abcdef.txt")

    trimmed = trim(transcript.entries, TrimPolicy(keep_recent=0), lambda _: Path("f"))

    assert (trimmed.entries, trimmed.cleared) == (transcript.entries, 0)


def test_half_a_character_does_no_harm(tmp_path: Path, opened: list[TrimmingSessionStore]) -> None:
    entries = load(opened, tmp_path, work(LARGE + "\ud83d"), TrimPolicy(keep_recent=0))

    assert "2001 字符" in str(outputs(entries)[0])


def test_the_same_text_is_written_once_and_again_if_it_was_cut(
    tmp_path: Path, opened: list[TrimmingSessionStore]
) -> None:
    load(opened, tmp_path, work(LARGE, LARGE), TrimPolicy(keep_recent=0))
    (file,) = (tmp_path / "workspace" / ".flower" / "spill").iterdir()
    file.write_text("half")

    opened[0].load_sync(KEY)

    assert file.read_text() == LARGE


def test_the_store_keeps_what_it_was_given(tmp_path: Path, opened: list[TrimmingSessionStore]) -> None:
    transcript = work(LARGE, "small")

    load(opened, tmp_path, transcript, TrimPolicy(keep_recent=0))

    assert opened[0].entries(KEY) == transcript.entries


def test_the_report_says_what_was_left_out(tmp_path: Path, opened: list[TrimmingSessionStore]) -> None:
    load(opened, tmp_path, work(LARGE, LARGE, "small"), TrimPolicy(keep_recent=1))
    saved = opened[0].last_report["chars_saved"]

    assert opened[0].last_report == {"expired": 0, "cleared": 2, "kept": 1, "chars_saved": saved}
    assert trim_report(opened[0]) == f"裁掉 2 个工具结果(保留最近 1 个),省下 ~{saved // 4} tokens"


def test_the_report_tells_of_stale_looks_too_and_of_nothing_if_there_was_nothing(
    tmp_path: Path, opened: list[TrimmingSessionStore]
) -> None:
    load(opened, tmp_path, work(*["clean"] * 8, command="git status"), TrimPolicy())
    assert trim_report(opened[0]) == "2 个时效性结果标记为过期"

    opened[0].load_sync({"project_key": "p", "session_id": "unknown"})
    assert trim_report(opened[0]) == "未裁剪"


def test_a_subagents_transcript_is_trimmed_but_the_report_is_the_sessions(
    tmp_path: Path, opened: list[TrimmingSessionStore]
) -> None:
    load(opened, tmp_path, work(LARGE), TrimPolicy(keep_recent=0))
    report = opened[0].last_report
    side = {**KEY, "subpath": "subagents/agent-1"}
    opened[0].append_sync(side, work(LARGE, LARGE).entries)

    entries = opened[0].load_sync(side) or []

    assert all("已归档" in str(output) for output in outputs(entries))
    assert opened[0].last_report is report


def test_both_rules_can_be_turned_off(tmp_path: Path, opened: list[TrimmingSessionStore]) -> None:
    transcript = work(LARGE, *["clean"] * 9, command="git status")
    store = TrimmingSessionStore(
        tmp_path / "sessions.db",
        tmp_path,
        TrimPolicy(keep_recent=0, enabled=False),
        EphemeralPolicy(enabled=False),
    )
    opened.append(store)
    store.append_sync(KEY, transcript.entries)

    assert store.load_sync(KEY) == transcript.entries
    assert trim_report(store) == "未裁剪"


def test_the_defaults_are_as_they_were_promised() -> None:
    assert TrimPolicy() == TrimPolicy(
        keep_recent=20, min_chars=2000, spill_dirname=".flower/spill", enabled=True
    )
