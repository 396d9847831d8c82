"""The terminal: what happens scrolls by above, the prompt stays at the bottom with what was typed so far.

The terminal stays in raw mode for as long as the attachment lasts. Each output takes the prompt away, is written,
and has it drawn again: nothing is echoed in between, and half-typed text is kept. Writing blocks the whole client
when the terminal is slow; then nothing more is read from the daemon, which waits. When a lot happens at once, it is
written in batches, so that the prompt is there in between.
"""

import asyncio
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.input.defaults import create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import ConditionalContainer, HSplit, Layout, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output.vt100 import Vt100_Output

from flower_protocol.events import EventRecord
from flower_protocol.workspaces import Question, WorkspaceStatus
from flowerctl.attach.dialogue import Dialogue
from flowerctl.attach.transcript import Transcript
from flowerctl.output import Line, Style, colourful, painted

BATCH_SECONDS: Final = 0.05  # at most twenty batches a second
BATCH_LINES: Final = 300


class TerminalScreen:
    """A `Surface` on a terminal, and the keyboard that belongs to it."""

    def __init__(self, transcript: Transcript, history: History, environment: Mapping[str, str]) -> None:
        self._transcript = transcript
        self._colour = colourful(sys.stdout, environment)
        self._dialogue: Dialogue | None = None
        self._buffer = Buffer(
            history=history, multiline=False, accept_handler=self._accept, on_text_changed=self._typing
        )
        # Not every terminal answers when it is asked where the cursor is, and nothing here needs to know.
        self._output = Vt100_Output.from_pty(sys.stdout, term=environment.get("TERM"))
        self._output.enable_cpr = False
        self._waiting_lines: list[Line] = []
        self._written = asyncio.Event()
        self._last_written = 0.0
        self._writing: asyncio.TimerHandle | None = None
        self._app: Application[None] = Application(
            layout=self._layout(),
            key_bindings=self._keys(),
            input=create_input(sys.stdin),
            output=self._output,
            erase_when_done=True,
            refresh_interval=1.0,
        )

    def show(self, events: Sequence[EventRecord], *, live: bool, own: Collection[int] = ()) -> None:
        self._write(self._transcript.events(events, live=live, own=own))

    async def room(self) -> None:
        while len(self._waiting_lines) > BATCH_LINES:
            self._written.clear()
            await self._written.wait()  # a batch is on its way, or the screen is closed

    def tell(self, text: str, style: Style = Style.PLAIN) -> None:
        self._write(self._transcript.own(text, style))

    def asks(self, question: Question) -> None:
        self._write(self._transcript.question(question))

    def stands(self, status: WorkspaceStatus) -> None:
        self._write(self._transcript.status(status))

    def changed(self, status: WorkspaceStatus | None = None) -> None:
        if status is not None:
            self._transcript.spent(status.cost_usd)
        self._app.invalidate()

    async def converse(self, dialogue: Dialogue) -> None:
        """Reads keys until `close`, or until the terminal is gone, which is leaving."""
        self._dialogue = dialogue
        try:
            await self._app.run_async(handle_sigint=False, set_exception_handler=False)
        except (EOFError, OSError):
            self._hang_up()

    def close(self) -> None:
        """Takes the prompt away; `converse` returns, and the terminal is as it was."""
        self._write_batch()
        if self._drawn():
            self._app.exit()

    def half_typed(self) -> str:
        return self._buffer.text

    def _write(self, lines: list[Line]) -> None:
        if not lines:
            return
        self._waiting_lines.extend(lines)
        loop = asyncio.get_running_loop()
        pause = self._last_written + BATCH_SECONDS - loop.time()
        if pause <= 0 or not self._drawn():
            self._write_batch()
        elif self._writing is None:
            self._writing = loop.call_later(pause, self._write_batch)

    def _write_batch(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None
        lines, self._waiting_lines = self._waiting_lines, []
        text = "".join(painted(line, colour=self._colour) + "\n" for line in lines)
        try:
            if self._drawn():
                self._app.renderer.erase()
            self._output.write_raw(text)
            self._output.flush()
        except OSError:  # the window was closed
            self._hang_up()
        self._last_written = asyncio.get_running_loop().time()
        self._written.set()
        self._app.invalidate()

    def _drawn(self) -> bool:
        return self._app.is_running and not self._app.is_done

    def _hang_up(self) -> None:
        if self._dialogue is not None:
            self._dialogue.hang_up()

    def _typing(self, buffer: Buffer) -> None:
        if self._dialogue is not None:
            self._dialogue.typing(buffer.text)

    def _accept(self, buffer: Buffer) -> bool:
        if self._dialogue is not None:
            self._dialogue.line(buffer.text)
        return False  # the line is taken: begin with an empty one

    def _layout(self) -> Layout:
        # Styled, if only in the default colour, so that its last space is written and not skipped over.
        prompt = BeforeInput(lambda: [("fg:ansidefault", self._dialogue.prompt() if self._dialogue else "")])
        typed = Window(
            BufferControl(self._buffer, input_processors=[prompt]), wrap_lines=True, dont_extend_height=True
        )
        waiting = Window(FormattedTextControl(self._waiting), height=1, dont_extend_height=True)
        return Layout(
            HSplit([ConditionalContainer(waiting, Condition(lambda: bool(self._waiting()))), typed]), typed
        )

    def _waiting(self) -> StyleAndTextTuples:
        reason = self._dialogue.waiting_for() if self._dialogue else ""
        style = "fg:ansiyellow" if self._colour else ""
        return [(style, f"{self._transcript.mark}~ {reason}")] if reason else []

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        @keys.add("<sigint>")
        def _(event: KeyPressEvent) -> None:
            if self._dialogue is not None:
                self._dialogue.ctrl_c()

        @keys.add("c-d", filter=Condition(lambda: not self._buffer.text))
        def _(event: KeyPressEvent) -> None:
            if self._dialogue is not None:
                self._dialogue.leave()

        @keys.add("c-z")
        def _(event: KeyPressEvent) -> None:
            event.app.suspend_to_background()

        return keys
