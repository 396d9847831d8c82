"""What a folder has cost over all its wakes: the sum of its manifest, read again only when that has changed."""

import math
from pathlib import Path

from flower.core.manifest import NAME, read_rows

_Stamp = tuple[int, int]


class Costs:
    """The sums by manifest. `of` blocks, and may be called from any thread."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[_Stamp, float]] = {}

    def of(self, run_dir: Path) -> float:
        """US dollars, four decimals; 0.0 without a manifest that can be read."""
        stamp = _stamp(run_dir / NAME)
        if stamp is None:
            return 0.0
        known = self._known.get(run_dir)
        if known is None or known[0] != stamp:
            known = (stamp, _sum(run_dir))
            self._known[run_dir] = known
        return known[1]


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _sum(run_dir: Path) -> float:
    costs = (row.get("cost_usd") for row in read_rows(run_dir))
    spent = sum(cost for cost in costs if isinstance(cost, int | float) and math.isfinite(cost))
    return round(spent, 4)
