"""What went wrong, as the one line a person reads and the code a script gets."""

from collections.abc import Mapping
from typing import Final

from flower_protocol.control import Failure
from flower_protocol.errors import sentence
from flowerctl.autostart import CannotStart, log_path
from flowerctl.client import NoDaemon, NotOurs, Refused, Unanswered
from flowerctl.language import Texts
from flowerctl.sanitize import clean, clean_line

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
STOPPED: Final = 130
_WRONG_USAGE: Final = frozenset(
    {"not-available", "bad-value", "too-small", "bad-script", "already-clarified", "not-as-root"}
)

FAILURES: Final = (NoDaemon, NotOurs, Unanswered, Refused, CannotStart)


class Failed(Exception):
    """A deliberate end: the text is for the person, ``code`` for the shell."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def refused(failure: Failure, texts: Texts) -> Failed:
    """The `Failed` that stands for a refusal: a flag that can't take effect is wrong usage, whoever notices."""
    code = USAGE if failure.code in _WRONG_USAGE else FAILED
    return Failed(clean(sentence(failure, texts.language)), code)


def explained(error: Exception, texts: Texts, environment: Mapping[str, str]) -> Failed:
    """The `Failed` that stands for one of `FAILURES`, or for any other error, whose kind alone is named."""
    if isinstance(error, Refused):
        return refused(error.failure, texts)
    if isinstance(error, NoDaemon):
        return Failed(texts("no_daemon"))
    if isinstance(error, NotOurs):
        return Failed(texts("not_ours", path=error))
    if isinstance(error, CannotStart):
        return Failed(clean(texts("cannot_start", detail=error, log=error.log)))
    if isinstance(error, Unanswered):
        return Failed(clean(texts("unanswered", detail=error, log=log_path(environment))))
    return Failed(clean_line(texts("internal", detail=f"{type(error).__name__}: {error}"))[:500])
