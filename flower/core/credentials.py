"""Finds the credentials of a run, says what is missing, and makes the environment of a child.

Per key the first place that has a value wins: the given environment, the file that ``FLOWER_ENV`` names, ``.env`` in
the current folder, the user's own ``flower/.env``, and the ``env`` block of Claude Code's settings. A key that is
set to nothing is not set, everywhere. Without any key the user's Claude Code login serves; it belongs to Claude
Code, which reads and renews it. Nothing here writes to the disk, and no value gets into a text unmasked.
"""

import json
import os
import pwd
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flower.core.dotenv import parse_dotenv
from flower.core.session_marks import is_session_mark
from flower.core.words import Words

KNOWN = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "CLAUDE_CODE_SUBAGENT_MODEL",
    "CLAUDE_CODE_EFFORT_LEVEL",
)

# Each of these alone lets the CLI in, by a value...
SECRETS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
# ...or by a switch that sends it to a cloud whose own credentials it then finds by itself.
CLOUDS = (
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_ANTHROPIC_AWS",
    "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD",
)

# What the `.env` of a project may set: it came with somebody's code, and was written for another program.
# The user's own files may set anything.
PROJECT_NAMES = frozenset((*KNOWN, *SECRETS, *CLOUDS, "FLOWER_WINDOW"))

ENVIRONMENT = "environment"  # the source of what came with the given environment; all others are paths


@dataclass(frozen=True)
class Place:
    """A file where credentials were looked for. ``missing``: there is none; ``unreadable``: there is, but in vain."""

    path: Path
    missing: bool = False
    unreadable: bool = False


@dataclass(frozen=True, repr=False)
class Credentials:
    """What was found, by name: the nine keys, the other ways in, and what else the user's own files set.

    ``sources`` says where each value came from: ``environment`` or a path. ``login`` is Claude Code's own login
    of this user, whether or not a key makes it unnecessary. ``places`` are the files that were looked at.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    login: Path | None = None
    places: tuple[Place, ...] = ()
    home: Path = Path("/")

    @property
    def present(self) -> bool:
        """Whether anything was found that can let the CLI in. Whether it does, only a request can tell."""
        values = self.values
        by_cloud = any(is_on(values.get(name)) for name in CLOUDS)
        return by_cloud or self.login is not None or any(name in values for name in SECRETS)

    def __repr__(self) -> str:
        found = ", ".join(f"{name} from {self.sources[name]}" for name in sorted(self.values))
        return f"<Credentials: {found or 'no key'}; login: {self.login}>"


def resolve(env: Mapping[str, str], *, cwd: Path, platform: str = sys.platform) -> Credentials:
    """Look for each key in its places, in order. Never raises: what can't be read is noted in ``places``."""
    home = home_of(env)
    values = {name: env[name].strip() for name in PROJECT_NAMES if env.get(name, "").strip()}
    sources = dict.fromkeys(values, ENVIRONMENT)
    places = []
    for path, names in _files(env, cwd, home):
        place, settings = _read(path)
        places.append(place)
        for name, value in settings.items():
            if (
                value
                and (names is None or name in names)
                and name not in values
                and not env.get(name, "").strip()
            ):
                values[name], sources[name] = value, str(path)
    if "ANTHROPIC_BASE_URL" in values:
        values["ANTHROPIC_BASE_URL"] = normalised(values["ANTHROPIC_BASE_URL"])
    return Credentials(values, sources, _login(env, home, platform), tuple(places), home)


def normalised(base_url: str) -> str:
    """The base URL without the ``/v1`` and the slashes at its end: the CLI appends its own."""
    return base_url.rstrip("/").removesuffix("/v1").rstrip("/")


def is_on(value: str | None) -> bool:
    """Whether a switch is on, as the CLI reads its own."""
    return (value or "").strip().lower() in ("1", "true", "yes", "on")


def check(credentials: Credentials, language: str = "zh") -> str | None:
    """None when there is something to try; else four lines: what is missing, where it was looked for, what to do."""
    if credentials.present:
        return None
    return _MISSING.spoken(language).format(looked=_looked(credentials, language))


def describe(credentials: Credentials, language: str = "zh") -> list[str]:
    """A line for each value found, with its source; whatever may be a secret is masked."""
    names = [name for name in KNOWN if name in credentials.values]
    names += sorted(credentials.values.keys() - set(KNOWN))
    lines = [
        f"{name}={_shown(name, credentials.values[name], language)}  <- {_source(credentials, name, language)}"
        for name in names
    ]
    if credentials.login is not None:
        lines.append(f"{_LOGIN_NAME.spoken(language)}  <- {_short(credentials.login, credentials.home)}")
    return lines


def mask(value: str, language: str = "zh") -> str:
    """``sk-1***(共 19 位)``: four characters and the length. Of a value under twelve, nothing but the length."""
    shown = value[:4] if len(value) >= 12 else ""
    return f"{shown}***" + Words("(共 {n} 位)", "({n} characters)").spoken(language).format(n=len(value))


def child_env(env: Mapping[str, str], credentials: Credentials) -> dict[str, str]:
    """The exact environment for a CLI child: `env` without the marks of an outer agent session, with what was found.

    Keys that are set to nothing are left out, for the CLI would take them for set.
    """
    merged = {**env, **credentials.values}
    return {
        name: value
        for name, value in merged.items()
        if not is_session_mark(name) and (value.strip() or name not in PROJECT_NAMES)
    }


