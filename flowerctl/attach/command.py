"""One ``flower``, from its command line to its exit code: is the folder new, used, or running?"""

import os
import sys
import uuid
from collections.abc import Mapping
from functools import cached_property
from typing import TextIO

import msgspec

from flower_protocol.control import SayTo
from flower_protocol.paths import home, socket_path
from flower_protocol.runs import RunOptions, RunStarted, StartRun
from flower_protocol.workspaces import State, Wake
from flowerctl.attach.arguments import Invocation
from flowerctl.attach.banner import banner
from flowerctl.attach.opening import Opening
from flowerctl.attach.outcome import End, Outcome
from flowerctl.attach.stdin import StandardInput
from flowerctl.attach.transcript import Transcript
from flowerctl.attach.who import who
from flowerctl.autostart import ensure
from flowerctl.client import Client
from flowerctl.hints import FAILED, OK, USAGE, Failed
from flowerctl.language import Texts
from flowerctl.output import Line, Style, colourful, complain, terminal_columns, write
from flowerctl.places import here, of_two_trees, place_of, way_back
from flowerctl.sanitize import clean_line


class Command:
    """Decides, starts, attaches. Raises `Failed` and the client's failures."""

    def __init__(self, invocation: Invocation, texts: Texts, environment: Mapping[str, str]) -> None:
        self._invocation = invocation
        self._options = invocation.options
        self._texts = texts
        self._environment = environment
        self._rehearsing = self._options.rehearse
        self._place = place_of(invocation.workspace, invocation.run_dir, texts)
        self._client = Client(socket_path(environment))
        self._input = StandardInput(closed=sys.stdin is None)
        self._typing = sys.stdin is not None and sys.stdin.isatty()
        self._transcript = Transcript(
            texts,
            window_columns=terminal_columns,
            manifest=os.path.join(self._place.run_dir, "manifest.json"),
            verbose=invocation.verbose,
            rehearsing=invocation.options.rehearse,
            home=home(environment),
            workspace=self._place.workspace,
            me=who(environment),
        )
        self._opening = Opening(
            texts,
            environment,
            self._input,
            typing=self._typing,
            transcript=self._transcript,
            tell=self._tell,
        )

    def run(self) -> int:
        """The exit code."""
        words = self._invocation.ask
        if words is not None and not words.strip():
            raise Failed(self._texts("blank"))
        self._warn_of_two_trees()
        wake = self._wake()
        if wake.status.state.active:
            self._refuse_useless_flags(wake)
            outcome = self._join(wake, words or "")
        else:
            outcome = self._begin(wake, words)
        while outcome is not None and outcome.end is End.START_OVER:
            outcome = self._start_over(outcome)
        return OK if outcome is None else self._report(outcome)

    # -- what the folder needs; None when nobody stays to watch

    def _join(self, wake: Wake, words: str) -> Outcome | None:
        """Attach to what runs; the words are a remark."""
        self._rehearse(wake.status.rehearse)
        if self._invocation.detach:
            if words:
                self._client.say(SayTo(place=self._place, text=words, id=uuid.uuid4().hex))
            said = "detached_joined" if words else "detached_running"
            self._print(self._transcript.whole(self._texts(said, command=way_back(self._place))))
            return None
        self._introduce(wake)
        return self._attend(words=words)

    def _begin(self, wake: Wake, words: str | None) -> Outcome | None:
        """Start or wake; without words, ask for them first."""
        self._rehearse(self._options.rehearse)
        if not self._options.new:
            self._introduce(wake)
            self._catch_up(wake)
        if words is None:
            # Before the person has thought of something to say.
            self._client.check(self._request(None))
            wanted = self._opening.wanted(fresh=self._options.new or not wake.used)
            words = wanted.words
            if wanted.new:
                self._options = msgspec.structs.replace(self._options, new=True)
        started = self._start(words)
        if not started.joined:
            self._warn_of_silence()
        if self._invocation.detach:
            said = "detached_joined" if started.joined else "detached"
            self._print(self._transcript.whole(self._texts(said, command=way_back(self._place))))
            return None
        return self._attend(generation=started.generation, cursor=started.seq)

    def _start_over(self, outcome: Outcome) -> Outcome | None:
        """``/new`` in mid-run: what runs is stopped once the new request is there, not before."""
        words = outcome.words or self._opening.new_request()
        if self._wake().status.state.active:
            self._client.stop(self._place)
        self._options = msgspec.structs.replace(self._options, new=True)
        return self._begin(self._wake(), words)

    # -- the steps

    def _wake(self) -> Wake:
        ensure(self._environment, starting=self._say_it_starts)
        return self._client.wake(self._place, self._texts.language)

    def _say_it_starts(self) -> None:
        if sys.stderr.isatty():
            self._complain(self._texts("starting_daemon"))

    def _rehearse(self, rehearsing: bool) -> None:
        """Whoever started the run knows what it is, not who looks at it."""
        self._rehearsing = rehearsing
        self._transcript.rehearse(rehearsing)

    def _refuse_useless_flags(self, wake: Wake) -> None:
        # It can't become one any more.
        rehearsal = ("--rehearse",) if self._options.rehearse and not wake.status.rehearse else ()
        script = ("--script",) if self._options.script is not None else ()
        given = (*self._invocation.given, *rehearsal, *script)
        if given:
            flags = " ".join(given)
            workspace = clean_line(self._place.workspace)
            raise Failed(self._texts("flags_useless", workspace=workspace, flags=flags), USAGE)

    def _warn_of_two_trees(self) -> None:
        if not self._invocation.run_dir_given:
            warning = of_two_trees(self._invocation.workspace, self._place, here(self._texts), self._texts)
            if warning:
                self._complain(warning)

    def _introduce(self, wake: Wake) -> None:
        lines = self._transcript.notices(wake.notices)
        if not self._invocation.detach:
            own_home = home(self._environment)
            lines += self._transcript.marked(banner(wake, self._texts, own_home, self._transcript.width))
        if wake.status.state is State.LOGIN:
            refused = self._texts("login_refused", reason=clean_line(wake.status.error or "?"))
            lines += self._transcript.own(f"! {refused}", Style.WARN)
        self._print(lines)

    def _catch_up(self, wake: Wake) -> None:
        if wake.last_seq <= wake.seen or self._invocation.json or self._invocation.detach:
            return
        from flowerctl.attach.missed import missed

        found = missed(self._place, wake, self._client.path)
        lines = self._transcript.events(found.events, live=False)
        if lines:
            name, shown = "missed_cut" if found.omitted else "missed", len(found.events)
            self._tell(self._texts(name, count=shown + found.omitted, shown=shown), Style.DIM)
            self._print(lines)

    def _start(self, words: str | None) -> RunStarted:
        run = self._request(words)
        ensure(self._environment, starting=self._say_it_starts)  # a person may have thought for an hour
        try:
            return self._client.start(run)
        except KeyboardInterrupt as interrupt:
            raise Failed(self._texts("maybe_started"), FAILED) from interrupt

    def _request(self, words: str | None) -> StartRun:
        return StartRun(
            place=self._place,
            ask=words,
            options=self._options_of_start(),
            environment=self._run_environment,
            language=self._texts.language,
        )

    def _options_of_start(self) -> RunOptions:
        options = self._options
        if options.script is not None and os.path.exists(
            options.script
        ):  # else the name of one that comes along
            options = msgspec.structs.replace(options, script=os.path.abspath(options.script))
        if not self._typing and "--timeout" not in self._invocation.given:
            options = msgspec.structs.replace(options, timeout_s=0.0)  # nobody here can answer
        return options

    def _warn_of_silence(self) -> None:
        """A question of this run would wait, and nobody who watches from here could answer it."""
        asks = self._options.asks != 0 and self._options_of_start().timeout_s != 0.0
        if asks and not self._typing and not self._invocation.detach:
            self._complain(self._texts("nobody_answers"))

    @cached_property
    def _run_environment(self) -> dict[str, str]:
        kept = {name: value for name, value in self._environment.items() if _encodable(name + value)}
        for name in self._environment.keys() - kept.keys():
            self._complain(self._texts("variable_dropped", name=clean_line(name)))
        # A shell may have left a stale one behind, and a program that starts us need not set it at all.
        return {**kept, "PWD": str(here(self._texts))}

    def _attend(
        self, *, words: str = "", generation: str | None = None, cursor: int | None = None
    ) -> Outcome:
        from flowerctl.attach.session import Attending, attend

        dumb = self._environment.get("TERM", "dumb") == "dumb"
        return attend(
            Attending(
                place=self._place,
                socket=self._client.path,
                texts=self._texts,
                environment=self._environment,
                transcript=self._transcript,
                standard_input=self._input,
                screen=self._typing and sys.stdout.isatty() and not dumb,
                typing=self._typing,
                expecting=self._opening.expecting,
                json=self._invocation.json,
                rehearsing=self._rehearsing,
                generation=generation,
                cursor=cursor,
                words=words,
            )
        )

    def _report(self, outcome: Outcome) -> int:
        from flowerctl.attach.ending import Ending

        return Ending(
            place=self._place,
            client=self._client,
            texts=self._texts,
            transcript=self._transcript,
            environment=self._environment,
            json=self._invocation.json,
        ).report(outcome)

    def _complain(self, text: str) -> None:
        complain(self._transcript.mark + text)

    def _tell(self, text: str, style: Style = Style.PLAIN) -> None:
        self._print(self._transcript.own(text, style))

    def _print(self, lines: list[Line]) -> None:
        stream: TextIO = sys.stderr if self._invocation.json else sys.stdout
        write(lines, stream, colour=colourful(stream, self._environment))


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
