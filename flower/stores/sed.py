"""Which invocations of ``sed`` only print: its scripts can write files and, in some versions, run commands."""

import re

_OPTIONS = re.compile(r"-[nErsuz]+|--(?:quiet|silent|regexp-extended|separate|unbuffered|null-data|posix)")
_SCRIPT_OPTION = re.compile(r"-[nErsuz]*e(.+)|--expression=(.+)")
_SCRIPT_FOLLOWS = re.compile(r"-[nErsuz]*e|--expression")

# Inside of a pattern: an escape, a whole bracket expression without the delimiter in it (versions differ on what
# that would mean), or any other character but the delimiter.
_ADDRESS = r"(?:\d+(?:~\d+)?|\$|/(?:\\.|\[\^?\]?[^\]/\n]*\]|[^/\\\[\n])*/[IM]*)"
_SUBSTITUTE = (
    r"s(?P<d>[^\w\s\\;\[])"
    r"(?:\\.|\[\^?\]?(?:(?!(?P=d))[^\]\n])*\]|(?!(?P=d))[^\\\[\n])*(?P=d)"
    r"(?:\\.|(?!(?P=d))[^\\\n])*(?P=d)"
    r"[gpIiMm0-9]*"
)
# Printing, deleting, joining and moving lines; never w, W, e, r, R or F, which name files and commands.
_COMMAND = re.compile(
    rf"\s*(?:{_ADDRESS}(?:,\s*(?:{_ADDRESS}|[+~]\d+))?)?\s*!?\s*"
    rf"(?:[pPdDqQ=lgGhHnNx]|{_SUBSTITUTE})\s*(?:[;\n]|$)"
)


def only_prints(arguments: list[str]) -> bool:
    """Whether ``sed`` with these arguments neither writes a file nor runs a command, as far as that is certain."""
    scripts, operands = _scripts(arguments)
    if scripts is None:
        return False
    if not scripts:
        scripts, operands = operands[:1], operands[1:]
    return bool(scripts) and all(map(_is_plain, scripts))


def _scripts(arguments: list[str]) -> tuple[list[str] | None, list[str]]:
    """The scripts given by options, and what is no option; None for scripts if an option is not known."""
    scripts: list[str] = []
    operands: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if _SCRIPT_FOLLOWS.fullmatch(argument):
            scripts.append(next(rest, ""))
        elif given := _SCRIPT_OPTION.fullmatch(argument):
            scripts.append(given[1] or given[2])
        elif not argument.startswith("-"):
            operands.append(argument)
        elif not _OPTIONS.fullmatch(argument):
            return None, operands
    return scripts, operands


def _is_plain(script: str) -> bool:
    at = 0
    while at < len(script):
        command = _COMMAND.match(script, at)
        if command is None:
            return False
        at = command.end()
    return at > 0
