"""Single requests to the daemon, over its Unix socket.

One request, one answer, one connection, written out here: the standard library's client brings mail parsing and TLS
along, and those would be a third of all that ``flowerctl status`` takes. What stays connected is an
`flowerctl.attachment`.
"""

import os
import socket
import struct
import sys
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from flower_protocol.codec import BadFrame, decode, encode
from flower_protocol.control import AnswerTo, At, Done, Failure, SayTo
from flower_protocol.runs import RunStarted, StartRun
from flower_protocol.workspaces import Place, Status, Wake

T = TypeVar("T")

REQUEST_SECONDS: Final = 10.0  # an answer takes milliseconds; who is silent this long is stopped or stuck
START_SECONDS: Final = 60.0  # a start creates folders and reads files, maybe on a slow disk


class NoDaemon(Exception):
    """Nobody listens on the socket: none was started, or a dead one left its socket behind."""


class Unanswered(Exception):
    """Somebody listens, but gave no answer that can be understood; the text says what was seen."""


class NotOurs(Exception):
    """Another user listens there. Nothing was sent; the text is the path."""


class Refused(Exception):
    """The daemon answered, and said no."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.code)
        self.failure = failure


class Client:
    """Single requests to the daemon that listens on ``path``.

    Each raises `NoDaemon`, `NotOurs`, `Unanswered` or `Refused`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def status(self) -> Status:
        return self._request("GET", "/v1/status", Status)

    def wake(self, place: Place, language: str = "zh") -> Wake:
        from urllib.parse import urlencode

        asked = {"workspace": place.workspace, "run_dir": place.run_dir, "language": language}
        query = urlencode(asked, errors="surrogateescape")
        return self._request("GET", f"/v1/wake?{query}", Wake)

    def check(self, run: StartRun) -> None:
        """`Refused` as `start` would be, as far as that shows beforehand. A daemon that can't tell is no obstacle."""
        try:
            self._request("POST", "/v1/check", Done, run)
        except Refused as refused:
            if refused.failure.code != "bad-frame":  # what a daemon of an older version says
                raise

    def start(self, run: StartRun) -> RunStarted:
        return self._request("POST", "/v1/runs", RunStarted, run, START_SECONDS)

    def say(self, words: SayTo) -> Done:
        return self._request("POST", "/v1/say", Done, words)

    def answer(self, words: AnswerTo) -> Done:
        return self._request("POST", "/v1/answer", Done, words)

    def interrupt(self, place: Place) -> Done:
        return self._request("POST", "/v1/interrupt", Done, At(place=place))

    def stop(self, place: Place, *, timeout: float = START_SECONDS) -> Done:
        """The answer comes when the run's last row is written."""
        return self._request("POST", "/v1/stop", Done, At(place=place), timeout)

    def forget(self, place: Place) -> Done:
        return self._request("POST", "/v1/forget", Done, At(place=place))

    def stop_daemon(self) -> Done:
        return self._request("POST", "/v1/daemon/stop", Done)

    def listens(self) -> bool:
        """Whether somebody takes connections on the socket. Raises `NotOurs`."""
        try:
            connected(self.path, 1.0).close()
        except (NoDaemon, Unanswered):
            return False
        return True

    def _request(
        self,
        method: str,
        target: str,
        kind: type[T],
        body: msgspec.Struct | None = None,
        timeout: float = REQUEST_SECONDS,
    ) -> T:
        content = encode(body) if body is not None else b""
        # HTTP/1.0: the answer ends where the connection does.
        head = (
            f"{method} {target} HTTP/1.0\r\nHost: flowerd\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        connection = connected(self.path, timeout)
        try:
            connection.sendall(head.encode("ascii") + content)
            answer = _read_all(connection)
        except TimeoutError as error:
            raise Unanswered(f"nothing within {timeout:g} s") from error
        except OSError as error:
            raise Unanswered(type(error).__name__) from error
        finally:
            connection.close()
        return _understood(answer, kind)


def connected(path: Path, timeout: float) -> socket.socket:
    """A connection to whoever listens there, after a look at who it is. Raises `NoDaemon`, `NotOurs`, `Unanswered`."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout)
    try:
        connection.connect(os.fsencode(path))
        if not _same_user(connection):
            raise NotOurs(str(path))
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
        connection.close()
        raise NoDaemon(str(path)) from error
    except TimeoutError as error:
        connection.close()
        raise Unanswered(f"nothing within {timeout:g} s") from error
    except OSError as error:
        connection.close()
        raise Unanswered(error.strerror or str(error)) from error
    except NotOurs:
        connection.close()
        raise
    return connection


def _read_all(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def _same_user(connection: socket.socket) -> bool:
    # A start carries the person's whole environment, keys included; it goes to a daemon of theirs alone.
    if sys.platform == "linux":
        packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        _, user, _ = struct.unpack("3i", packed)
        return bool(user == os.getuid())
    # LOCAL_PEERCRED of macOS and the BSDs: struct xucred begins with a version and the user's id.
    packed = connection.getsockopt(0, 1, 76)
    return bool(struct.unpack_from("=II", packed)[1] == os.getuid())


def _understood(answer: bytes, kind: type[T]) -> T:
    head, _, content = answer.partition(b"\r\n\r\n")
    status = head.split(b" ", 2)[1:2]
    if not head.startswith(b"HTTP/1.") or not status or not status[0].isdigit():
        raise Unanswered("no HTTP answer")
    try:
        if status[0].startswith(b"2"):
            return decode(content, kind)
        raise Refused(decode(content, Failure))
    except BadFrame as error:
        raise Unanswered(f"HTTP {status[0].decode()}: {error}") from error
