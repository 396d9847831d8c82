"""Which workspace is meant by a word: a path, or a unique part of one."""

import os
from collections.abc import Sequence
from pathlib import Path

from flower_protocol.workspaces import Place, WorkspaceStatus
from flowerctl.hints import Failed
from flowerctl.language import Texts
from flowerctl.sanitize import clean_line


def meant(name: str | None, known: Sequence[WorkspaceStatus], here: Path, texts: Texts) -> Place:
    """The place of ``name``; left out, that of the current folder.

    A path wins over a part of one. Raises `Failed` when nothing, or more than one thing, is meant.
    """
    path = str(here) if name is None else _resolved(here / name)
    exact = _best([each for each in known if each.workspace == path], here)
    if exact is not None:
        return exact
    if name is not None:
        matches = [each for each in known if name in each.workspace]
        if len({each.workspace for each in matches}) == 1:
            found = _best(matches, here)
            assert found is not None, "there is at least one"
            return found
        if matches:
            listed = ", ".join(clean_line(each.workspace) for each in matches)
            raise Failed(texts("which_many", name=clean_line(name), matches=listed))
        if not os.path.isdir(path):
            raise Failed(texts("which_none", name=clean_line(name)))
    return Place(workspace=path, run_dir=os.path.join(path, "runs"))


def _best(matches: Sequence[WorkspaceStatus], here: Path) -> Place | None:
    # One folder can have several run_dirs: what runs is meant first, then where one would be made from here.
    likely = str(here / "runs")
    ordered = sorted(matches, key=lambda each: (not each.state.active, each.run_dir != likely))
    return Place(workspace=ordered[0].workspace, run_dir=ordered[0].run_dir) if ordered else None


def _resolved(path: Path) -> str:
    try:
        return str(path.resolve())
    except (OSError, RuntimeError, ValueError):
        return str(path)
