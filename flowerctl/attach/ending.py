"""The last words of ``flower``, and its exit code."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from flower_protocol.workspaces import Place
from flowerctl.attach.outcome import End, Outcome
from flowerctl.attach.render import ended_well
from flowerctl.attach.transcript import Transcript
from flowerctl.client import Client, Refused
from flowerctl.hints import FAILED, FAILURES, OK, STOPPED, explained
from flowerctl.language import Texts
from flowerctl.output import complain, write
from flowerctl.places import way_back
from flowerctl.sanitize import clean

STOP_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Ending:
    """Says how it ended, on stdout what is good news, on stderr what is not."""

    place: Place
    client: Client
    texts: Texts
    transcript: Transcript
    environment: Mapping[str, str]
    json: bool

    def report(self, outcome: Outcome) -> int:
        """Prints the last lines and returns the exit code."""
        if outcome.end is End.HUNG_UP:
            return OK
        for words in outcome.unsent:
            self._complain(clean(self.texts("not_sent", text=words)))
        match outcome.end:
            case End.ENDED:
                return self._ended(outcome)
            case End.LEFT:
                self._tell(self.texts("left", command=way_back(self.place)))
                return OK
            case End.STOPPED:
                self._tell(self.texts("stopped"))
                return STOPPED
            case End.UNSURE:
                self._tell(self.texts("stopped" if self._stop() else "stop_unsure"))
                return STOPPED
            case End.REFUSED | End.UNREACHABLE if outcome.error is not None:
                return self._failed(outcome.end, outcome.error)
            case End.DAEMON_LEFT | End.UNREACHABLE:
                self._complain(self.texts("daemon_left"))
            case _:
                self._complain(self.texts("run_interrupted"))
        return FAILED

    def _ended(self, outcome: Outcome) -> int:
        if outcome.event is not None:
            if ended_well(outcome.event):
                return OK
            if outcome.event.payload.get("outcome") == "interrupted":
                self._complain(self.texts("daemon_left"))
                return FAILED
            self._complain(self.transcript.failure(outcome.event))
            return FAILED
        if outcome.reason:
            self._complain(outcome.reason)
            return FAILED
        return OK

    def _failed(self, end: End, error: Exception) -> int:
        failed = explained(error, self.texts, self.environment)
        if end is End.UNREACHABLE:
            self._complain(self.texts("not_reconnected", reason=str(failed).rstrip("。.")))
            return FAILED
        self._complain(str(failed))
        return failed.code

    def _stop(self) -> bool:
        # The connection that should have carried it was down: one try by another one.
        try:
            self.client.stop(self.place, timeout=STOP_SECONDS)
        except Refused as refused:
            return refused.failure.code == "not-running"
        except FAILURES:
            return False
        return True

    def _complain(self, text: str) -> None:
        complain(self.transcript.mark + text)

    def _tell(self, text: str) -> None:
        write(self.transcript.whole(text), sys.stderr if self.json else sys.stdout)
