"""The flags of a run: which this version honours, which values mean something, what a folder keeps of its last run.

A flag that can't take effect is refused, none is ignored.
"""

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from flower_protocol.runs import LEAST_WINDOW, RunOptions
from flowerd.refusal import Refused

NOT_YET: Final = frozenset({"keep"})
HONOURED: Final = frozenset(RunOptions.__struct_fields__) - NOT_YET

# How the person wrote it.
FLAGS: Final = {
    "new": "--new",
    "rounds": "--rounds",
    "goal": "--no-goal",
    "judge_can_run": "--judge-can-run",
    "asks": "--asks",
    "timeout_s": "--timeout",
    "isolate": "--isolate",
    "window": "--window",
    "handoff": "--no-handoff",
    "clarify_only": "--clarify-only",
    "trim": "--no-trim",
    "budget_usd": "--budget",
    "keep": "--keep",
    "rehearse": "--rehearse",
    "script": "--script",
}

# With the first of them, nothing is judged: the others would change nothing.
_POINTLESS: Final[Mapping[str, tuple[str, ...]]] = {
    "goal": ("rounds", "judge_can_run"),
    "clarify_only": ("goal", "rounds", "judge_can_run"),
}


def check(options: RunOptions) -> None:
    """Raises `Refused`, naming the first flag that was given and can't take effect."""
    given = [
        each.name
        for each in msgspec.structs.fields(RunOptions)
        if getattr(options, each.name) != each.default
    ]
    for name in given:
        if name not in HONOURED:
            raise Refused("not-available", flag=FLAGS[name])
        for other in _POINTLESS.get(name, ()):
            if other in given:
                raise Refused("not-available", flag=f"{FLAGS[other]} ({FLAGS[name]})")
    if options.script is not None and not options.rehearse:
        raise Refused("not-available", flag="--script (without --rehearse)")
    window = options.window
    if window is not None and window < LEAST_WINDOW:
        raise Refused("too-small", flag=FLAGS["window"], value=str(window), least=str(LEAST_WINDOW))
    for name, meaningful in _meaningful(options).items():
        if not meaningful:
            raise Refused("bad-value", flag=FLAGS[name], value=str(getattr(options, name)))


def continued(options: RunOptions, last: RunOptions | None) -> RunOptions:
    """The options of a run in a folder whose last run had those of ``last``.

    An isolated one left its brief and its workbench beside the folder: there they are looked for until ``new``.
    """
    if options.new or last is None or not last.isolate:
        return options
    return msgspec.structs.replace(options, isolate=True)


def _meaningful(options: RunOptions) -> dict[str, bool]:
    timeout, budget = options.timeout_s, options.budget_usd
    return {
        "rounds": options.rounds >= 1,
        "asks": options.asks >= -1,
        "timeout_s": timeout is None or (math.isfinite(timeout) and timeout >= 0),
        "budget_usd": budget is None or (math.isfinite(budget) and budget > 0),
    }
