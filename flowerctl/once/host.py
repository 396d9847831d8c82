"""The process that has the agent of ``flower once``, seen from the client: what goes in, what comes out, its end."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final

from flower_protocol.codec import decode_from_daemon, encode
from flower_protocol.control import FromDaemon, Stop, Unknown
from flower_protocol.runs import RunOnce

COMMAND: Final = (
    sys.executable,
    "-P",
    "-m",
    "flowerd.once",
)  # -P: nothing is imported from the current folder
CLOSE_SECONDS: Final = 10.0  # it ends within one as a rule; its agent dies with it in any case


class Host:
    """Holds one end of its standard input for as long as it lives: should this process die, the other one knows.

    ``last_words``, once it is closed, is the last line it left on standard error, or else how it ended.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.last_words = ""
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._handed_over = False
        self._stop_wanted = False
        self._process = subprocess.Popen(
            COMMAND,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            start_new_session=True,  # a Ctrl-C in this terminal is passed on as an order; see `stop`
        )

    def begin(self, request: RunOnce) -> None:
        """Hand the request over: on standard input, for anybody may read a command line."""
        assert self._process.stdin is not None, "a pipe, as it was opened"
        with suppress(BrokenPipeError):  # it has died already, and says nothing
            self._process.stdin.write(encode(request) + b"\n")
            self._process.stdin.flush()
        self._handed_over = True
        if self._stop_wanted:
            self.stop()

    def messages(self) -> Iterator[FromDaemon | Unknown]:
        """What it says, until it has said all."""
        assert self._process.stdout is not None, "a pipe, as it was opened"
        for message in self._process.stdout:
            yield decode_from_daemon(message)

    def stop(self) -> None:
        """Ask it to break off in order. From a signal's handler, too."""
        self._stop_wanted = True
        if self._handed_over and self._process.stdin is not None:
            # Past the buffer, which the interrupted code may be about to use.
            with suppress(OSError, ValueError):
                os.write(self._process.stdin.fileno(), encode(Stop()) + b"\n")

    def terminate(self) -> None:
        """End it now; what it was at gets its row all the same."""
        self._process.terminate()

    def close(self) -> None:
        """Let go of it, and wait until it has ended. More than once is fine."""
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                assert pipe is not None, "a pipe, as it was opened"
                pipe.close()
        try:
            self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if not self._complaints.closed:
            self._complaints.seek(0)
            lines = self._complaints.read().decode(errors="replace").strip().splitlines()
            self.last_words = lines[-1] if lines else _how(self._process.returncode)
            self._complaints.close()


def _how(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit {code}"
