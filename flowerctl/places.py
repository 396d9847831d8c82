"""Which workspace is meant, and how a person gets back to it."""

import os
from pathlib import Path

from flower_protocol.workspaces import Place
from flowerctl.hints import Failed
from flowerctl.language import Texts
from flowerctl.sanitize import clean_line


def place_of(workspace: str, run_dir: str, texts: Texts) -> Place:
    """The resolved pair of folders; neither has to exist. Raises `Failed` for what can't be a folder."""
    return Place(
        workspace=_resolved(workspace, "not_a_folder", texts),
        run_dir=_resolved(run_dir, "run_dir_not_a_folder", texts),
    )


def here(texts: Texts) -> Path:
    """The current folder. Raises `Failed` when it is gone."""
    try:
        return Path.cwd().resolve()
    except OSError as error:
        raise Failed(texts("no_folder_here")) from error


def of_two_trees(workspace: str, place: Place, current: Path, texts: Texts) -> str:
    """A warning if the run of ``place`` is kept elsewhere than in the folder ``workspace``, as it was typed.

    Empty where there is no such folder: then that is what there is to say.
    """
    if place.workspace == str(current) or not os.path.isdir(place.workspace):
        return ""
    suggestion = clean_line(os.path.join(workspace, "runs"))
    return texts("two_trees", run_dir=clean_line(place.run_dir), suggestion=suggestion)


def way_back(place: Place) -> str:
    """The command that attaches to ``place``, from wherever it is typed."""
    import shlex

    workspace, run_dir = clean_line(place.workspace), clean_line(place.run_dir)
    if place.run_dir == os.path.join(place.workspace, "runs"):
        return f"cd {shlex.quote(workspace)} && flower"
    return f"flower -w {shlex.quote(workspace)} -r {shlex.quote(run_dir)}"


def shortened(path: str, own_home: Path) -> str:
    """``path`` with the person's home as ``~``."""
    own = str(own_home)
    if path == own:
        return "~"
    return "~" + path[len(own) :] if own != "/" and path.startswith(own + "/") else path


def _resolved(path: str, complaint: str, texts: Texts) -> str:
    start = here(texts)
    try:
        resolved = (start / path).resolve()
        str(resolved).encode()  # it has to go through JSON
        if resolved.exists() and not resolved.is_dir():
            raise Failed(texts(complaint, path=clean_line(path)))
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL, another encoding
        raise Failed(texts("bad_path", path=clean_line(path), reason=_reason(error))) from error
    return str(resolved)


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeError):
        return "not UTF-8"
    return clean_line(getattr(error, "strerror", None) or str(error))
