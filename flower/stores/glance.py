"""Shell commands that only look: running them changes nothing, and what they show is stale a moment later.

`is_ephemeral` decides both whether a coordinator may run a command itself and whether its result expires, for
these are the same commands. What is not known to only look is refused. A command that can also write a file or
run another command is known by its arguments too.
"""

import re
from collections.abc import Callable

from .sed import only_prints
from .shell import Word, read_commands


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# These have no option that writes or runs anything.
_HARMLESS = _names(
    """ls pwd df du whoami ps top cat head wc stat which whereis type grep jq diff echo
    uname locale nproc getconf sw_vers"""
)

_GIT_LOOKS = _names(
    """status diff log show rev-parse ls-files ls-tree cat-file blame describe shortlog rev-list merge-base
    name-rev show-ref for-each-ref count-objects diff-tree diff-index diff-files version"""
)
_GIT_CHANGES = _names("--force --hard --prune")
# With one of these, what follows names what to list; without, a branch to make.
_BRANCH_FILTERS = _names("--list --contains --no-contains --merged --no-merged --points-at")
_BRANCH_OPTIONS = _BRANCH_FILTERS | _names(
    """-a -r -v -vv -av -avv -rv -rvv -i --all --remotes --verbose --show-current --ignore-case
    --sort --format --color --no-color --column --no-column --abbrev --no-abbrev"""
)
_CONFIG_READS = _names("--get --get-all --get-regexp --list -l get list")
_CONFIG_SCOPES = _names("--global --local --system --worktree")

_KUBECTL_ACTS = re.compile(r"--kubeconfig|--cache-dir|--profile|--watch|-[ARh]*w")
_AWK_ACTS = re.compile(r"system|getline|[>@]")


def is_ephemeral(command: str) -> bool:
    """Whether every command of this shell line only looks."""
    commands = read_commands(command) or []
    return bool(commands) and all(map(_only_looks, commands))


def _only_looks(words: list[Word]) -> bool:
    name, *rest = words
    if name.expands:
        return False
    if name.text in _HARMLESS:
        return True
    judge = _JUDGES.get(name.text)
    # An argument that isn't known yet may be just the option that writes.
    return (
        judge is not None and not any(word.expands for word in rest) and judge([word.text for word in rest])
    )


def _takes_no_arguments(arguments: list[str]) -> bool:
    return not arguments


def _find(arguments: list[str]) -> bool:
    acting = ("-exec", "-ok", "-delete", "-fprint", "-fls")
    return not any(argument.startswith(acting) for argument in arguments)


def _sort(arguments: list[str]) -> bool:
    return not any(
        _has_letter(argument, "o") or _abbreviates(argument, "--output", "--compress-program")
        for argument in arguments
    )


def _tail(arguments: list[str]) -> bool:
    return not any(_has_letter(each, "f", "F") or _abbreviates(each, "--follow") for each in arguments)


def _tree(arguments: list[str]) -> bool:
    return not any(_has_letter(argument, "o", "R") for argument in arguments)


def _uniq(arguments: list[str]) -> bool:
    if "--" in arguments:
        return False  # what follows may look like an option and be the output
    operands = [each for each in arguments if each == "-" or not each.startswith("-")]
    return len(operands) <= 1  # a second one is the output


def _rg(arguments: list[str]) -> bool:
    return not any(argument.startswith(("--pre", "--hostname-bin")) for argument in arguments)


def _date(arguments: list[str]) -> bool:
    # A bare number would set the clock, and so would, on macOS, what -f gives the form of.
    return not any(
        _has_letter(each, "s", "f") or _abbreviates(each, "--set") or re.fullmatch(r"[\d.]+", each)
        for each in arguments
    )


def _command(arguments: list[str]) -> bool:
    return arguments[:1] in (["-v"], ["-V"])  # else it runs what it names


def _docker(arguments: list[str]) -> bool:
    return arguments[:1] == ["ps"]


def _kubectl(arguments: list[str]) -> bool:
    # A configuration can name a command to log in with; a watch doesn't end.
    return arguments[:1] == ["get"] and not any(map(_KUBECTL_ACTS.match, arguments))


