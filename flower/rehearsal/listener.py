"""The listening port of a rehearsal: accepts, names its threads, and can drop everything at once."""

import contextlib
import logging
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any

log = logging.getLogger(__name__)

_HOST = "127.0.0.1"


class Listener(ThreadingHTTPServer):
    """One life of a port, from `start` to `stop`. Bound at once; connections are refused until `start`."""

    daemon_threads = True
    block_on_close = False  # `stop` waits itself, with a limit
    allow_reuse_address = True  # the same port again, though old connections are in TIME_WAIT
    request_queue_size = 128  # a run's subagents ask all at once

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__((_HOST, port), handler, bind_and_activate=False)
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._connections: dict[socket.socket, threading.Thread] = {}
        try:
            self.server_bind()
        except OSError:
            self.server_close()
            raise
        self.port = int(self.server_address[1])
        self._accepting = threading.Thread(
            target=self._accept, name=f"rehearsal-{self.port}-accept", daemon=True
        )

    def start(self) -> None:
        """Begins to accept. OSError when another process listens on the port meanwhile."""
        try:
            self.server_activate()
        except OSError:
            self.server_close()
            raise
        self._accepting.start()

    def stop(self) -> None:
        """Refuses connections and drops those that live. Doesn't wait for their threads: see `join`."""
        self.stopping.set()
        if self._accepting.is_alive():
            # `accept` has no other way to be woken that works on Linux and macOS alike.
            with contextlib.suppress(OSError):
                socket.create_connection((_HOST, self.port), timeout=1).close()
            self._accepting.join(1)
        self.server_close()
        with self._lock:
            for connection in self._connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def join(self, timeout: float) -> None:
        """Waits until the threads of all connections have ended, at most `timeout` seconds."""
        deadline = time.monotonic() + timeout
        with self._lock:
            threads = list(self._connections.values())
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def server_bind(self) -> None:
        # Not HTTPServer's own: it looks the host name up, which takes seconds without a name server.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = _HOST, int(self.server_address[1])

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return not self.stopping.is_set()

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(
            target=self.process_request_thread,
            args=(request, client_address),
            name=f"rehearsal-{self.port}-client-{client_address[1]}",
            daemon=True,
        )
        with self._lock:
            self._connections[request] = thread
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that left in the middle of an answer is daily bread; the rest is a bug of ours.
        if not isinstance(sys.exception(), OSError):
            log.exception("a request to the rehearsal failed")

    def _accept(self) -> None:
        # Not `serve_forever`, which wakes up all the time to look whether it is to stop.
        while not self.stopping.is_set():
            self.handle_request()
