"""What an agent needs before it can start: credentials, folders that can be written, and a model, or a script for one.

All of it blocks, and refuses in the language of whoever asks.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flower.core import credentials
from flowerd.environment import for_rehearsal
from flowerd.refusal import Refused

if TYPE_CHECKING:
    from flower.rehearsal import Rehearsal, Script


def require_credentials(environment: Mapping[str, str], language: str) -> None:
    """Raises `Refused` when nothing leads to a model."""
    # A daemon's own folder says nothing of the person's.
    named = environment.get("PWD", "")
    here = Path(named) if named.startswith("/") else Path.cwd()
    problem = credentials.check(credentials.resolve(environment, cwd=here), language)
    if problem is not None:
        raise Refused("no-credentials", text=problem)


def played(script: str | None, language: str) -> "Script":
    """The ``script`` of a rehearsal (None: the one that comes along). Raises `Refused` if it can't be played."""
    from flower.rehearsal import ScriptError, load_script

    try:
        return load_script(script or "default", language)
    except ScriptError as error:
        raise Refused("bad-script", detail=error.words.spoken(language)) from error


def rehearsed(
    environment: Mapping[str, str], script: str | None, language: str
) -> "tuple[Rehearsal, dict[str, str]]":
    """A model that plays ``script`` (None: the one that comes along) until it is closed, and what leads to it.

    Raises `Refused`.
    """
    from flower.rehearsal import Rehearsal

    rehearsal = Rehearsal(played(script, language)).start()
    return rehearsal, for_rehearsal(environment, rehearsal.env())


def refusal_of(error: OSError, run_dir: str) -> Refused:
    """What to say when a `Runtime` could not be made."""
    if error.errno is None:  # no CLI was found: the text says it all
        return Refused("no-cli", text=str(error))
    return Refused("not-writable", path=str(error.filename or run_dir), detail=error.strerror or str(error))
