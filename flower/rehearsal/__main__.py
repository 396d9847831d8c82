"""`python -m flower.rehearsal SCRIPT [--port N] [--key K]`: a rehearsal of its own, for use from a shell.

Prints one line of JSON, `{"url": …, "key": …}`, and plays until stdin closes or SIGTERM comes.
"""

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence

from flower.core.words import language_of
from flower.rehearsal.endpoint import Rehearsal
from flower.rehearsal.flaws import ScriptError
from flower.rehearsal.script import load_script


def main(arguments: Sequence[str] | None = None) -> int:
    """Plays one script; the exit code: 0 after the end, 1 when it can't start."""
    options = _parser().parse_args(arguments)
    language = language_of(os.environ)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    try:
        rehearsal = Rehearsal(load_script(options.script, language), port=options.port, key=options.key)
    except ScriptError as error:
        print(error.words.spoken(language), file=sys.stderr)
        return 1
    except OSError as error:
        print(f"127.0.0.1:{options.port}: {error.strerror}", file=sys.stderr)
        return 1
    with rehearsal:
        print(json.dumps({"url": rehearsal.url, "key": rehearsal.key}), flush=True)
        threading.Thread(target=_watch_stdin, args=(ended,), name="rehearsal-stdin", daemon=True).start()
        ended.wait()  # no limit: whoever started it ends it
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m flower.rehearsal", description=__doc__)
    parser.add_argument("script", metavar="SCRIPT", help="a .toml or .json file, or the name `default`")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="0 takes a free port")
    parser.add_argument("--key", metavar="K", help="the key to ask for; a random one otherwise")
    return parser


def _watch_stdin(ended: threading.Event) -> None:
    # Not through sys.stdin: its lock, held here for ever, would abort the interpreter at its end.
    while os.read(0, 65536):
        pass
    ended.set()


if __name__ == "__main__":
    sys.exit(main())
