"""What became of one step."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class StepResult:
    """One step's outcome; every field is a column of ``manifest.json``.

    ``session_id`` is the last session that took over. ``cost_usd`` is what this step spent, ``num_turns`` what it
    took, both added over retries and handoffs. ``text`` is the main thread's own prose. ``attempts`` counts the
    first try and each retry, not interrupts nor handoffs. ``errors`` were seen on the way and are never fed to
    the model. ``retired`` holds the sessions that handed over. ``context`` is the main thread's last level in
    tokens. Times are epoch seconds.
    """

    step: str
    session_id: str | None = None
    ok: bool = False
    cost_usd: float = 0.0
    num_turns: int = 0
    text: str = ""
    error: str | None = None
    started_at: float = 0.0
    ended_at: float = 0.0
    attempts: int = 1
    errors: list[str] = field(default_factory=list)
    resumed: bool = False
    retired: list[str] = field(default_factory=list)
    context: int = 0

    @property
    def duration_s(self) -> float:
        """Seconds from start to end, two decimals; 0.0 while it runs."""
        return round(self.ended_at - self.started_at, 2) if self.ended_at else 0.0

    def row(self, run: str) -> dict[str, Any]:
        """The row of ``manifest.json`` for this result, written by the run named ``run``."""
        # duration_s is a property, which asdict() doesn't see.
        return {**asdict(self), "duration_s": self.duration_s, "run": run}
