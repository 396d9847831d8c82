"""Which flags of a run this version honours. A flag that can't take effect is refused, none is ignored."""

from typing import Final

import msgspec

from flower_protocol.runs import RunOptions
from flowerd.refusal import Refused

HONOURED: Final = frozenset({"new", "trim", "rehearse", "script", "window"})

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


def check(options: RunOptions) -> None:
    """Raises `Refused`, naming the first flag that was given and can't take effect."""
    for field in msgspec.structs.fields(RunOptions):
        given = getattr(options, field.name) != field.default
        if given and field.name not in HONOURED:
            raise Refused("not-available", flag=FLAGS[field.name])
    if options.script is not None and not options.rehearse:
        raise Refused("not-available", flag="--script (without --rehearse)")
    if options.window is not None and options.window <= 0:
        raise Refused("not-available", flag=f"--window {options.window}")
