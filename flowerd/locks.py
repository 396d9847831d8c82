"""The locks that a daemon holds for as long as it lives. The kernel lets go of them, however it ends."""

import contextlib
import fcntl
import os
from pathlib import Path


class Lock:
    """A held lock on a file, which is never removed: who would remove it could not know that nobody waits for it.

    The file tells who holds it (pid and socket), for people; whether it is held only the kernel tells.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path, owner: str) -> "Lock | None":
        """The lock, or None while another process has it. Raises `OSError`."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, owner.encode("utf-8", "surrogateescape") + b"\n", 0)
        return cls(path, descriptor)

    def holds(self) -> bool:
        """Whether ``path`` still is the file that is locked; it isn't when the folder was removed meanwhile."""
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(self._descriptor), os.stat(self.path))
        return False

    def release(self) -> None:
        os.close(self._descriptor)


def owner_of(path: Path) -> str:
    """What the holder of the lock at ``path`` wrote there; empty when nobody did."""
    try:
        return path.read_text(errors="surrogateescape").strip()
    except OSError:
        return ""
