"""What the process behind ``flower once`` refuses before any child of its own is started."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flower_protocol.codec import decode_from_daemon, encode
from flower_protocol.control import Failure
from flower_protocol.runs import RunOnce
from flower_protocol.workspaces import Place

ENVIRONMENT = {"ANTHROPIC_API_KEY": "made-up", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    return path


def request(folder: Path, **more: Any) -> RunOnce:
    return RunOnce(place=Place(workspace=str(folder), run_dir=str(folder / "runs")), prompt="hi", **more)


def refusal(folder: Path, said: bytes, **environment: str) -> Failure:
    """What the process answers to its first line; it ends by itself, without a word on standard error."""
    search = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "flowerd.once"],
        env={**os.environ, "PYTHONPATH": search, **environment},
        cwd=folder,
        input=said + b"\n",
        capture_output=True,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    [line] = done.stdout.splitlines()
    failure = decode_from_daemon(line)
    assert isinstance(failure, Failure)
    return failure


def test_a_first_line_that_is_no_request_is_refused(folder: Path) -> None:
    assert refusal(folder, b"{}").code == "bad-frame"


def test_missing_credentials_are_said_in_the_language_of_the_request(folder: Path) -> None:
    failure = refusal(folder, encode(request(folder, language="en")))

    assert failure.code == "no-credentials"
    assert failure.values["text"].startswith("No credentials")
    assert not (folder / "runs").exists()


def test_a_session_that_is_not_there_is_refused(folder: Path) -> None:
    failure = refusal(folder, encode(request(folder, resume="../nobody")), **ENVIRONMENT)

    assert failure.code == "no-such-session"
    assert failure.values["session"] == "../nobody"
    assert not (folder / "runs" / "manifest.json").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root is refused")
def test_root_is_told_that_it_cannot_bypass_permissions(folder: Path) -> None:
    said = encode(request(folder, permission_mode="bypassPermissions"))

    assert refusal(folder, said, **ENVIRONMENT).code == "not-as-root"


def test_a_run_dir_that_cannot_be_made_is_named(folder: Path) -> None:
    (folder / "runs").write_text("a file")

    failure = refusal(folder, encode(request(folder)), **ENVIRONMENT)

    assert failure.code == "not-writable"
    assert failure.values["path"].startswith(str(folder / "runs"))


def test_nothing_in_the_current_folder_is_imported(folder: Path) -> None:
    (folder / "msgspec.py").write_text("raise SystemExit('somebody else wrote this')")

    assert refusal(folder, b"{}").code == "bad-frame"
