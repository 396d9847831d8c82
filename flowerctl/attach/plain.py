"""An attachment without a screen: plain lines for pipes and files, or one event a line for scripts."""

import json
import sys
from collections.abc import Collection, Sequence

import msgspec

from flower_protocol.events import EventRecord
from flower_protocol.workspaces import Question, WorkspaceStatus
from flowerctl.attach.transcript import Transcript
from flowerctl.output import Style, write


class PlainSurface:
    """Everything on stdout, line after line: no colours, no cursor movement."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def show(self, events: Sequence[EventRecord], *, live: bool, own: Collection[int] = ()) -> None:
        write(self._transcript.events(events, live=live, own=own), sys.stdout)

    async def room(self) -> None:
        return

    def tell(self, text: str, style: Style = Style.PLAIN) -> None:
        write(self._transcript.own(text, style), sys.stdout)

    def asks(self, question: Question) -> None:
        write(self._transcript.question(question), sys.stdout)

    def stands(self, status: WorkspaceStatus) -> None:
        write(self._transcript.status(status), sys.stdout)

    def changed(self, status: WorkspaceStatus | None = None) -> None:
        if status is not None:
            self._transcript.spent(status.cost_usd)


class JsonSurface:
    """Events alone on stdout, as JSON; what flower says itself goes to stderr."""

    def __init__(self, transcript: Transcript, *, rehearsing: bool) -> None:
        self._transcript = transcript
        self._rehearsing = rehearsing

    def show(self, events: Sequence[EventRecord], *, live: bool, own: Collection[int] = ()) -> None:
        sys.stdout.write("".join(self._line(event) for event in events))
        sys.stdout.flush()

    async def room(self) -> None:
        return

    def tell(self, text: str, style: Style = Style.PLAIN) -> None:
        write(self._transcript.own(text, style), sys.stderr)

    def asks(self, question: Question) -> None:
        return  # the event is enough for a script

    def stands(self, status: WorkspaceStatus) -> None:
        write(self._transcript.status(status), sys.stderr)

    def changed(self, status: WorkspaceStatus | None = None) -> None:
        return

    def _line(self, event: EventRecord) -> str:
        if event.kind == "run_started":
            self._rehearsing = event.payload.get("rehearse", self._rehearsing) is True
        record = msgspec.to_builtins(event)
        if self._rehearsing:
            record["rehearsal"] = True
        # Escaped, so that no control sequence of a tool reaches a terminal this way either.
        return json.dumps(record, ensure_ascii=True) + "\n"
