"""Files that survive: replaced whole or not at all, merged under a lock, never lost because they can't be read."""

import contextlib
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: one process a folder is then up to the person
    fcntl = None  # type: ignore[assignment]

# A write is over in less; what is older was left by a process that was killed in it.
LEFT_SECONDS = 3600
_TEMPORARY = re.compile(r".+\.[0-9]+-[0-9a-f]{12}\.tmp")

_held = threading.local()
_swept: set[Path] = set()


def write_atomically(path: Path, content: bytes) -> None:
    """Replace ``path`` by ``content``: after a crash at any point there is the old file or the new one.

    The file is private to the user (0600). What killed writers left in its folder an hour ago or longer goes with
    this process's first write there. Raises `OSError`.
    """
    _sweep(path.parent)
    # Another thread or machine, or a signal's handler in the middle of this write, may write the same file.
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(6)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock that goes with ``path`` (a file of its own beside it, for ``path`` itself is replaced).

    Waits for as long as another process or thread holds it, which is one read and one write of a small file.
    Who holds it already goes straight on. Raises `OSError` when the lock file can't be made.
    """
    mine: set[str] = _held.__dict__.setdefault("paths", set())
    name = os.path.abspath(path)
    if name in mine:
        # A signal's handler, in the middle of this thread's own write: it would wait for itself.
        yield
        return
    descriptor = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        mine.add(name)
        yield
    finally:
        mine.discard(name)
        os.close(descriptor)


def set_aside(path: Path) -> Path:
    """Rename a file that can't be used to ``<name>.unreadable-<YYYYmmdd-HHMMSS>``, and return the new path.

    Raises `OSError`.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    aside = path.with_name(f"{path.name}.unreadable-{stamp}")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.unreadable-{stamp}-{number}")
    path.rename(aside)
    return aside


def private_folder(path: Path) -> Path:
    """Make ``path`` and what is missing above it; a folder that is made here is the user's alone (0700)."""
    missing = []
    folder = path
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):
            each.mkdir(mode=0o700)
    return path


def stamped_folder(into: Path) -> Path:
    """Make ``<into>/<YYYYmmdd-HHMMSS>``, or one with a number behind it where that is taken; returns it.

    Raises `OSError`.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    folder, number = into / stamp, 1
    while folder.exists():
        number += 1
        folder = into / f"{stamp}-{number}"
    return private_folder(folder)


def _sweep(folder: Path) -> None:
    if folder in _swept:
        return
    _swept.add(folder)
    oldest = time.time() - LEFT_SECONDS
    # Another process may be sweeping as well.
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if _TEMPORARY.fullmatch(entry.name) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                os.unlink(entry)


def _sync_folder(folder: Path) -> None:
    # Some file systems refuse fsync on a folder; the rename itself is still atomic there.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
