"""``flower``: the command a person types. Parses, runs, and turns whatever goes wrong into one line."""

# Next to nothing is imported up here: a Ctrl-C while the rest is being loaded has to be met in `main`.
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowerctl.language import Texts

_STOPPED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 ended well or left, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C twice, or before it began."""
    try:
        run = _loaded(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        return _STOPPED
    return run()


def _loaded(given: Sequence[str]) -> Callable[[], int]:
    """Loads what this command line needs; nothing is done yet."""
    from flowerctl.attach.arguments import command_of
    from flowerctl.language import Texts, chosen

    command, rest = command_of(given)
    texts = Texts(chosen(given, os.environ))
    mark = texts("rehearsal") if "--rehearse" in given else ""
    if command == "once":
        from flowerctl.once import arguments as once
        from flowerctl.once.command import Once

        return lambda: _guarded(lambda: Once(once.parse(rest, texts), texts, os.environ).run(), texts, mark)
    from flowerctl.attach.arguments import parse
    from flowerctl.attach.command import Command

    return lambda: _guarded(lambda: Command(parse(rest, texts), texts, os.environ).run(), texts, mark)


def _guarded(run: Callable[[], int], texts: "Texts", mark: str) -> int:
    from flowerctl.hints import FAILED, OK, Failed, explained
    from flowerctl.output import close_streams, complain, prepare_streams

    prepare_streams()
    try:
        return run()
    except Failed as failed:
        if str(failed):
            complain(mark + str(failed))
        return failed.code
    except BrokenPipeError:  # whoever read what we print has gone; the run goes on
        return OK
    except KeyboardInterrupt:
        complain(mark + texts("cancelled"))
        return FAILED
    except Exception as error:  # the edge of the process: a bug is one line too
        explanation = explained(error, texts, os.environ)
        complain(mark + str(explanation))
        return explanation.code
    finally:
        close_streams()
