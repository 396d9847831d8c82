"""The scripts that the rehearsal plays: their shape, and how a file becomes one.

A script is plain data, written in TOML or JSON; README.md beside this file explains it in words. The checks
live here, next to the shape, so that a script made in code and one read from a file are held to the same.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from flower.core.words import Words

SCRIPTS = Path(__file__).parent / "scripts"

Count = Annotated[int, msgspec.Meta(ge=1)]
Tokens = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]


class ScriptError(ValueError):
    """A script that can't be played; says which file, which field of it, and why.

    `words` holds the whole sentence in both languages; as text, the error is the Chinese one.
    """

    def __init__(self, source: str, field: str, reason: str) -> None:
        self.words = Words(
            f"剧本 {source} 的 {field} 不对: {reason}", f"the script {source} is wrong at {field}: {reason}"
        )
        super().__init__(self.words.zh)
        self.source = source
        self.field = field
        self.reason = reason


class Call(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One tool call. An `optional` one is left out when the request doesn't offer the tool."""

    tool: Annotated[str, msgspec.Meta(min_length=1)]
    input: dict[str, Any] = {}
    optional: bool = False


class Usage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The token counts that a turn reports; what is left out is estimated from the request."""

    input: Tokens | None = None
    output: Tokens | None = None
    cache_read: Tokens = 0
    cache_creation: Tokens = 0


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What goes wrong before a turn is played: exactly one of `status`, `drop` and `offline_seconds`.

    It happens `times` times in the life of an endpoint, or always with `forever`. `headers` come on top of the
    API's own; one that is empty is left out.
    """

    status: Literal[400, 401, 403, 404, 413, 429, 500, 529] | None = None
    message: str = ""
    retry_after: str = ""
    headers: dict[str, str] = {}
    drop: Literal["before", "middle"] | None = None
    offline_seconds: Annotated[float, msgspec.Meta(gt=0)] | None = None
    times: Count = 1
    forever: bool = False

    def __post_init__(self) -> None:
        if sum(kind is not None for kind in (self.status, self.drop, self.offline_seconds)) != 1:
            raise ValueError("a fault is exactly one of `status`, `drop` and `offline_seconds`")


class Turn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer of the model: what it thinks, says and calls, and how that goes."""

    text: str = ""
    thinking: str = ""
    calls: list[Call] = []
    when: str = ""
    unless: str = ""
    times: Count = 1
    takes: Seconds = 0.0
    tokens: Usage = Usage()
    hold: str = ""
    meanwhile: str = ""
    faults: list[Fault] = []

    def __post_init__(self) -> None:
        if not self.text and not self.calls:
            raise ValueError("a turn says something (`text`) or calls a tool (`calls`)")
        if self.calls and all(call.optional for call in self.calls):
            raise ValueError("at least one call of a turn isn't `optional`")
        if self.times > 1 and not self.calls:
            raise ValueError("`times` needs `calls`: a turn that only speaks ends the model's turn")
        _check_pattern("when", self.when)
        _check_pattern("unless", self.unless)


class Scene(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of turns for one role. `again`: played once more whenever a person speaks after its end.

    `cuts_in`: when its prompt comes, it doesn't wait until the scene that is being played has ended.
    """

    # The name travels in the ids of tool calls, which take no other characters ("_" parts the fields).
    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9-]{1,40}$")]
    turns: Annotated[list[Turn], msgspec.Meta(min_length=1)]
    role: str = ""
    prompt: str = ""
    again: bool = False
    cuts_in: bool = False

    def __post_init__(self) -> None:
        _check_pattern("prompt", self.prompt)
        if self.turns[0].when or self.turns[0].unless:
            raise ValueError("the first turn of a scene can't have `when` or `unless`: no result stands yet")
        if self.cuts_in and not self.prompt:
            raise ValueError("`cuts_in` needs a `prompt`")


class Role(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whom a request comes from. Every condition that is given must hold.

    Requests that offer no tools are the CLI's own (a title, a probe) and get a canned answer, unless a role
    with `side` claims them; such a role claims no others.
    """

    thread: Literal["", "main", "worker"] = ""
    system: str = ""
    tools: list[str] = []
    without: list[str] = []
    side: bool = False

    def __post_init__(self) -> None:
        _check_pattern("system", self.system)


class Script(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole play. The roles `main` and `worker` exist without being named."""

    scenes: list[Scene]
    roles: dict[str, Role] = {}
    closing: str = "该做的都做完了。"
    meanwhile: str = "已经派出去了, 等他的报告回来。"

    def __post_init__(self) -> None:
        names = [scene.name for scene in self.scenes]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two scenes are called `{twice}`")
        known = self.all_roles()
        for index, scene in enumerate(self.scenes):
            if scene.role and scene.role not in known:
                raise ValueError(f"scenes[{index}].role names `{scene.role}`, which stands in no [roles.…]")

    def all_roles(self) -> dict[str, Role]:
        """The script's own roles in their order, then the two that every script has."""
        built_in = {"main": Role(thread="main"), "worker": Role(thread="worker")}
        return {**self.roles, **{name: role for name, role in built_in.items() if name not in self.roles}}


def load_script(path_or_name: str | Path) -> Script:
    """The script in a file (`.toml` or `.json`), or the one of that name that comes along (`"default"`).

    Raises ScriptError, naming the file and the field, for whatever keeps it from being played.
    """
    path = _locate(path_or_name)
    if path.suffix not in (".toml", ".json"):
        raise ScriptError(str(path), "name", "a script ends in .toml or .json")
    try:
        return _decode(path)
    except OSError as error:
        raise ScriptError(str(path), "file", error.strerror or str(error)) from error
    except msgspec.ValidationError as error:
        reason, _, where = str(error).partition(" - at `$")
        raise ScriptError(str(path), where.rstrip("`").lstrip(".") or "script", reason) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ScriptError(str(path), "syntax", str(error)) from error


def _decode(path: Path) -> Script:
    if path.suffix == ".toml":
        return msgspec.toml.decode(path.read_bytes(), type=Script)
    return msgspec.json.decode(path.read_bytes(), type=Script)


def _locate(path_or_name: str | Path) -> Path:
    if isinstance(path_or_name, Path) or "/" in path_or_name or "." in path_or_name:
        return Path(path_or_name)
    return SCRIPTS / f"{path_or_name}.toml"


def _check_pattern(field: str, pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"`{field}` is no regular expression: {error}") from error
