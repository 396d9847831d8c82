"""What one step spends, though the CLI reports what its session has cost since its beginning."""


class Spending:
    """US dollars, added up over the children and the sessions of a step."""

    def __init__(self) -> None:
        self._before = 0.0
        self._baseline = 0.0
        self._session = 0.0

    @property
    def total(self) -> float:
        return self._before + self._session - self._baseline

    def open(self, session_cost: float) -> None:
        """A child takes over a session that has cost this much so far."""
        self._before = self.total
        self._baseline = self._session = session_cost

    def report(self, session_cost: float | None) -> float:
        """The session has cost this much by now; returns what came on top since the last report."""
        # A report of less than before is of a turn that never reached the model.
        now = max(session_cost or 0.0, self._session)
        added, self._session = now - self._session, now
        return added