def _lsof(arguments: list[str]) -> bool:
    return not any(_has_letter(argument, "D") for argument in arguments)  # it keeps a cache, in a file


def _awk(arguments: list[str]) -> bool:
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        if not arguments[at].startswith(("-F", "-v")):
            return False
        at += 2 if arguments[at] in ("-F", "-v") else 1
    program = arguments[at] if at < len(arguments) else "|"
    return _AWK_ACTS.search(program) is None and "|" not in program.replace("||", "")


def _git(arguments: list[str]) -> bool:
    at = 0
    while at < len(arguments) and arguments[at] in ("-C", "--no-pager", "-P", "--no-optional-locks"):
        at += 2 if arguments[at] == "-C" else 1
    name, rest = (arguments[at], arguments[at + 1 :]) if at < len(arguments) else ("", [])
    if any(each in _GIT_CHANGES or _abbreviates(each, "--output", "--ext-diff") for each in rest):
        return False
    if name in _GIT_LOOKS:
        return True
    judge = _GIT_JUDGES.get(name)
    return judge is not None and judge(rest)


def _git_branch(arguments: list[str]) -> bool:
    options = [each.partition("=")[0] for each in arguments if each.startswith("-")]
    filtered = any(option in _BRANCH_FILTERS for option in options)
    return _BRANCH_OPTIONS.issuperset(options) and (filtered or len(options) == len(arguments))


def _git_config(arguments: list[str]) -> bool:
    rest = arguments[1:] if _CONFIG_SCOPES.intersection(arguments[:1]) else arguments
    return bool(rest) and rest[0] in _CONFIG_READS


def _git_grep(arguments: list[str]) -> bool:
    # It opens what it found in a pager: any command.
    return not any(
        _has_letter(each, "O") or _abbreviates(each, "--open-files-in-pager") for each in arguments
    )


def _git_hash_object(arguments: list[str]) -> bool:
    return not any(_has_letter(argument, "w") for argument in arguments)


def _git_reflog(arguments: list[str]) -> bool:
    return not arguments or arguments[0] == "show" or arguments[0].startswith("-")


def _git_remote(arguments: list[str]) -> bool:
    return arguments in ([], ["-v"], ["--verbose"]) or arguments[:1] == ["get-url"]


def _git_tag(arguments: list[str]) -> bool:
    return not arguments or arguments[0] in ("-l", "--list")


def _lists(arguments: list[str]) -> bool:
    return arguments[:1] == ["list"]


def _has_letter(argument: str, *letters: str) -> bool:
    """Whether one of the letters is among the short options of an argument: ``-ro`` has the ``o`` of ``-o``."""
    return (
        argument.startswith("-")
        and not argument.startswith("--")
        and any(map(argument.__contains__, letters))
    )


def _abbreviates(argument: str, *options: str) -> bool:
    """Whether an argument is one of these long options or can be read as one: ``--out`` is ``--output``."""
    name = argument.partition("=")[0]
    return len(name) > 2 and any(option.startswith(name) for option in options)


_JUDGES: dict[str, Callable[[list[str]], bool]] = {
    "arch": _takes_no_arguments,  # on macOS it runs what it is given
    "awk": _awk,
    "command": _command,
    "date": _date,
    "docker": _docker,
    "env": _takes_no_arguments,  # it runs what it is given
    "find": _find,
    "git": _git,
    "kubectl": _kubectl,
    "lsof": _lsof,
    "rg": _rg,
    "sed": only_prints,
    "sort": _sort,
    "tail": _tail,
    "tree": _tree,
    "uniq": _uniq,
}
_GIT_JUDGES: dict[str, Callable[[list[str]], bool]] = {
    "branch": _git_branch,
    "config": _git_config,
    "grep": _git_grep,
    "hash-object": _git_hash_object,
    "reflog": _git_reflog,
    "remote": _git_remote,
    "stash": _lists,
    "tag": _git_tag,
    "worktree": _lists,
}
