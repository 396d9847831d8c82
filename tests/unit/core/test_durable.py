"""Files that are replaced whole: by several at once, in a write that fails, after one that was killed."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from flower.core.durable import write_atomically

KILLED = """
import os, signal, sys
from pathlib import Path
from flower.core.durable import write_atomically

os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
write_atomically(Path(sys.argv[1]), b"half")
"""

WRITES = """
import sys
from pathlib import Path
from flower.core.durable import write_atomically

write_atomically(Path(sys.argv[1]), b"whole")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "folder"
    path.mkdir()
    return path


def python(code: str, path: Path) -> int:
    search = os.pathsep.join(each for each in sys.path if each)
    return subprocess.run(
        [sys.executable, "-c", code, str(path)], env={**os.environ, "PYTHONPATH": search}, timeout=30
    ).returncode


def test_threads_that_write_one_file_each_write_it_whole(folder: Path) -> None:
    path, trouble = folder / "file", []
    contents = [bytes([number]) * 50_000 for number in range(8)]

    def write(content: bytes) -> None:
        try:
            for _ in range(20):
                write_atomically(path, content)
                assert path.read_bytes() in contents
        except BaseException as error:
            trouble.append(error)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert trouble == [] and os.listdir(folder) == ["file"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(folder: Path) -> None:
    (folder / "file" / "in the way").mkdir(parents=True)

    with pytest.raises(OSError):
        write_atomically(folder / "file", b"new")

    assert os.listdir(folder) == ["file"]


def test_what_a_killed_writer_left_goes_when_it_is_old_and_nothing_else_does(folder: Path) -> None:
    path, others = folder / "file", folder / "notes.4711.tmp"
    others.touch()
    assert python(KILLED, path) < 0 and python(KILLED, path) < 0
    old, young = sorted(each for each in folder.iterdir() if each != others)
    for each in (old, others):
        os.utime(each, (time.time() - 7200, time.time() - 7200))

    assert python(WRITES, path) == 0

    assert path.read_bytes() == b"whole" and set(folder.iterdir()) == {path, young, others}
