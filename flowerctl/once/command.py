"""One ``flower once``, from its command line to its exit code."""

import os
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from flower_protocol.control import Failure, Happened
from flower_protocol.events import EventRecord
from flower_protocol.paths import home
from flowerctl.attach.plain import JsonSurface
from flowerctl.attach.render import ended_well
from flowerctl.attach.transcript import Transcript
from flowerctl.attach.view import number
from flowerctl.hints import FAILED, OK, STOPPED, Failed, refused
from flowerctl.language import Texts
from flowerctl.once.arguments import OnceInvocation
from flowerctl.once.host import Host
from flowerctl.output import Line, colourful, complain, terminal_columns, write
from flowerctl.places import here, of_two_trees, place_of
from flowerctl.sanitize import clean_line

_BUDGET_SPENT = "Reached maximum budget"  # as the CLI says it


class Once:
    """Starts the agent's process, shows what it tells, and says how to go on. Raises `Failed`."""

    def __init__(self, invocation: OnceInvocation, texts: Texts, environment: Mapping[str, str]) -> None:
        self._invocation = invocation
        self._texts = texts
        self._environment = environment
        self._place = place_of(invocation.workspace, invocation.run_dir, texts)
        self._here = here(texts)
        self._spent = 0.0
        self._session = ""
        self._transcript = Transcript(
            texts,
            window_columns=terminal_columns,
            verbose=invocation.verbose,
            rehearsing=invocation.rehearse,
            home=home(environment),
            workspace=self._place.workspace,
            precise=True,
        )
        self._json = JsonSurface(self._transcript, rehearsing=invocation.rehearse)

    def run(self) -> int:
        """The exit code."""
        if not self._invocation.prompt.strip():
            raise Failed(self._texts("blank"))
        self._warn_of_two_trees()
        host = Host(self._environment)
        try:
            with _interrupts(host):
                host.begin(self._invocation.request(self._place, self._texts.language))
                ended = self._follow(host)
                host.close()
        except KeyboardInterrupt:  # the second one: there was no patience for an end in order
            host.terminate()
            self._complain(self._texts("once_stopped"))
            self._say_how_to_go_on()
            return STOPPED
        except BrokenPipeError:  # nobody reads what it says any more
            return FAILED
        finally:
            host.close()
        code = self._died(host) if ended is None else self._end(ended)
        self._say_how_to_go_on()
        return code

    def _follow(self, host: Host) -> EventRecord | None:
        """Show what happens; returns how it ended, None when that was not said. Raises `Failed` for a refusal."""
        ended = None
        for message in host.messages():
            match message:
                case Failure():
                    raise refused(message, self._texts)
                case Happened(events=events):
                    for event in events:
                        self._show(event)
                        ended = event if event.kind == "run_ended" else ended
        return ended

    def _show(self, event: EventRecord) -> None:
        if self._invocation.json:
            self._json.show([event], live=True)
        elif event.kind != "run_ended":  # how it ended is the report's to say
            self._print(self._transcript.events([event], live=True))
        session = str(event.payload.get("session_id") or "")
        if event.kind == "run_ended" or (event.kind == "system" and session):
            # The end knows whether there is a transcript; as long as there is no end, it is likely.
            self._session = session
        if event.kind == "result":
            self._spent += number(event.payload.get("cost_usd"))
            self._transcript.spent(self._spent)

    def _died(self, host: Host) -> int:
        self._complain(self._texts("once_died", reason=clean_line(host.last_words)))
        return FAILED

    def _end(self, ended: EventRecord) -> int:
        if ended_well(ended):
            return OK
        if ended.payload.get("outcome") == "stopped":
            self._complain(self._texts("once_stopped"))
            return STOPPED
        if str(ended.payload.get("error") or "").startswith(_BUDGET_SPENT):
            self._complain(self._texts("once_budget", budget=f"{self._invocation.budget_usd:g}"))
        else:
            self._complain(self._transcript.failure(ended))
        return FAILED

    def _say_how_to_go_on(self) -> None:
        if self._session:
            self._print(
                self._transcript.whole(self._texts("once_go_on", command=self._way_on(self._session)))
            )

    def _way_on(self, session: str) -> str:
        """The command that goes on with the session, as it is typed in this folder."""
        words = ["flower", "once"]
        for flag, chosen, usual in (
            ("-w", self._place.workspace, str(self._here)),
            ("-r", self._place.run_dir, os.path.join(self._here, "runs")),
        ):
            words += [flag, shlex.quote(clean_line(chosen))] if chosen != usual else []
        words += ["--rehearse"] if self._invocation.rehearse else []
        script = self._invocation.script
        words += ["--script", shlex.quote(clean_line(script))] if script is not None else []
        return " ".join([*words, "--resume", session, '"…"'])

    def _warn_of_two_trees(self) -> None:
        if not self._invocation.run_dir_given:
            warning = of_two_trees(self._invocation.workspace, self._place, self._here, self._texts)
            if warning:
                self._complain(warning)

    def _complain(self, text: str) -> None:
        complain(self._transcript.mark + text)

    def _print(self, lines: list[Line]) -> None:
        stream = sys.stderr if self._invocation.json else sys.stdout
        write(lines, stream, colour=colourful(stream, self._environment))


@contextmanager
def _interrupts(host: Host) -> Iterator[None]:
    """Ctrl-C once: end it in order. Twice: don't wait for that."""

    def first(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, second)
        host.stop()

    def second(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what follows is short, and ends by itself
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:  # in the background of a script: a Ctrl-C there is meant for others
        yield
        return
    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, before)
