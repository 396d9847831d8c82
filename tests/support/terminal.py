"""A command under a real pseudo-terminal, in a session of its own: type, read, look at the screen."""

import codecs
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import psutil

from tests.support.screen import Screen

# Makes its stdin the controlling terminal, then becomes the command. A child of its own instead of Popen's
# preexec_fn, which is unsafe in a process that has threads.
_LAUNCH = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """One command, its terminal and its screen. Always `close` it, or use it as a context manager.

    A thread reads all the time, so the command never waits for the test; it also answers the cursor
    position requests that a real terminal would answer.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        columns: int = 100,
        rows: int = 30,
    ) -> None:
        self.screen = Screen(columns, rows)
        self._raw = ""
        self._read_position = 0
        self._changed = threading.Condition()
        self._ended = False
        self._master, slave = pty.openpty()
        self._wake_read, self._wake_write = os.pipe()
        _set_size(self._master, columns, rows)
        environment = {**(os.environ if env is None else env), "TERM": "xterm-256color"}
        environment.pop("COLUMNS", None)
        environment.pop("LINES", None)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, *(str(part) for part in command)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            cwd=cwd,
            start_new_session=True,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, name=f"terminal-{self.process.pid}", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def raw(self) -> str:
        """Every character that came out so far, control sequences included."""
        with self._changed:
            return self._raw

    def text(self) -> str:
        """The screen with what scrolled off it, as plain text."""
        with self._changed:
            return self.screen.text()

    def send(self, text: str) -> None:
        """Types `text` as it is: `"\\r"` is Enter, `"\\x03"` Ctrl-C, `"\\x04"` Ctrl-D."""
        os.write(self._master, text.encode())

    def line(self, text: str = "") -> None:
        """Types `text` and Enter."""
        self.send(text + "\r")

    def read_until(self, pattern: str, timeout: float = 10.0) -> str:
        """Waits until `pattern` (a regular expression) comes out after what the last call matched.

        Gives back what came out until then, control sequences taken away; AssertionError with the
        screen after `timeout` seconds, or when the command ends first.
        """
        wanted = re.compile(pattern)
        found: list[str] = []

        def seen() -> bool:
            rest = _plain(self._raw[self._read_position :])
            match = wanted.search(rest)
            if match is None:
                return False
            found.append(rest[: match.end()])
            self._read_position = _raw_length(self._raw, self._read_position, match.end())
            return True

        self._wait(seen, timeout, f"{pattern!r} in the output")
        return found[0]

    def wait_for_screen(self, condition: Callable[[str], bool], timeout: float = 10.0) -> str:
        """Waits until `condition(text of the screen)` holds, and gives that text back."""
        self._wait(lambda: condition(self.screen.text()), timeout, "the awaited screen")
        return self.text()

    def resize(self, columns: int, rows: int) -> None:
        """Changes the window's size; the command gets SIGWINCH."""
        with self._changed:
            self.screen.resize(columns, rows)
        _set_size(self._master, columns, rows)

    def wait(self, timeout: float = 10.0) -> int:
        """The command's exit code (negative: the signal it died of), once all its output is in."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {timeout:g} s; screen:\n{self.text()}") from None
        # A daemon that the command left behind may hold the terminal open; then there is no end to wait for.
        self._reader.join(0.5)
        return code

    def hang_up(self) -> None:
        """Closes the window, as a person does: the command gets SIGHUP, and nobody reads any more."""
        self._stop_reading()
        self._close_master()

    def close(self) -> None:
        """Ends the command if it still runs, with what it started in its session, and puts all away."""
        if self.process.poll() is None:
            _end_session(self.process.pid)
        self.process.wait(10)
        self._stop_reading()
        self._close_master()
        for end in (self._wake_read, self._wake_write):
            with contextlib.suppress(OSError):
                os.close(end)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, condition: Callable[[], bool], timeout: float, what: str) -> None:
        with self._changed:
            held = False

            def settled() -> bool:
                nonlocal held
                held = condition()
                return held or self._ended

            self._changed.wait_for(settled, timeout)
            if not held:
                why = "the command ended" if self._ended else f"not within {timeout:g} s"
                raise AssertionError(f"{why}: {what}; screen:\n{self.screen.text()}")

    def _read(self) -> None:
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        while True:
            ready, _, _ = select.select([self._master, self._wake_read], [], [])
            if self._wake_read in ready:
                break
            try:
                data = os.read(self._master, 65536)
            except OSError:  # EIO: the last process on this terminal has gone (Linux)
                data = b""
            if not data:
                break
            self._take(decode(data))
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _take(self, text: str) -> None:
        with self._changed:
            self._raw += text
            self.screen.feed(text)
            reply, self.screen.reply = self.screen.reply, ""
            self._changed.notify_all()
        if reply:
            os.write(self._master, reply.encode())

    def _stop_reading(self) -> None:
        if self._reader.is_alive():
            os.write(self._wake_write, b"x")
            self._reader.join(10)

    def _close_master(self) -> None:
        if self._master >= 0:
            os.close(self._master)
            self._master = -1


_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()*+].|\x1b[0-Z\\^-~]|\r"
)


def _plain(raw: str) -> str:
    return _SEQUENCE.sub("", raw)


def _raw_length(raw: str, start: int, plain_length: int) -> int:
    # Where in `raw` the first `plain_length` visible characters after `start` end.
    position, left = start, plain_length
    while left:
        match = _SEQUENCE.match(raw, position)
        if match is not None:
            position = match.end()
            continue
        position += 1
        left -= 1
    return position


def _set_size(fd: int, columns: int, rows: int) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _end_session(pid: int) -> None:
    # Only what descends from the command: a daemon that left this session is its own test's to end.
    try:
        leader = psutil.Process(pid)
        members = [leader, *leader.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for member in members:
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            if os.getsid(member.pid) == pid:
                member.send_signal(signal.SIGKILL)
