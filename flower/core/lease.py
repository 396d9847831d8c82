"""Who may continue a session: one run at a time, and never while an old child of it still dies.

Two locks a session, files under ``<run_dir>/claude/leases/``. The kernel lets go of both when their holder ends,
however it ends. ``<id>.owner`` is held by the process whose run has the session, and names it. ``<id>.child`` is
held by the launcher of the session's CLI until the last process below it is gone, which after a SIGKILL of the
owner is some seconds later.
"""

import contextlib
import os
import time
from pathlib import Path

from flower.core.durable import private_folder

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

# After a SIGKILL of an owner its child has three seconds to end in order, and three to be killed.
DYING_CHILD_SECONDS = 12.0
# A process that is killed gives its memory back before its locks: that takes milliseconds, on a busy machine some
# more. Nobody minds half a second before a session that a living run has is left to it.
DYING_OWNER_SECONDS = 0.5
# Where the kernel shows that it is taking the owner apart, it is waited for: with much memory that can take longer.
DEAD_OWNER_SECONDS = 10.0


class Lease:
    """The right to continue one session. Make it by `take`; give it back by `release`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, folder: Path, session_id: str, *, patience: float = 0.0) -> "Lease | None":
        """The lease, or None while another run (of this process or another) has it. Raises `OSError`.

        ``patience`` is how long to wait, in seconds, for an owner that may be just dying; with any at all, one that is
        seen to die is waited for up to `DEAD_OWNER_SECONDS`. Blocking.
        """
        descriptor = _open(folder, f"{session_id}.owner")
        began = time.monotonic()
        while not _try_lock(descriptor):
            waited = time.monotonic() - began
            dying = patience > 0 and waited < DEAD_OWNER_SECONDS and _is_dying(_pid_in(descriptor))
            if waited >= patience and not dying:
                os.close(descriptor)
                return None
            time.sleep(0.01)
        with contextlib.suppress(OSError):  # a full disk: nobody sees then that this one dies
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        return cls(descriptor)

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_taken(folder: Path, session_id: str) -> bool:
    """Whether some run has the session's lease at this moment. Nothing is made by asking. Raises `OSError`."""
    try:
        descriptor = os.open(folder / f"{session_id}.owner", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor)
    finally:
        os.close(descriptor)


def child_lock(folder: Path, session_id: str) -> Path:
    """The file that the launcher of the session's CLI locks."""
    return private_folder(folder) / f"{session_id}.child"


def wait_for_child(folder: Path, session_id: str, timeout: float) -> bool:
    """Wait until no process of an earlier child of the session lives; False when one still does after ``timeout``.

    Blocking; seconds.
    """
    path = child_lock(folder, session_id)
    deadline = time.monotonic() + timeout
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        free = _try_lock(descriptor)
        os.close(descriptor)
        if free or time.monotonic() >= deadline:
            return free
        time.sleep(0.05)


def child_of(path: Path) -> int | None:
    """The pid of the launcher that holds this child lock; None when none does. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # A pid in a file proves nothing: its process may be gone and the number another's. The lock does.
        if _try_lock(descriptor):
            return None
        return _pid_in(descriptor)
    finally:
        os.close(descriptor)


def _pid_in(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0)
    return int(text) if text.isdigit() else None


def _is_dying(pid: int | None) -> bool:
    """Whether the process has no memory any more, which it loses before its locks. False where that can't be seen."""
    if pid is None:
        return False
    try:
        return not Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return Path("/proc/self/cmdline").exists()
    except OSError:
        return False


def _open(folder: Path, name: str) -> int:
    return os.open(private_folder(folder) / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _try_lock(descriptor: int) -> bool:
    if fcntl is None:
        return True
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
