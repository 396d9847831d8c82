"""The socket: inherited or our own, whose folder it is in, who may connect, and when it may be removed.

- A service manager may hand over a listening socket (LISTEN_FDS); then it is not ours to make or to remove.
- Our own lies in a folder that is the user's alone. One that is somebody else's, that others may write to, or that
  is a link is refused with the reason; so is a path where something else lies.
- One daemon for one user: two locks are held for life, one beside the socket and one in the state folder. A socket
  that refuses connections is removed under the locks; one that answers means that all is well already.
- Every connection's user is asked of the kernel before a byte is read.
- At the end the socket is removed only if the path still leads to the very one that was bound. If it vanishes
  meanwhile (a cleaner, a logout), it is bound again, for the locks say that nobody else does.
"""

import asyncio
import contextlib
import errno
import logging
import os
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from flower.core.durable import private_folder
from flower.core.words import Words
from flower_protocol.paths import LONGEST_SOCKET_PATH, fits, lock_path
from flowerd.locks import Lock, owner_of
from flowerd.peer import peer_uid

logger = logging.getLogger(__name__)

BACKLOG: Final = 128
PATIENCE_SECONDS: Final = 10.0  # a predecessor that is ending takes up to five
POLL_SECONDS: Final = 0.05
LOOK_SECONDS: Final = 2.0
_OUT_OF_RESOURCES: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

Factory = Callable[[], asyncio.BaseProtocol]


class AlreadyServed(Exception):
    """Another daemon serves this socket: nothing is wrong, and nothing left to do."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"flowerd already serves {path}")
        self.words = Words(f"flowerd 已经在跑了:{path}", f"flowerd already serves {path}")


class SocketRefused(Exception):
    """The socket can't be had; ``words`` say why and what to do, in one line."""

    def __init__(self, zh: str, en: str) -> None:
        super().__init__(en)
        self.words = Words(zh, en)


