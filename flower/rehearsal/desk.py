"""Takes the HTTP requests of a rehearsal: checks the key, reads the body, sends what was decided."""

import hmac
import select
import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import msgspec

from flower.rehearsal.conversation import read_request
from flower.rehearsal.faults import ApiError, api_error, fault_headers
from flower.rehearsal.listener import Listener
from flower.rehearsal.play import Play, new_token
from flower.rehearsal.sse import stream
from flower.rehearsal.stage import Reply

# Far above what a conversation reaches (the API itself refuses at 32 MiB), far below what hurts.
_LARGEST_BODY = 256 * 1024 * 1024
# How soon a slow answer notices that its client has left or that the endpoint stops.
_LOOK_SECONDS = 0.2


def desk_of(play: Play) -> type["Desk"]:
    """The handler class for one endpoint: `http.server` makes an object of it for each connection."""
    return type("Desk", (Desk,), {"play": play})


class Desk(BaseHTTPRequestHandler):
    """One connection. Requests come one after the other, for as long as the client keeps it open."""

    play: Play
    server: Listener

    protocol_version = "HTTP/1.1"
    server_version = "flower-rehearsal"
    sys_version = ""
    disable_nagle_algorithm = True
    timeout = 600.0  # seconds that a client may be silent, or not read; the CLI's own limit for an answer

    def do_POST(self) -> None:
        raw = self._body()
        if raw is None or not self._allowed():
            return
        match self._path():
            case "/v1/messages":
                self._messages(raw)
            case "/v1/messages/count_tokens":
                self._send_json(200, {"input_tokens": max(1, len(raw) // 4)})
            case _:
                self._send_error(api_error(404))

    def do_GET(self) -> None:
        if not self._allowed():
            return
        match self._path():
            case "/":
                self._send_json(200, {"rehearsal": True})
            case "/v1/models":
                self._send_json(200, {"data": [], "has_more": False, "first_id": None, "last_id": None})
            case _:
                self._send_error(api_error(404))

    def do_HEAD(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing: the record of requests is the log, and a key must not reach any other."""

    def _messages(self, raw: bytes) -> None:
        try:
            body = msgspec.json.decode(raw, type=dict[str, Any])
            conversation = read_request(body, agent=self.headers.get("x-claude-code-agent-id", ""))
        except ValueError as error:
            self._send_error(api_error(400, str(error)))
            return
        reply, fault = self.play.decide(conversation, len(raw))
        if fault is None:
            self._play(reply, conversation.stream)
        elif fault.status is not None:
            self._send_error(api_error(fault.status, fault.message), fault_headers(fault))
        elif fault.drop is not None:
            self._drop(reply, conversation.stream, middle=fault.drop == "middle")
        else:
            self.play.go_offline_for(fault.offline_seconds or 0.0)

    def _play(self, reply: Reply, streamed: bool) -> None:
        if reply.hold:
            self.play.holds.wait(reply.hold, self._alive)
        if not self._alive():
            self._cut()
        elif streamed:
            self._send_stream(reply)
        elif self._pause(reply.takes):
            self._send_json(200, reply.message)

    def _send_stream(self, reply: Reply) -> None:
        self._open_stream()
        for data in self._paced(reply):
            self._send_chunk(data)
        if not self.close_connection:
            self._send_chunk(b"")

    def _paced(self, reply: Reply) -> Iterator[bytes]:
        events = stream(reply.message)
        if not reply.takes:
            yield from events
            return
        waiting = list(events)
        for data in waiting:
            if not self._pause(reply.takes / len(waiting)):
                return
            yield data

    def _drop(self, reply: Reply, streamed: bool, *, middle: bool) -> None:
        if middle and streamed:
            events = list(stream(reply.message))
            self._open_stream()
            for data in events[: len(events) // 2]:
                self._send_chunk(data)
        elif middle:
            body = msgspec.json.encode(reply.message)
            self._open(200, "application/json", {"Content-Length": str(len(body))})
            self.wfile.write(body[: len(body) // 2])
        self._cut()

    def _allowed(self) -> bool:
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        given = self.headers.get("x-api-key", "") or bearer
        if hmac.compare_digest(given.encode(), self.play.key.encode()):
            return True
        self._send_error(api_error(401))
        return False

    def _body(self) -> bytes | None:
        """The whole body; None when it can't be taken, and then the answer is already sent."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            self.close_connection = True
            self._send_error(api_error(411))
            return None
        if int(length) > _LARGEST_BODY:
            self.close_connection = True
            self._send_error(api_error(413))
            return None
        return self.rfile.read(int(length))

    def _path(self) -> str:
        return self.path.partition("?")[0].rstrip("/") or "/"

    def _send_error(self, error: ApiError, headers: dict[str, str] | None = None) -> None:
        body = error.body(new_token())
        self._send_json(error.status, body, {**error.headers(), **(headers or {})})

    def _send_json(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        data = msgspec.json.encode(body)
        self._open(status, "application/json", {"Content-Length": str(len(data)), **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(data)

    def _open_stream(self) -> None:
        self._open(200, "text/event-stream; charset=utf-8", {"Transfer-Encoding": "chunked"})

    def _open(self, status: int, content_type: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("request-id", new_token())
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _pause(self, seconds: float) -> bool:
        """Waits; False when there is nobody left to answer, and then the connection is cut."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.server.stopping.wait(min(left, _LOOK_SECONDS))
            if not self._alive():
                self._cut()
                return False
        return True

    def _alive(self) -> bool:
        return not self.server.stopping.is_set() and not _has_left(self.connection)

    def _cut(self) -> None:
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # the other side was faster


def _has_left(connection: socket.socket) -> bool:
    poll = select.poll()  # not `select`, which can't take descriptors above 1023
    poll.register(connection, select.POLLIN | select.POLLHUP | select.POLLERR)
    if not poll.poll(0):
        return False
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True
