"""The report: aligned lines, each a figure beside what it is held against, printed as soon as it is known."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and its unit: ``ms``, ``MB``, or nothing but a count."""

    value: float
    unit: str

    def __str__(self) -> str:
        decimals = 2 if self.value < 10 else 1 if self.value < 100 else 0
        return f"{self.value:.{decimals}f} {self.unit}"


@dataclass(frozen=True, slots=True)
class Goal:
    """What should hold, in words, and whether it does."""

    words: str
    met: bool


def milliseconds(seconds: float) -> Figure:
    return Figure(seconds * 1000, "ms")


def megabytes(size: float) -> Figure:
    return Figure(size / 1024 / 1024, "MB")


def at_most(limit: Figure, ours: Figure) -> Goal:
    """A goal in the figure's own unit."""
    return Goal(f"<= {limit.value:g} {limit.unit}", ours.value <= limit.value)


def at_most_times(limit: float, ours: Figure, theirs: Figure) -> Goal:
    """A goal for the ratio."""
    return Goal(f"<= {limit:g} x", ours.value <= limit * theirs.value)


class Report:
    """Prints; keeps count of the goals."""

    def __init__(self) -> None:
        self.met = 0
        self.missed: list[str] = []
        self._headed = False

    def title(self, name: str) -> None:
        """What the lines that follow are about."""
        print(f"\n{name}", flush=True)
        self._headed = False

    def row(self, name: str, ours: Figure, peer: str, theirs: Figure, goal: Goal | None = None) -> None:
        """One figure, and the peer or floor that it is held against."""
        words = goal.words if goal else "-"
        self._print(name, str(ours), peer, str(theirs), _ratio(ours, theirs), words, self._met(name, goal))

    def fact(self, name: str, found: str, goal: Goal) -> None:
        """Something that holds or doesn't, and has no peer."""
        self._print(name, found, "", "", "", goal.words, self._met(name, goal))

    def note(self, text: str) -> None:
        print(f"  {text}", flush=True)

    def broke_off(self, error: Exception) -> None:
        """Why a measure has no more lines, in one."""
        reason = (str(error).strip().splitlines() or [""])[0]
        self.note(f"broke off: {type(error).__name__}: {reason[:160]}")

    def summary(self) -> None:
        total = self.met + len(self.missed)
        missed = f"; not met: {', '.join(self.missed)}" if self.missed else ""
        print(f"\n{self.met} of {total} goals met{missed}", flush=True)

    def _met(self, name: str, goal: Goal | None) -> str:
        if goal is None:
            return "-"
        if goal.met:
            self.met += 1
            return "yes"
        self.missed.append(name)
        return "NO"

    def _print(self, name: str, ours: str, peer: str, theirs: str, ratio: str, goal: str, met: str) -> None:
        if not self._headed:
            self._headed = True
            self._print("", "ours", "held against", "its", "ratio", "goal", "met")
        line = f"  {name:<34}{ours:>9}  {peer:<32}{theirs:>9}{ratio:>7}  {goal:<9} {met}"
        print(line.rstrip(), flush=True)


def _ratio(ours: Figure, theirs: Figure) -> str:
    if theirs.value <= 0:
        return "-"
    ratio = ours.value / theirs.value
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
