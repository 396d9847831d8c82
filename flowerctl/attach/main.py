"""``flower``: the command a person types. Parses, runs, and turns whatever goes wrong into one line."""

import os
import sys
from collections.abc import Sequence

from flowerctl.attach.arguments import command_of, parse
from flowerctl.hints import FAILED, OK, Failed, explained
from flowerctl.language import Texts, chosen
from flowerctl.output import close_streams, complain, prepare_streams


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 ended well or left, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C twice."""
    given = sys.argv[1:] if arguments is None else arguments
    texts = Texts(chosen(given, os.environ))
    mark = texts("rehearsal") if "--rehearse" in given else ""
    prepare_streams()
    try:
        return _run(given, texts)
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


def _run(given: Sequence[str], texts: Texts) -> int:
    # Each loads what it needs itself: the first line is waited for.
    command, rest = command_of(given)
    if command == "once":
        from flowerctl.once import arguments as once
        from flowerctl.once.command import Once

        return Once(once.parse(rest, texts), texts, os.environ).run()
    from flowerctl.attach.command import Command

    return Command(parse(rest, texts), texts, os.environ).run()
