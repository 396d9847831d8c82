"""What every verb of ``flowerctl`` is given."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from flower_protocol.codec import encode
from flower_protocol.workspaces import Place, Status
from flowerctl.client import Client, NoDaemon
from flowerctl.language import Texts
from flowerctl.operate.offline import status_from_files
from flowerctl.operate.which import meant
from flowerctl.output import Line, colourful, write
from flowerctl.sanitize import clean


@dataclass(frozen=True, slots=True)
class Context:
    """One call of a verb. ``json``: one object on stdout instead of words."""

    client: Client
    texts: Texts
    environment: Mapping[str, str]
    here: Path
    json: bool = False

    def status(self) -> Status:
        """From the daemon, else from the files. Raises the client's failures but `NoDaemon`."""
        try:
            return self.client.status()
        except NoDaemon:
            return status_from_files(self.environment)

    def place(self, name: str | None) -> Place:
        """The workspace that ``name`` means. Raises `Failed`."""
        return meant(name, self.status().workspaces, self.here, self.texts)

    def say(self, text: str, record: msgspec.Struct | None = None) -> None:
        """A line of words, or the record as JSON."""
        if self.json and record is not None:
            self.object(record)
        else:
            self.lines(Line(part) for part in clean(text).split("\n"))

    def object(self, record: msgspec.Struct) -> None:
        sys.stdout.write(encode(record).decode() + "\n")
        sys.stdout.flush()

    def lines(self, lines: Iterable[Line]) -> None:
        write(lines, sys.stdout, colour=colourful(sys.stdout, self.environment))
