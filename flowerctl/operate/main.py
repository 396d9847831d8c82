"""``flowerctl``: parses, calls the verb, and turns whatever goes wrong into one line."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from flower_protocol.paths import socket_path
from flowerctl.client import Client
from flowerctl.hints import FAILED, OK, USAGE, Failed, explained
from flowerctl.language import EN, ZH, Texts, chosen
from flowerctl.operate.context import Context
from flowerctl.output import close_streams, complain, prepare_streams
from flowerctl.places import here
from flowerctl.usage import UsageParser

# Verbs of the contract that this version doesn't have.
NOT_YET: Final = ("wait", "keep", "adopt", "env", "transcript", "service", "doctor")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 done, 1 failed or refused, 2 wrong usage."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    texts = Texts(chosen(given, os.environ))
    prepare_streams()
    try:
        return _run(given, texts)
    except Failed as failed:
        complain(str(failed))
        return failed.code
    except BrokenPipeError:  # `flowerctl status | head -1`
        return OK
    except KeyboardInterrupt:
        complain(texts("cancelled"))
        return FAILED
    except Exception as error:  # the edge of the process: a bug is one line too
        explanation = explained(error, texts, os.environ)
        complain(str(explanation))
        return explanation.code
    finally:
        close_streams()


def _run(given: Sequence[str], texts: Texts) -> int:
    verb = next((word for word in given if not word.startswith("-") and word not in (ZH, EN)), None)
    if verb in NOT_YET:
        raise Failed(texts("verb_not_yet", word=verb), USAGE)
    found = _parser(texts).parse_args(given)
    context = Context(
        client=Client(socket_path(os.environ)),
        texts=texts,
        environment=os.environ,
        here=here(texts),
        json=bool(getattr(found, "json", False)),
    )
    verbs: dict[str, Callable[[Context, argparse.Namespace], int]] = {
        "status": _status,
        "show": _show,
        "attach": _attach,
        "say": _say,
        "answer": _answer,
        "interrupt": _interrupt,
        "stop": _stop,
        "forget": _forget,
        "daemon": _daemon,
        "logs": _logs,
    }
    return verbs[found.verb](context, found)


# Each verb is loaded when it is called: `status` must not wait for what only `attach` needs.


def _status(context: Context, found: argparse.Namespace) -> int:
    from flowerctl.operate.status import status

    return status(context)


def _show(context: Context, found: argparse.Namespace) -> int:
    from flowerctl.operate.show import show

    return show(context, found.workspace)


def _attach(context: Context, found: argparse.Namespace) -> int:
    from flowerctl.attach.main import main as flower

    place = context.place(found.workspace)
    return flower(["-w", place.workspace, "-r", place.run_dir, "--lang", context.texts.language])


def _say(context: Context, found: argparse.Namespace) -> int:
    from flowerctl.operate.say import say

    if len(found.words) > 2:
        raise Failed(context.texts("say_usage"), USAGE)
    return say(context, found.words[0] if len(found.words) == 2 else None, found.words[-1])


def _answer(context: Context, found: argparse.Namespace) -> int:
    from flowerctl.operate.answer import answer

    if len(found.words) > 2:
        raise Failed(context.texts("answer_usage"), USAGE)
    return answer(context, found.words[0] if len(found.words) == 2 else None, found.words[-1])


def _interrupt(context: Context, found: argparse.Namespace) -> int:
    from flowerctl.operate.interrupt import interrupt

    return interrupt(context, found.workspace)


def _stop(context: Context, found: argparse.Namespace) -> int:
    from flowerctl.operate.stop import stop

    return stop(context, found.workspace)


def _forget(context: Context, found: argparse.Namespace) -> int:
    from flowerctl.operate.forget import forget

    return forget(context, found.workspace)


def _daemon(context: Context, found: argparse.Namespace) -> int:
    from flowerctl.operate.daemon import daemon

    return daemon(context, found.action)


def _logs(context: Context, found: argparse.Namespace) -> int:
    from flowerctl.operate.logs import logs

    return logs(context, follow=found.follow)


def _parser(texts: Texts) -> argparse.ArgumentParser:
    class Parser(UsageParser):
        """One that argparse itself can make, for each verb."""

        def __init__(self, **options: Any) -> None:
            super().__init__(texts=texts, **options)

    common = Parser(add_help=False)
    common.add_argument("--lang", choices=(ZH, EN), help=texts("help_lang"))
    printing = Parser(add_help=False, parents=[common])
    printing.add_argument("--json", action="store_true", help=texts("help_json"))
    parser = Parser(prog="flowerctl", description=texts("help_flowerctl"), allow_abbrev=False)
    parser.add_argument("--lang", choices=(ZH, EN), help=texts("help_lang"))
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB", parser_class=Parser)

    def verb(name: str, *parents: Parser) -> argparse.ArgumentParser:
        about = texts(f"help_{name}")
        return verbs.add_parser(
            name, help=about, description=about, parents=list(parents), allow_abbrev=False
        )

    verb("status", printing)
    for name in ("show", "interrupt", "stop", "forget"):
        verb(name, printing).add_argument("workspace", nargs="?", metavar="WS", help=texts("help_ws"))
    verb("attach", common).add_argument("workspace", nargs="?", metavar="WS", help=texts("help_ws"))
    for name in ("say", "answer"):
        verb(name, printing).add_argument("words", nargs="+", metavar="[WS] WORDS", help=texts("help_ws"))
    verb("daemon", printing).add_argument("action", choices=("start", "stop", "restart", "status"))
    verb("logs", common).add_argument("-f", "--follow", action="store_true", help=texts("help_follow"))
    return parser
