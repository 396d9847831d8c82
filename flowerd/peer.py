"""Whose process is at the other end of a connection."""

import socket
import struct
import sys
from typing import Final

_LOCAL_PEERCRED: Final = 1  # <sys/un.h> on macOS; the socket module has no name for it
_SOL_LOCAL: Final = 0
_XUCRED: Final = struct.Struct("=IIh2x16I")  # version, uid, number of groups, groups
_UCRED: Final = struct.Struct("=iII")  # pid, uid, gid


def peer_uid(connection: socket.socket) -> int:
    """The user id of the peer of a connected Unix socket, from the kernel. Raises `OSError`."""
    if sys.platform == "darwin":
        return xucred_uid(connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED.size))
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    uid: int = _UCRED.unpack(credentials)[1]
    return uid


def xucred_uid(data: bytes) -> int:
    """The user id in what macOS answers. Raises `OSError` when that is nothing we understand."""
    if len(data) < 8:
        raise OSError("the kernel did not say whose process has connected")
    version, uid = struct.unpack_from("=II", data)
    if version != 0:
        raise OSError(f"peer credentials of an unknown version {version}")
    return int(uid)
