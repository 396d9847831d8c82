"""The two events that are the daemon's own: a run has begun, a run has ended. Pure."""

from collections.abc import Sequence

import msgspec

from flower_protocol.runs import StartRun
from flowerd.run import Ending, Outcome, Prepared
from flowerd.wire import Draft


def begun(request: StartRun, prepared: Prepared, unheard: Sequence[str]) -> Draft:
    """What was asked for, and the words that reached nobody before and go with it."""
    about = {
        "ask": request.ask,
        "unheard": list(unheard),
        "woke": prepared.woke,
        "rehearse": request.options.rehearse,
        "options": msgspec.to_builtins(request.options),
    }
    return Draft("run_started", request.ask or "", payload=about)


def ended(outcome: Outcome, ending: Ending, unheard: Sequence[str]) -> Draft:
    """What came of it: ``ending``, whatever the run itself took it for, and the words that it did not get to hear."""
    about = {
        "outcome": ending.value,
        "step": outcome.step,
        "error": outcome.error,
        "cost_usd": outcome.cost_usd,
        "unheard": list(unheard),
    }
    return Draft("run_ended", outcome.error or "", payload=about)