def home_of(env: Mapping[str, str]) -> Path:
    """The user's home: ``HOME``, or what the user database says where a service manager gave none."""
    home = env.get("HOME")
    if home:
        return Path(home)
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:  # a container's made-up uid
        return Path("/")


def user_file(env: Mapping[str, str]) -> Path:
    """The user's own credentials file, ``$XDG_CONFIG_HOME/flower/.env``; it need not exist."""
    configured = env.get("XDG_CONFIG_HOME", "")
    # The XDG specification has relative paths ignored.
    base = Path(configured) if configured.startswith("/") else home_of(env) / ".config"
    return base / "flower" / ".env"


_PUBLIC = frozenset(KNOWN) - frozenset(SECRETS) | frozenset(CLOUDS)

_LOGIN_NAME = Words("Claude Code 的登录", "the login of Claude Code")

_MISSING = Words(
    "缺少凭证:需要 ANTHROPIC_API_KEY 或 ANTHROPIC_AUTH_TOKEN。\n"
    "找过:{looked}。\n"
    "给法:export ANTHROPIC_API_KEY=…,或者把 ANTHROPIC_API_KEY=… 写进上面任意一个 .env。\n"
    "也行:登录过的 Claude Code(跑 `claude` 再 /login)、CLAUDE_CODE_OAUTH_TOKEN(`claude setup-token`)、"
    "CLAUDE_CODE_USE_BEDROCK=1 或 CLAUDE_CODE_USE_VERTEX=1。没有 key 也能先看看:flower --rehearse",
    "No credentials: ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN is needed.\n"
    "Looked in: {looked}.\n"
    "To give them: export ANTHROPIC_API_KEY=…, or write that into any .env above.\n"
    "As good: a logged-in Claude Code (run `claude`, then /login), CLAUDE_CODE_OAUTH_TOKEN (`claude setup-token`), "
    "CLAUDE_CODE_USE_BEDROCK=1 or CLAUDE_CODE_USE_VERTEX=1. Without any key: flower --rehearse",
)


def _files(env: Mapping[str, str], cwd: Path, home: Path) -> list[tuple[Path, frozenset[str] | None]]:
    # Each file with the names that it may set; None: any.
    chosen = env.get("FLOWER_ENV", "").strip()
    settings = _claude_folder(env, home)
    nine = frozenset(KNOWN)
    return [
        *([(cwd / _at_home(chosen, home), None)] if chosen else []),
        (cwd / ".env", PROJECT_NAMES),
        (user_file(env), None),
        (settings / "settings.json", nine),
        (settings / "settings.local.json", nine),
    ]


def _at_home(path: str, home: Path) -> Path:
    return home / path.removeprefix("~/") if path.startswith("~/") else Path(path)


def _claude_folder(env: Mapping[str, str], home: Path) -> Path:
    return Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude")


def _read(path: Path) -> tuple[Place, dict[str, str]]:
    try:
        text = path.read_text(encoding="utf-8")
        settings = _settings_env(json.loads(text)) if path.suffix == ".json" else parse_dotenv(text)
    except (FileNotFoundError, NotADirectoryError):
        return Place(path, missing=True), {}
    except (OSError, ValueError):  # not ours to read, no UTF-8, no JSON
        return Place(path, unreadable=True), {}
    return Place(path), {name: value.strip() for name, value in settings.items()}


def _settings_env(settings: Any) -> dict[str, str]:
    block = settings.get("env") if isinstance(settings, dict) else None
    if not isinstance(block, dict):
        return {}
    return {name: value for name, value in block.items() if isinstance(value, str)}


def _login(env: Mapping[str, str], home: Path, platform: str) -> Path | None:
    folder = _claude_folder(env, home)
    kept = folder / ".credentials.json"
    if _holds(kept, "claudeAiOauth"):
        return kept
    # On a Mac the login itself is in the keychain; this file only says that there is one.
    profile = folder / ".claude.json" if env.get("CLAUDE_CONFIG_DIR") else home / ".claude.json"
    return profile if platform == "darwin" and _holds(profile, "oauthAccount") else None


def _holds(path: Path, name: str) -> bool:
    # A logout, or a login to some tool server alone, leaves the file there without a login in it.
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and bool(content.get(name))


def _looked(credentials: Credentials, language: str) -> str:
    missing, unreadable = (
        Words("没有", "none").spoken(language),
        Words("读不了", "unreadable").spoken(language),
    )
    parts = [Words("环境变量", "the environment").spoken(language)]
    for place in credentials.places:
        note = missing if place.missing else unreadable if place.unreadable else ""
        shown = _short(place.path, credentials.home)
        if place.path.suffix == ".json":
            shown += Words(" 的 env(只借那 9 个键)", " (env block, those 9 keys only)").spoken(language)
        parts.append(f"{shown}({note})" if note else shown)
    parts.append(_LOGIN_NAME.spoken(language))
    return Words("、", ", ").spoken(language).join(parts)


def _short(path: Path, home: Path) -> str:
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _shown(name: str, value: str, language: str) -> str:
    if name not in _PUBLIC:
        return mask(value, language)
    # A gateway's address may hold a password.
    return re.sub(r"(?<=//)[^/]*@", "***@", value)


def _source(credentials: Credentials, name: str, language: str) -> str:
    source = credentials.sources[name]
    if source == ENVIRONMENT:
        return Words("环境变量", ENVIRONMENT).spoken(language)
    return _short(Path(source), credentials.home)
