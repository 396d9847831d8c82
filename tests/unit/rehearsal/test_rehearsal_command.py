"""`python -m flower.rehearsal`: one line says where, and it ends when whoever started it lets go."""

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import IO, Any

import pytest

from tests.support.processes import Spawned

ROOT = Path(__file__).resolve().parents[3]


def start(spawned: Spawned, *arguments: str) -> subprocess.Popen[Any]:
    return spawned.start(
        [sys.executable, "-m", "flower.rehearsal", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def pipe(stream: IO[Any] | None) -> IO[Any]:
    assert stream is not None, "it was asked for"
    return stream


def test_it_says_where_it_plays_and_ends_with_its_stdin(spawned: Spawned) -> None:
    process = start(spawned, "default", "--key", "mine")
    place = json.loads(pipe(process.stdout).readline())

    asking = urllib.request.Request(place["url"], headers={"x-api-key": place["key"]})
    with urllib.request.urlopen(asking, timeout=10) as response:
        assert json.load(response) == {"rehearsal": True}

    pipe(process.stdin).close()
    assert place["key"] == "mine"
    assert process.wait(10) == 0


def test_it_ends_at_sigterm(spawned: Spawned) -> None:
    process = start(spawned, "default")
    pipe(process.stdout).readline()

    process.send_signal(signal.SIGTERM)

    assert process.wait(10) == 0


def test_a_wrong_script_is_one_line_and_exit_code_one(spawned: Spawned, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text("scenes = 3")
    process = start(spawned, str(path))

    _, complaint = process.communicate(timeout=20)

    assert process.returncode == 1
    assert complaint.startswith(f"剧本 {path} 的 scenes 不对: ")
    assert complaint.count("\n") == 1


def test_it_speaks_english_when_asked_to(spawned: Spawned, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWER_LANG", "en")
    process = start(spawned, "nothing-of-that-name")

    _, complaint = process.communicate(timeout=20)

    assert complaint.startswith("the script ")
    assert complaint.endswith(".toml: No such file or directory\n")


def test_a_taken_port_is_one_line_and_exit_code_one(spawned: Spawned) -> None:
    first = start(spawned, "default")
    port = json.loads(pipe(first.stdout).readline())["url"].rpartition(":")[2]
    second = start(spawned, "default", "--port", port)

    _, complaint = second.communicate(timeout=20)

    assert second.returncode == 1
    assert complaint.count("\n") == 1
