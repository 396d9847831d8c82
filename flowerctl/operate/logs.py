"""``flowerctl logs [-f]``: the daemon's log."""

import os
import sys
import time
from collections import deque
from pathlib import Path
from typing import IO, Final

from flowerctl.autostart import log_path
from flowerctl.hints import OK, Failed
from flowerctl.operate.context import Context
from flowerctl.sanitize import clean

LINES: Final = 200
_POLL_SECONDS: Final = 0.25


def logs(context: Context, *, follow: bool) -> int:
    path = log_path(context.environment)
    try:
        file = _opened(path)
    except OSError as error:
        raise Failed(context.texts("no_log", path=path)) from error
    with file:
        _print(deque(file, LINES))
        if follow:
            _follow(
                path, os.fstat(file.fileno()).st_ino, file.tell()
            )  # what is written meanwhile is not missed
    return OK


def _follow(path: Path, inode: int, position: int) -> None:
    try:
        while True:  # until Ctrl-C: it is what the person asked for
            time.sleep(_POLL_SECONDS)
            try:
                found = path.stat()
                if found.st_ino != inode or found.st_size < position:  # a new file took its place
                    inode, position = found.st_ino, 0
                with _opened(path) as file:
                    file.seek(position)
                    _print(deque(file))
                    position = file.tell()
            except FileNotFoundError:  # between two files
                continue
    except KeyboardInterrupt:
        return


def _opened(path: Path) -> IO[bytes]:
    return path.open("rb")


def _print(lines: deque[bytes]) -> None:
    for line in lines:
        sys.stdout.write(clean(line.decode(errors="replace").rstrip("\n")) + "\n")
    sys.stdout.flush()
