"""Which workspace is meant: two names of one folder are one workspace."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from flower_protocol.workspaces import Place
from flowerd.refusal import Refused


def canonical(place: Place) -> Place:
    """``place`` with every link followed; the folders need not exist. Blocking. Raises `Refused`."""
    return Place(workspace=_resolved(place.workspace), run_dir=_resolved(place.run_dir))


def known_as(place: Place, known: Iterable[Place]) -> Place:
    """The one of ``known`` that is the same pair of folders as ``place``, else ``place`` itself. Blocking.

    Links are no longer the question here (see `canonical`); bind mounts and file systems that ignore case are.
    """
    candidates = list(known)
    if place in candidates:
        return place
    return next((each for each in candidates if _same(place, each)), place)


def key(place: Place) -> str:
    """The name of the place's journal folder. A hash: no two places share one, whatever their names are made of."""
    names = os.fsencode(place.workspace) + b"\0" + os.fsencode(place.run_dir)
    return hashlib.sha256(names).hexdigest()[:16]


def require_folder(place: Place) -> None:
    """Raises `Refused` unless the workspace is a folder. Blocking."""
    if not os.path.isdir(place.workspace):
        raise Refused("no-such-folder", path=place.workspace)


def _resolved(path: str) -> str:
    if not path.startswith("/") or "\0" in path:
        raise Refused("bad-frame", detail=f"not an absolute path: {path[:100]!r}")
    try:
        return str(Path(path).resolve())
    except (OSError, RuntimeError) as error:  # a loop of links; a name too long
        raise Refused("no-such-folder", path=path) from error


def _same(place: Place, other: Place) -> bool:
    return _same_folder(place.workspace, other.workspace) and _same_folder(place.run_dir, other.run_dir)


def _same_folder(path: str, other: str) -> bool:
    if path == other:
        return True
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False
