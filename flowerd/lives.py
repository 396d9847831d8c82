"""Which generations have left events of a place: one folder each, ``<number>.<generation>``, oldest first.

The number orders them, for a clock may go backwards. Everything here blocks.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

KEPT = 2


@dataclass(frozen=True, slots=True, order=True)
class Life:
    """The events of one generation, in one folder."""

    number: int
    generation: str
    folder: Path


def lives(folder: Path) -> list[Life]:
    """The generations in a place's journal folder, oldest first; none when it isn't there."""
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        number, _, generation = path.name.partition(".")
        if number.isdigit() and generation and path.is_dir():
            found.append(Life(int(number), generation, path))
    return sorted(found)


def next_life(folder: Path, generation: str) -> Life:
    """Where ``generation`` goes: after all that are there."""
    past = lives(folder)
    number = past[-1].number + 1 if past else 1
    return Life(number, generation, folder / f"{number:06d}.{generation}")


def forget_old(journals: Path) -> None:
    """Remove all but the last two generations of every place. Raises `OSError`."""
    for folder in journals.iterdir() if journals.is_dir() else ():
        for life in lives(folder)[:-KEPT]:
            shutil.rmtree(life.folder, ignore_errors=True)
