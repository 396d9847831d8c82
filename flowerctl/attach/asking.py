"""The one question before a run: what is to be done, or whether to go on. On a terminal, with a line editor."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from flowerctl.attach.stdin import StandardInput
from flowerctl.hints import FAILED, Failed
from flowerctl.language import Texts
from flowerctl.output import Line, Style, colourful, write
from flowerctl.width import line_width, wrap

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
from flowerctl.output import terminal_columns


def ask(question: str, texts: Texts, environment: Mapping[str, str], *, mark: str = "") -> str:
    """What the person typed, without the spaces around it. Raises `Failed` when they would rather not.

    Without a terminal on stdout the question goes to stderr, so that what is piped stays clean.
    """
    shown = sys.stdout if sys.stdout.isatty() else sys.stderr
    width = line_width(terminal_columns())
    lines = [Line(part, Style.BOLD) for part in wrap(mark + question, width)]
    write(lines, shown, colour=colourful(shown, environment))
    if shown is sys.stdout and environment.get("TERM", "dumb") != "dumb":
        import asyncio  # loaded after the question is on the screen, while the person reads it

        typed = asyncio.run(_edited(f"{mark}> ", environment))
    else:
        shown.write(f"{mark}> ")
        shown.flush()
        typed = StandardInput().line(None)  # a person is asked; there is no hurry
    if typed is None:
        raise Failed(texts("cancelled"))
    return typed.strip()


async def _edited(prompt: str, environment: Mapping[str, str]) -> str | None:
    import asyncio
    import signal

    from prompt_toolkit import PromptSession
    from prompt_toolkit.output.vt100 import Vt100_Output

    from flowerctl.attach.history import history

    output = Vt100_Output.from_pty(sys.stdout, term=environment.get("TERM"))
    output.enable_cpr = False
    session: PromptSession[str] = PromptSession(
        history=history(environment), output=output, reserve_space_for_menu=0, enable_suspend=True
    )
    loop = asyncio.get_running_loop()
    ends = (signal.SIGTERM, signal.SIGHUP)
    for each in ends:
        loop.add_signal_handler(each, _leave, session)
    try:
        return await session.prompt_async([("fg:ansidefault", prompt)])  # styled: see `TerminalScreen`
    except (EOFError, KeyboardInterrupt):
        return None
    finally:
        for each in ends:
            loop.remove_signal_handler(each)


def _leave(session: "PromptSession[str]") -> None:
    # Nothing has begun yet, and nobody may be there to be told.
    if session.app.is_running and not session.app.is_done:
        session.app.exit(exception=Failed("", FAILED))
