"""The scripts that the rehearsal plays: their shape, and how a file becomes one.

A script is plain data, written in TOML or JSON; README.md beside this file explains it in words. The checks
live here, next to the shape, so that a script made in code and one read from a file are held to the same.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from flower.core.words import Words
from flower.rehearsal.flaws import Flaw, ScriptError, file_reason, reason_of

_CLOSING = Words("该做的都做完了。", "All there was to do is done.")
_MEANWHILE = Words("已经派出去了, 等他的报告回来。", "Somebody is at it; I wait for the report.")

SCRIPTS = Path(__file__).parent / "scripts"

Count = Annotated[int, msgspec.Meta(ge=1)]
Tokens = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]


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
            raise Flaw(
                Words(
                    "`status`、`drop`、`offline_seconds` 三样里要有一样, 也只能有一样",
                    "a fault is exactly one of `status`, `drop` and `offline_seconds`",
                )
            )


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
    meanwhile_tokens: Usage = Usage()
    faults: list[Fault] = []

    def __post_init__(self) -> None:
        if not self.text and not self.calls:
            raise Flaw(
                Words(
                    "一轮里要么说话 (`text`), 要么调工具 (`calls`)",
                    "a turn says something (`text`) or calls a tool (`calls`)",
                )
            )
        if self.calls and all(call.optional for call in self.calls):
            words = Words(
                "一轮的调用不能全是 `optional`",
                "at least one call of a turn isn't `optional`",
            )
            raise Flaw(words)
        if self.times > 1 and not self.calls:
            raise Flaw(
                Words(
                    "`times` 要配 `calls`: 只说话的一轮说完就交还了",
                    "`times` needs `calls`: a turn that only speaks ends the model's turn",
                )
            )
        _check_pattern("when", self.when)
        _check_pattern("unless", self.unless)


class Find(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is looked for in a person's words: the first group of `pattern`; `otherwise` while it isn't there."""

    pattern: str
    otherwise: str = ""

    def __post_init__(self) -> None:
        _check_pattern("pattern", self.pattern)
        if not re.compile(self.pattern).groups:
            raise Flaw(
                Words(
                    "`pattern` 里要有一对括号, 圈出要找的那一段",
                    "`pattern` needs a group: what is to be found",
                )
            )


class Scene(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of turns for one role. `again`: played once more whenever a person speaks after its end.

    `cuts_in`: when its prompt comes, it doesn't wait until the scene that is being played has ended. `finds`: what
    it takes from the words that fit its prompt, for `{found:name}`.
    """

    # The name travels in the ids of tool calls, which take no other characters ("_" parts the fields).
    name: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9-]{1,40}$")]
    turns: Annotated[list[Turn], msgspec.Meta(min_length=1)]
    role: str = ""
    prompt: str = ""
    again: bool = False
    cuts_in: bool = False
    finds: dict[Annotated[str, msgspec.Meta(pattern="^[a-z]+$")], Find] = {}

    def __post_init__(self) -> None:
        _check_pattern("prompt", self.prompt)
        if self.turns[0].when or self.turns[0].unless:
            raise Flaw(
                Words(
                    "一场的第一轮不能有 `when` 和 `unless`: 还没有结果",
                    "the first turn of a scene can't have `when` or `unless`: no result stands yet",
                )
            )
        if self.cuts_in and not self.prompt:
            raise Flaw(Words("`cuts_in` 要配 `prompt`", "`cuts_in` needs a `prompt`"))


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
    """A whole play. The roles `main` and `worker` exist without being named.

    `language` is that of the words it leaves out: `closing` and `meanwhile`. `model` is the name under which it
    answers, whatever it was asked for; that is what a gateway does which serves another one.
    """

    scenes: list[Scene]
    roles: dict[str, Role] = {}
    closing: str = ""
    meanwhile: str = ""
    language: Literal["zh", "en"] = "zh"
    model: str = ""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "closing", self.closing or _CLOSING.spoken(self.language))
        msgspec.structs.force_setattr(self, "meanwhile", self.meanwhile or _MEANWHILE.spoken(self.language))
        names = [scene.name for scene in self.scenes]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise Flaw(Words(f"有两场都叫 `{twice}`", f"two scenes are called `{twice}`"))
        known = self.all_roles()
        for index, scene in enumerate(self.scenes):
            if scene.role and scene.role not in known:
                raise Flaw(
                    Words(
                        f"scenes[{index}].role 说的是 `{scene.role}`, 可是 [roles.…] 里没有它",
                        f"scenes[{index}].role names `{scene.role}`, which stands in no [roles.…]",
                    )
                )

    def all_roles(self) -> dict[str, Role]:
        """The script's own roles in their order, then the two that every script has."""
        built_in = {"main": Role(thread="main"), "worker": Role(thread="worker")}
        return {**self.roles, **{name: role for name, role in built_in.items() if name not in self.roles}}


def load_script(path_or_name: str | Path, language: str = "zh") -> Script:
    """The script in a file (`.toml` or `.json`), or the one of that name that comes along (`"default"`).

    ``language`` (zh or en) chooses among those that come along, and fills in what a file leaves out.

    Raises ScriptError, naming the file and the field, for whatever keeps it from being played.
    """
    path = _locate(path_or_name, language)
    if path.suffix not in (".toml", ".json"):
        raise ScriptError(
            str(path),
            "name",
            Words("剧本的文件名要以 .toml 或 .json 结尾", "a script ends in .toml or .json"),
        )
    try:
        return _decode(path, language)
    except OSError as error:
        raise ScriptError(str(path), "", file_reason(error)) from error
    except msgspec.ValidationError as error:
        reason, _, where = str(error).partition(" - at `$")
        raise ScriptError(str(path), where.rstrip("`").lstrip("."), reason_of(error, reason)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ScriptError(str(path), "", reason_of(error, str(error))) from error


def _decode(path: Path, language: str) -> Script:
    decode = msgspec.toml.decode if path.suffix == ".toml" else msgspec.json.decode
    content: Any = decode(path.read_bytes())
    if isinstance(content, dict):
        content = {"language": language, **content}
    return msgspec.convert(content, Script)


def _locate(path_or_name: str | Path, language: str) -> Path:
    if isinstance(path_or_name, Path) or "/" in path_or_name or "." in path_or_name:
        return Path(path_or_name)
    twin = SCRIPTS / f"{path_or_name}.{language}.toml"
    return twin if twin.exists() else SCRIPTS / f"{path_or_name}.toml"


def _check_pattern(field: str, pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        at = (error.pos or 0) + 1
        words = Words(
            f"`{field}` 不是一个正则表达式, 第 {at} 个字符处不对",
            f"`{field}` is no regular expression: {error}",
        )
        raise Flaw(words) from error
