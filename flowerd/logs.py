"""Where the daemon's log goes: a file of bounded size that only the user may read, and stderr.

A daemon that a client started has nobody at its stderr (the client points it nowhere); under a service manager and
in the foreground somebody reads it.
"""

import logging
import os
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Final

from flower.core.durable import private_folder

NAME: Final = "flowerd.log"
MAX_BYTES: Final = 4 * 1024 * 1024
OLDER_FILES: Final = 2
_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_CONTROL: Final = {code: f"\\x{code:02x}" for code in (*range(32), 127, *range(128, 160))}


def open_logs(state: Path, *, verbose: bool = False) -> None:
    """Send the log of this process to its places. A file that can't be had is said on stderr, no more."""
    logging.raiseExceptions = False  # a full disk or a closed stderr must not make the log talk about itself
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    problem = None
    try:
        handlers.append(
            PrivateFile(private_folder(state) / NAME, maxBytes=MAX_BYTES, backupCount=OLDER_FILES)
        )
    except OSError as error:
        problem = error
    for handler in handlers:
        handler.setFormatter(Plain(_FORMAT))
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=handlers, force=True)
    for chatty in ("asyncio", "aiohttp"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    if problem is not None:
        logging.getLogger(__name__).warning("no log file: %s", problem)


class Plain(logging.Formatter):
    """No control character of a path or a remark reaches the terminal of whoever reads the log."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record).translate(_CONTROL)

    def formatException(self, ei: Any) -> str:
        text = super().formatException(ei)
        return "\n".join(line.translate(_CONTROL) for line in text.split("\n"))


class PrivateFile(RotatingFileHandler):
    """A rotating file of mode 0600."""

    def _open(self) -> Any:
        def private(path: str, flags: int) -> int:
            return os.open(path, flags, 0o600)

        return open(self.baseFilename, self.mode, encoding="utf-8", errors="backslashreplace", opener=private)
