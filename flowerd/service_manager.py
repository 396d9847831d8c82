"""What a service manager hands over and wants to hear: sockets by LISTEN_FDS, progress by NOTIFY_SOCKET."""

import os
import socket
from collections.abc import Mapping
from typing import Final

from flowerd.listener import SocketRefused

_FIRST_INHERITED: Final = 3  # SD_LISTEN_FDS_START


class Notifier:
    """Tells the service manager how it goes; says nothing when there is none. Never raises."""

    def __init__(self, address: str | None) -> None:
        self._address = "\0" + address[1:] if address and address.startswith("@") else address

    def ready(self, status: str) -> None:
        self._send(f"READY=1\nSTATUS={status}")

    def status(self, status: str) -> None:
        self._send(f"STATUS={status}")

    def stopping(self) -> None:
        self._send("STOPPING=1\nSTATUS=ending the runs")

    def _send(self, state: str) -> None:
        if not self._address:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.setblocking(False)
            try:
                line.sendto(state.encode(), self._address)
            except OSError:
                return  # it does not listen: nothing that this process could do about it


def inherited_socket(environment: Mapping[str, str]) -> socket.socket | None:
    """The listening socket that a service manager handed to this very process, if it did.

    Raises `SocketRefused` for one that is no listening Unix socket.
    """
    if environment.get("LISTEN_PID") != str(os.getpid()) or environment.get("LISTEN_FDS", "0") == "0":
        return None
    try:
        given = socket.socket(fileno=_FIRST_INHERITED)
        listening = given.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise _refused(error.strerror or str(error)) from error
    if given.family != socket.AF_UNIX or given.type != socket.SOCK_STREAM or not listening:
        given.detach()
        raise _refused("not a listening Unix stream socket")
    given.set_inheritable(False)
    return given


def _refused(detail: str) -> SocketRefused:
    return SocketRefused(
        f"服务管理器交来的 socket 用不了(LISTEN_FDS):{detail}",
        f"the socket that the service manager handed over (LISTEN_FDS) can't be used: {detail}",
    )
