"""The files of one generation: what is written is read, and what is damaged or gone is not."""

import os
from pathlib import Path

import pytest

from flowerd.segments import Segments


def _lines(first: int, count: int, size: int = 20) -> list[bytes]:
    return [b'{"seq":%d,"x":"%s"}\n' % (seq, b"x" * size) for seq in range(first, first + count)]


def _segments(folder: Path, *, segment_bytes: int = 200, retained_bytes: int = 10_000) -> Segments:
    return Segments(folder, segment_bytes=segment_bytes, retained_bytes=retained_bytes)


def _all(segments: Segments) -> list[bytes]:
    found: list[bytes] = []
    while part := segments.read(len(found), 150):
        found += part
    return found


def test_what_was_written_is_read_over_the_borders_of_files(tmp_path: Path) -> None:
    segments = _segments(tmp_path / "life")
    expected = _lines(1, 50)

    for start in range(0, 50, 5):
        segments.append(start + 1, expected[start : start + 5], sync=start == 20)

    assert _all(segments) == expected
    assert len(list((tmp_path / "life").iterdir())) > 3
    segments.close()


def test_a_later_life_reads_what_an_earlier_one_wrote(tmp_path: Path) -> None:
    segments = _segments(tmp_path / "life")
    segments.append(1, _lines(1, 30), sync=False)
    segments.close()

    loaded = Segments.load(tmp_path / "life")

    assert _all(loaded) == _lines(1, 30)
    assert (loaded.first, loaded.last) == (1, 30)


@pytest.mark.parametrize("torn", [b'{"seq":3,"x"', b"\0" * 4096, b"\0\0\0\n\0\0\n", b"garbage\n"])
def test_what_a_crash_left_at_the_end_is_not_counted(tmp_path: Path, torn: bytes) -> None:
    segments = _segments(tmp_path / "life")
    segments.append(1, _lines(1, 2), sync=False)
    segments.close()
    [path] = (tmp_path / "life").iterdir()
    path.write_bytes(path.read_bytes() + torn)

    loaded = Segments.load(tmp_path / "life")

    assert (_all(loaded), loaded.last) == (_lines(1, 2), 2)


def test_a_foreign_file_in_the_folder_is_left_alone(tmp_path: Path) -> None:
    segments = _segments(tmp_path / "life")
    segments.append(1, _lines(1, 2), sync=False)
    (tmp_path / "life" / "notes.jsonl").write_text("{}\n")

    loaded = Segments.load(tmp_path / "life")

    assert loaded.last == 2
    segments.close()


def test_the_oldest_files_go_when_too_much_is_kept_and_a_reader_there_is_told(tmp_path: Path) -> None:
    segments = _segments(tmp_path / "life", retained_bytes=1000)

    for seq in range(1, 201):
        segments.append(seq, _lines(seq, 1), sync=False)

    assert sum(path.stat().st_size for path in (tmp_path / "life").iterdir()) <= 1000 + 200
    assert segments.read(0, 1000) is None
    assert segments.read(segments.first - 1, 60) == _lines(segments.first, 1)
    assert segments.read(200, 1000) == []
    segments.close()


def test_a_gap_sends_the_reader_away_instead_of_hiding_it(tmp_path: Path) -> None:
    segments = _segments(tmp_path / "life", segment_bytes=100_000)
    segments.append(1, _lines(1, 3), sync=False)

    segments.append(10, _lines(10, 3), sync=False)

    assert segments.read(1, 1000) == _lines(2, 2)
    assert segments.read(3, 1000) is None
    assert segments.read(9, 1000) == _lines(10, 3)
    segments.close()


def test_a_write_that_fails_half_way_leaves_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments = _segments(tmp_path / "life", segment_bytes=100_000)
    segments.append(1, _lines(1, 2), sync=False)
    real = os.pwrite

    def half(descriptor: int, data: bytes, offset: int) -> int:
        if offset > 100:
            raise OSError(28, "No space left on device")
        return real(descriptor, bytes(data)[:30], offset)

    monkeypatch.setattr(os, "pwrite", half)
    with pytest.raises(OSError, match="No space"):
        segments.append(3, _lines(3, 4), sync=False)
    monkeypatch.undo()
    segments.append(3, _lines(3, 1), sync=True)

    assert _all(Segments.load(tmp_path / "life")) == _lines(1, 3)
    segments.close()


def test_the_latest_lines_are_bounded_by_number_and_by_bytes(tmp_path: Path) -> None:
    segments = _segments(tmp_path / "life")
    lines = _lines(1, 40)
    for seq in range(1, 41):
        segments.append(seq, [lines[seq - 1]], sync=False)

    size = len(lines[-1]) + 1

    assert segments.latest(3, 10_000, after=0, before=41) == lines[37:]
    assert segments.latest(100, size * 7, after=0, before=41) == lines[33:]
    assert segments.latest(100, 10_000, after=35, before=39) == lines[35:38]
    assert segments.latest(5, size - 2, after=0, before=41) == []
    assert segments.latest(100, 10_000, after=40, before=41) == []
    segments.close()


def test_the_files_are_the_users_alone(tmp_path: Path) -> None:
    segments = _segments(tmp_path / "life")

    segments.append(1, _lines(1, 1), sync=True)

    [path] = (tmp_path / "life").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    segments.close()
