"""The command line of ``flower once``, as one record. What makes no sense, or can't take effect, is wrong usage."""

import argparse
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, get_args

from flower_protocol.runs import PermissionMode, RunOnce
from flower_protocol.workspaces import Place
from flowerctl.attach.flags import OF_THE_CLIENT, Flag
from flowerctl.attach.parser import Parser, as_text, behind_dashes
from flowerctl.hints import OK
from flowerctl.language import ZH, Texts
from flowerctl.version import installed_version

OWN: Final = (
    Flag(
        ("-i", "--instructions"),
        "它是谁、要守什么规矩(默认没有)",
        "who it is, and its rules (none)",
        {"metavar": "TEXT", "default": ""},
    ),
    Flag(
        ("-t", "--tools"),
        "它能用的工具,逗号隔开(默认 Read,Glob,Grep)",
        "the tools it has, separated by commas (Read,Glob,Grep)",
        {"metavar": "TOOLS", "default": "Read,Glob,Grep"},
    ),
    Flag(
        ("-p", "--permission-mode"),
        "没有人能批准,所以要批准的就拒绝:default(默认)、acceptEdits、plan(只看不动)或 bypassPermissions",
        "nobody can approve, so what needs it is refused: default, acceptEdits, plan (looks and touches nothing) "
        "or bypassPermissions",
        {"metavar": "MODE", "choices": get_args(PermissionMode), "default": "default"},
    ),
    Flag(
        ("-b", "--budget"),
        "这一次最多花多少",
        "what this call may spend at most",
        {"type": float, "metavar": "USD"},
    ),
    Flag(
        ("--resume",),
        "接着这个会话(id 在上一次的最后一行)",
        "the session to go on with (its id is in the last line of the call before)",
        {"metavar": "ID"},
    ),
    Flag(("--fork",), "接着它的一个副本,原来的不动", "go on with a copy of it, and leave it as it is"),
)
_JSON: Final = tuple(flag for flag in OF_THE_CLIENT if "--json" in flag.names)
# A rule in parentheses behind a tool's name would be taken for a name, and the tool be missing.
_TOOL: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class OnceInvocation:
    """What the person typed."""

    prompt: str
    workspace: str
    run_dir: str
    run_dir_given: bool
    instructions: str
    tools: tuple[str, ...]
    permission_mode: PermissionMode
    budget_usd: float | None
    resume: str | None
    fork: bool
    rehearse: bool
    script: str | None
    verbose: bool
    json: bool

    def request(self, place: Place, language: str) -> RunOnce:
        """The same, as it is said to the process that has the agent."""
        return RunOnce(
            place=place,
            prompt=self.prompt,
            instructions=self.instructions,
            tools=self.tools,
            permission_mode=self.permission_mode,
            budget_usd=self.budget_usd,
            resume=self.resume,
            fork=self.fork,
            rehearse=self.rehearse,
            script=self.script,
            language=language,
        )


def parse(arguments: Sequence[str], texts: Texts) -> OnceInvocation:
    """The invocation. Prints and raises SystemExit: 0 after ``--help`` and ``--version``, 2 for wrong usage."""
    parser = once_parser(texts)
    flags, behind = behind_dashes(arguments)
    found, unknown = parser.parse_known_intermixed_args(flags)
    if found.version:
        print(f"flower {installed_version()}")
        raise SystemExit(OK)
    if unknown:
        parser.unknown(unknown)
    words = [*found.words, *behind]
    if not words:
        parser.error(texts("once_usage"))
    tools = tuple(dict.fromkeys(name.strip() for name in found.tools.split(",") if name.strip()))
    _check(found, tools, parser, texts)
    return OnceInvocation(
        prompt=as_text(" ".join(words)),
        workspace=found.workspace if found.workspace is not None else ".",
        run_dir=found.run_dir if found.run_dir is not None else "runs",
        run_dir_given=found.run_dir is not None,
        instructions=as_text(found.instructions),
        tools=tools,
        permission_mode=found.permission_mode,
        budget_usd=found.budget,
        resume=found.resume.strip() if found.resume is not None else None,
        fork=bool(found.fork),
        rehearse=bool(found.rehearse),
        script=found.script,
        verbose=bool(found.verbose),
        json=bool(found.json),
    )


def once_parser(texts: Texts) -> Parser:
    """What takes the command line of ``flower once`` apart."""
    chinese = texts.language == ZH
    parser = Parser(
        "flower once",
        texts,
        usage='flower once [选项] "要做的事"' if chinese else 'flower once [OPTIONS] "PROMPT"',
        description="跑一次单 agent:没有流程,不记血缘,答完就走。"
        if chinese
        else "One agent, once: no workflow, no lineage; it answers and is gone.",
        words="PROMPT",
    )
    own = parser.add_argument_group("这一次" if chinese else "of this call")
    for flag in OWN + _JSON:
        flag.add_to(own, texts.language)
    return parser


def _check(found: argparse.Namespace, tools: Sequence[str], parser: Parser, texts: Texts) -> None:
    need = parser.need
    money = found.budget or 0.0
    need("--budget", found.budget, math.isfinite(money) and money > 0, "rule_money")
    for flag, path in (("--workspace", found.workspace), ("--run-dir", found.run_dir)):
        need(flag, path, (path or "").strip() != "", "rule_path")
    need("--resume", found.resume, (found.resume or "").strip() != "", "rule_session")
    for tool in tools:
        need("--tools", tool, _TOOL.match(tool) is not None, "rule_tool")
    if found.fork and found.resume is None:
        parser.error(texts("rule_fork"))
    if found.script is not None and not found.rehearse:
        parser.error(texts("rule_script"))
