"""`flowerd`: the daemon in the foreground. Parses, prepares the process, and lets the daemon live."""

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from flower.core.words import Words, language_of
from flowerd.environment import scrub
from flowerd.facts import own_version
from flowerd.lifecycle import live
from flowerd.listener import AlreadyServed, SocketRefused
from flowerd.logs import open_logs
from flowerd.service_manager import Notifier, inherited_socket
from flowerd.settings import from_environment


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 also when another daemon serves already, 1 when the socket can't be had."""
    language = language_of(os.environ)
    wanted = _parser(language).parse_args(arguments)
    settings = from_environment(os.environ, idle_exit_seconds=wanted.idle_exit)
    settings = replace(settings, socket=settings.socket.absolute())
    notifier = Notifier(os.environ.get("NOTIFY_SOCKET"))
    try:
        inherited = inherited_socket(os.environ)
        scrub(os.environ)
        os.chdir("/")  # the folder of whoever started it first is nobody else's concern, and may be unmounted
        open_logs(settings.state, verbose=wanted.verbose)
        asyncio.run(live(settings, notifier, inherited))
    except AlreadyServed as served:
        print(served.words.spoken(language), file=sys.stderr)
        return 0
    except SocketRefused as refused:
        # In the log as well: whoever started it unseen reads the reason there.
        logging.getLogger(__name__).error("%s", refused.words.spoken(language))
        return 1
    return 0


def _parser(language: str) -> argparse.ArgumentParser:
    def say(zh: str, en: str) -> str:
        return Words(zh, en).spoken(language)

    parser = argparse.ArgumentParser(
        prog="flowerd",
        description=say(
            "flower 的后台:各个目录里的活都在这里跑,终端关了也不停。平时不用手动起,`flower` 会自己起。",
            "The daemon of flower: runs go on here when their terminals are closed. `flower` starts it by itself.",
        ),
    )
    parser.add_argument(
        "--idle-exit",
        type=_seconds,
        metavar="SECONDS",
        help=say(
            "闲了这么多秒就自己退出(没有活、没有连接、没有请求);默认不退",
            "end after that long without a run, a client or a request (default: never)",
        ),
    )
    parser.add_argument("-v", "--verbose", action="store_true", help=say("日志写细一点", "log more"))
    parser.add_argument("--version", action="version", version=f"flowerd {own_version()}")
    return parser


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: a number of seconds above 0 is needed")
    return value
