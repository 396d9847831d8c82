"""The command line of ``flower``, as one record. What makes no sense, or can't take effect, is wrong usage here."""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from flower_protocol.runs import LEAST_WINDOW, RunOptions
from flowerctl.attach.flags import GLOBAL, OF_A_RUN, OF_THE_CLIENT
from flowerctl.attach.parser import Parser, as_text, behind_dashes
from flowerctl.hints import OK, USAGE
from flowerctl.language import ZH, Texts
from flowerctl.output import complain
from flowerctl.version import installed_version

# Words of the contract that this version doesn't have. They are commands all the same: never a request.
NOT_YET: Final = frozenset({"run", "setup"})
# Commands with a command line of their own.
COMMANDS: Final = frozenset({"once"})

_DEFAULTS: Final = RunOptions()
# With the first of two, the second would change nothing.
_POINTLESS: Final = (
    ("--no-goal", "--judge-can-run"),
    ("--no-goal", "--rounds"),
    ("--clarify-only", "--no-goal"),
    ("--clarify-only", "--judge-can-run"),
    ("--clarify-only", "--rounds"),
)
_TAKING: Final = {
    name for flag in GLOBAL + OF_A_RUN + OF_THE_CLIENT if "action" not in flag.takes for name in flag.names
}


@dataclass(frozen=True, slots=True)
class Invocation:
    """What the person typed.

    ``ask`` is None when they said nothing. ``given`` names the flags of a run that were typed, whatever their
    value: a run that is already going can't heed them.
    """

    ask: str | None
    workspace: str
    run_dir: str
    run_dir_given: bool
    options: RunOptions
    given: tuple[str, ...]
    verbose: bool = False
    detach: bool = False
    json: bool = False


def command_of(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """The word of `COMMANDS` that the first word is, None for a request; and the command line without it."""
    value_of_a_flag = False
    for place, argument in enumerate(arguments):
        if value_of_a_flag:
            value_of_a_flag = False
        elif argument in COMMANDS:
            return argument, [*arguments[:place], *arguments[place + 1 :]]
        elif argument == "--" or not argument.startswith("-"):
            break
        else:
            value_of_a_flag = argument in _TAKING
    return None, list(arguments)


def parse(arguments: Sequence[str], texts: Texts) -> Invocation:
    """The invocation. Prints and raises SystemExit: 0 after ``--help`` and ``--version``, 2 for wrong usage."""
    parser = _parser(texts)
    flags, behind = behind_dashes(arguments)
    found, unknown = parser.parse_known_intermixed_args(flags)
    if found.version:
        print(f"flower {installed_version()}")
        raise SystemExit(OK)
    if found.words and found.words[0] in NOT_YET:
        complain(texts("not_yet", word=found.words[0]))
        raise SystemExit(USAGE)
    if unknown:
        parser.unknown(unknown)
    _check(found, parser, texts)
    words = [*found.words, *behind]
    return Invocation(
        ask=as_text(" ".join(words)) if words else None,
        workspace=found.workspace if found.workspace is not None else ".",
        run_dir=found.run_dir if found.run_dir is not None else "runs",
        run_dir_given=found.run_dir is not None,
        options=_options(found),
        given=tuple(flag.names[-1] for flag in OF_A_RUN if getattr(found, flag.attribute) is not None),
        verbose=bool(found.verbose),
        detach=bool(found.detach),
        json=bool(found.json),
    )


def _parser(texts: Texts) -> Parser:
    chinese = texts.language == ZH
    parser = Parser(
        "flower",
        texts,
        usage='flower [--new] ["诉求"] [选项]' if chinese else 'flower [--new] ["REQUEST"] [OPTIONS]',
        description="可移植长程 agent 框架。在同一个文件夹再跑一次就接着上次。"
        if chinese
        else "A portable long-running agent. Run it again in the same folder and it goes on from last time.",
        words="ASK",
    )
    of_a_run = parser.add_argument_group("一次运行" if chinese else "of a run")
    for flag in OF_A_RUN + OF_THE_CLIENT:
        flag.add_to(of_a_run, texts.language)
    return parser


def _check(found: argparse.Namespace, parser: Parser, texts: Texts) -> None:
    need = parser.need
    need("--rounds", found.rounds, (found.rounds or 0) >= 1, "rule_positive_whole")
    need("--window", found.window, (found.window or 0) >= LEAST_WINDOW, "rule_window")
    need("--asks", found.asks, (found.asks or 0) >= -1, "rule_asks")
    seconds, money = found.timeout or 0.0, found.budget or 0.0
    need("--timeout", found.timeout, seconds >= 0, "rule_seconds")  # nor what is no number at all
    need("--budget", found.budget, math.isfinite(money) and money > 0, "rule_money")
    # An empty name would be the workspace itself, and scatter the run's files over it.
    need("--run-dir", found.run_dir, found.run_dir is None or found.run_dir.strip() != "", "rule_path")
    need(
        "--workspace", found.workspace, found.workspace is None or found.workspace.strip() != "", "rule_path"
    )
    if found.no_daemon:
        parser.error(texts("flag_not_yet", flag="--no-daemon"))
    if found.detach and found.json:
        parser.error(texts("rule_together", first="--detach", second="--json"))
    for first, second in _POINTLESS:
        if _typed(found, first) and _typed(found, second):
            parser.error(texts("rule_together", first=first, second=second))
    if found.script is not None and not found.rehearse:
        parser.error(texts("rule_script"))


def _options(found: argparse.Namespace) -> RunOptions:
    return RunOptions(
        new=bool(found.new),
        rounds=found.rounds if found.rounds is not None else _DEFAULTS.rounds,
        goal=not found.no_goal,
        judge_can_run=bool(found.judge_can_run),
        asks=found.asks if found.asks is not None else _DEFAULTS.asks,
        timeout_s=_timeout(found.timeout),
        isolate=bool(found.isolate),
        window=found.window,
        handoff=not found.no_handoff,
        clarify_only=bool(found.clarify_only),
        trim=not found.no_trim,
        budget_usd=found.budget,
        keep=bool(found.keep),
        rehearse=bool(found.rehearse),
        script=found.script,
    )


def _timeout(seconds: float | None) -> float | None:
    if seconds is None:
        return _DEFAULTS.timeout_s
    return None if math.isinf(seconds) else seconds


def _typed(found: argparse.Namespace, flag: str) -> bool:
    return getattr(found, flag[2:].replace("-", "_")) is not None
