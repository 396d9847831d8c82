"""What was typed before, for the arrow keys: a file that only the person may read."""

import os
from collections.abc import Iterable, Mapping

from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from flower_protocol.paths import state_dir


class PrivateHistory(FileHistory):
    """A file history that never gets in the way: what can't be read is empty, what can't be written is dropped."""

    def load_history_strings(self) -> Iterable[str]:
        try:
            return super().load_history_strings()
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        if not string.strip():
            return
        try:
            super().store_string(string)
        except OSError:
            return


def history(environment: Mapping[str, str]) -> History:
    """The history in the state folder; one in memory when it can't be kept there."""
    folder = state_dir(environment)
    path = folder / "history"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return PrivateHistory(path)