class Listener:
    """The socket and its locks, from `open` to `close`."""

    def __init__(self, path: Path, state_lock: Path, *, allowed_uid: int | None = None) -> None:
        self.path = path
        self.displaced = False
        self._state_lock = state_lock
        self._allowed_uid = os.getuid() if allowed_uid is None else allowed_uid
        self._locks: list[Lock] = []
        self._socket: socket.socket | None = None
        self._bound: os.stat_result | None = None

    def open(self, inherited: socket.socket | None = None) -> None:
        """Take the locks and listen. Blocking, up to `PATIENCE_SECONDS` while a predecessor ends.

        Raises `AlreadyServed` or `SocketRefused`.
        """
        try:
            if inherited is not None:
                self.path = Path(inherited.getsockname())
                self._take_locks(alive=lambda: False)
                self._socket = inherited
            else:
                self._check_path()
                self._take_locks(alive=lambda: answers(self.path))
                self._bind()
        except OSError as error:
            self.close()
            problem = f"{error.filename or self.path}: {error.strerror or error}"
            raise SocketRefused(problem, problem) from error
        except BaseException:
            self.close()
            raise
        assert self._socket is not None, "both branches set it"
        self._socket.setblocking(False)

    async def serve(self, factory: Factory) -> None:
        """Accept the user's own connections, each with a protocol of ``factory``, until cancelled."""
        while True:
            accepting = asyncio.create_task(self._accept(factory), name="accept")
            vanishing = asyncio.create_task(self._vanished(), name="watch the socket")
            try:
                done, _ = await asyncio.wait({accepting, vanishing}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (accepting, vanishing):
                    task.cancel()
                await asyncio.gather(accepting, vanishing, return_exceptions=True)
            for task in done:
                task.result()  # neither ends by itself but by a fault, which is for the owner to hear
            await self._listen_again()

    def stop_listening(self) -> None:
        """Let nobody in any more; remove the socket if it is the one that was bound. The locks are still held."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._bound is not None and self._is_ours():
            with contextlib.suppress(OSError):
                self.path.unlink()
        self._bound = None

    def close(self) -> None:
        """`stop_listening`, and give the locks back: a successor may start."""
        self.stop_listening()
        for lock in self._locks:
            lock.release()
        self._locks = []

    def _check_path(self) -> None:
        if not fits(self.path):
            raise SocketRefused(
                f"{self.path} 太长了:socket 的路径最多 {LONGEST_SOCKET_PATH} 字节。用 FLOWER_SOCKET 换一个。",
                f"{self.path} is longer than the {LONGEST_SOCKET_PATH} bytes that a socket's path may have. "
                "Choose another by FLOWER_SOCKET.",
            )
        private_folder(self.path.parent)
        check_folder(self.path.parent)

    def _take_locks(self, alive: Callable[[], bool]) -> None:
        private_folder(self._state_lock.parent)
        deadline = time.monotonic() + PATIENCE_SECONDS
        for path in (self._state_lock, lock_path(self.path)):
            while (lock := Lock.take(path, f"{os.getpid()} {self.path}")) is None:
                if alive():
                    raise AlreadyServed(self.path)
                if time.monotonic() > deadline:
                    raise self._held(path)
                time.sleep(POLL_SECONDS)
            self._locks.append(lock)

    def _held(self, path: Path) -> Exception:
        pid, _, elsewhere = owner_of(path).partition(" ")
        if elsewhere == str(self.path):
            return AlreadyServed(self.path)
        return SocketRefused(
            f"这个用户已经有一个 flowerd(pid {pid})在 {elsewhere} 上跑。先停掉那个。",
            f"flowerd (pid {pid}) already serves this user at {elsewhere}. Stop that one first.",
        )

    def _bind(self) -> None:
        clear_stale(self.path)
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.bind(str(self.path))
            # Until it listens nobody gets in, so there is no moment at which it is open to others. (A umask
            # would do it too, but for every thread of the process at once.)
            os.chmod(self.path, 0o600)
            made.listen(BACKLOG)
        except BaseException:
            made.close()
            raise
        self._socket, self._bound = made, os.lstat(self.path)

    def _is_ours(self) -> bool:
        with contextlib.suppress(OSError):
            return self._bound is not None and os.path.samestat(os.lstat(self.path), self._bound)
        return False

    async def _accept(self, factory: Factory) -> None:
        loop = asyncio.get_running_loop()
        assert self._socket is not None, "opened before it serves"
        while True:
            try:
                connection, _ = await loop.sock_accept(self._socket)
                if self._welcome(connection):
                    await loop.connect_accepted_socket(factory, connection)
                else:
                    connection.close()
            except OSError as error:
                logger.warning("could not accept a connection: %s", error)
                # Nobody can be served until something is freed; asking again at once would only burn the CPU.
                await asyncio.sleep(0.5 if error.errno in _OUT_OF_RESOURCES else 0)

    def _welcome(self, connection: socket.socket) -> bool:
        try:
            uid = peer_uid(connection)
        except OSError as error:
            logger.warning("refused a connection: %s", error)
            return False
        if uid != self._allowed_uid:
            logger.warning("refused a connection of user %d", uid)
        return uid == self._allowed_uid

    async def _vanished(self) -> None:
        """Returns when the path leads nowhere any more. An inherited socket is its manager's concern."""
        while self._bound is None or os.path.lexists(self.path):  # noqa: ASYNC240 - a look at a local folder
            if self._bound is not None and not self._is_ours() and not self.displaced:
                self.displaced = True
                logger.warning("%s is another's now; ending when nothing runs", self.path)
            await asyncio.sleep(LOOK_SECONDS)

    async def _listen_again(self) -> None:
        logger.warning("%s has vanished; listening there again", self.path)
        try:
            await asyncio.to_thread(self._reopen)
        except (OSError, SocketRefused, AlreadyServed) as error:
            logger.warning("could not listen again: %s", error)
            await asyncio.sleep(LOOK_SECONDS)

    def _reopen(self) -> None:
        self._check_path()
        for lock in [each for each in self._locks if not each.holds()]:
            taken = Lock.take(lock.path, f"{os.getpid()} {self.path}")
            if taken is None:
                raise AlreadyServed(self.path)
            lock.release()
            self._locks[self._locks.index(lock)] = taken
        old = self._socket
        self._bind()
        assert self._socket is not None, "_bind sets it"
        self._socket.setblocking(False)
        if old is not None:
            old.close()


def check_folder(folder: Path) -> None:
    """Raises `SocketRefused` unless ``folder`` is a real folder of the user's that nobody else can write to."""
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode):
        kind = _kind(found.st_mode)
        raise SocketRefused(
            f"{folder} 是{kind.zh},socket 不能放在那里。用 FLOWER_SOCKET 换一个。",
            f"{folder} is {kind.en}; the socket can't be there. Choose another by FLOWER_SOCKET.",
        )
    if found.st_uid != os.getuid():
        raise SocketRefused(
            f"{folder} 是别人的(uid {found.st_uid})。用 FLOWER_SOCKET 换一个。",
            f"{folder} belongs to user {found.st_uid}. Choose another by FLOWER_SOCKET.",
        )
    if found.st_mode & 0o022:
        raise SocketRefused(
            f"{folder} 别人也能写。`chmod 700` 它,或者用 FLOWER_SOCKET 换一个。",
            f"others may write to {folder}. `chmod 700` it, or choose another by FLOWER_SOCKET.",
        )


def clear_stale(path: Path) -> None:
    """Remove a socket that nobody listens on. Raises `AlreadyServed`, or `SocketRefused` for anything else there."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        kind = _kind(found.st_mode)
        raise SocketRefused(
            f"{path} 是{kind.zh},不是 socket。把它挪开,或者用 FLOWER_SOCKET 换一个。",
            f"{path} is {kind.en}, not a socket. Move it away, or choose another by FLOWER_SOCKET.",
        )
    if answers(path):
        raise AlreadyServed(path)
    path.unlink()


def answers(path: Path) -> bool:
    """Whether somebody accepts connections at ``path``."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2)
        try:
            probe.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            return False
        except OSError:
            return True  # its queue is full, or it isn't ours: in no case is it ours to remove
        return True


def _kind(mode: int) -> Words:
    if stat.S_ISLNK(mode):
        return Words("一个链接", "a link")
    if stat.S_ISDIR(mode):
        return Words("一个文件夹", "a folder")
    return Words("一个文件", "a file")
