"""How large the window of a model is: as a person says, as the CLI reports, as an overflow showed, or by its name.

What is learned is kept in ``.windows`` in the configuration folder, by gateway and model: a gateway may serve less
than the name of its model promises, and only the first overflow tells.
"""

import logging
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from flower.core.durable import locked, private_folder, set_aside, write_atomically

logger = logging.getLogger(__name__)

NAME = ".windows"
LARGE, SMALL = 1_000_000, 200_000
_LARGE_IN_NAME = re.compile(r"(?:^|[^a-z0-9])1m(?:[^a-z0-9]|$)", re.IGNORECASE)


def default_window(environment: Mapping[str, str] | None = None) -> int:
    """The window of the model that ``environment`` (this process's by default) names, in tokens.

    First found: ``FLOWER_WINDOW``, what was learned of this gateway and model, a guess by the name.
    """
    return Windows(os.environ if environment is None else environment).size()


def guessed(model: str) -> int:
    """The window by the model's name alone."""
    if _LARGE_IN_NAME.search(model):
        return LARGE
    return SMALL if "haiku" in model.lower() else LARGE


def configured_model(environment: Mapping[str, str]) -> str:
    """The model that the environment names; empty when it leaves it to the CLI."""
    names = ("ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL")
    return next((environment[name] for name in names if environment.get(name)), "")


def is_another(answered: str, configured: str) -> bool:
    """Whether the model that answers is not the one that was named. Aliases (``opus``) and prefixes name many."""
    names = [name.lower().partition("[")[0] for name in (answered, configured)]
    if not all(names) or not any(map(str.isdigit, names[1])):
        return False
    return names[0] not in names[1] and names[1] not in names[0]


class Windows:
    """What is known of the window of one model behind one gateway."""

    def __init__(self, environment: Mapping[str, str], model: str | None = None) -> None:
        self.model = model or configured_model(environment)
        self.named = model or environment.get("ANTHROPIC_MODEL", "")
        """The model that somebody has named; what the CLI takes by itself is not known beforehand."""
        self._said = _positive(environment.get("FLOWER_WINDOW", ""))
        self._key = f"{environment.get('ANTHROPIC_BASE_URL', '').rstrip('/')} {self.model}".strip()
        self._path = _configuration(environment) / "flower" / NAME
        self._known = self._read().get(self._key, {})

    def size(self) -> int:
        """The window in tokens."""
        return self._said or self.learned() or guessed(self.model)

    @property
    def is_said(self) -> bool:
        """Whether a person has said how large it is."""
        return self._said is not None

    def learned(self) -> int | None:
        """What the CLI reported or an overflow showed; a report that an overflow has disproved counts no more."""
        found = [self._known[name] for name in ("reported", "overflow") if name in self._known]
        return min(found, default=None)

    def report(self, window: int) -> None:
        """The CLI says how large the window is."""
        if window > 0 and self._known.get("reported") != window:
            self._learn(reported=window)

    def overflow(self, level: int) -> None:
        """The context was too long at this level; the smallest such level counts."""
        if level > 0 and level < self._known.get("overflow", level + 1):
            self._learn(overflow=level)

    def _learn(self, **facts: int) -> None:
        self._known = {**self._known, **facts}
        try:
            private_folder(self._path.parent)
            with locked(self._path):
                everything = self._read()
                everything[self._key] = {**everything.get(self._key, {}), **facts}
                write_atomically(self._path, msgspec.json.encode(everything))
        except OSError as error:
            # It is known for this run, and will be learned again.
            logger.warning("could not write %s: %s", self._path, error)

    def _read(self) -> dict[str, dict[str, int]]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, dict[str, int]])
        except msgspec.MsgspecError:
            set_aside(self._path)
            return {}
        except (OSError, UnicodeDecodeError):
            return {}


def window_reported(model_usage: Mapping[str, Any] | None, model: str) -> int:
    """The window that a result reports for ``model``, 0 when it doesn't; subagents' models are no measure."""
    usage = model_usage or {}
    bare = model.partition("[")[0]
    names = [name for name in usage if name.partition("[")[0] == bare] if bare else list(usage)
    return max((int(usage[name].get("contextWindow") or 0) for name in names), default=0)


def _positive(text: str) -> int | None:
    return int(text) if text.isdecimal() and int(text) > 0 else None


def _configuration(environment: Mapping[str, str]) -> Path:
    home = environment.get("HOME") or str(Path.home())
    return Path(environment.get("XDG_CONFIG_HOME") or f"{home}/.config")
