"""Large results are in a file the moment they arrive: the model sees where, and how they begin.

The CLI takes a changed result only in the shape of the original, so a result of fields is changed field by field:
``stdout`` of Bash, ``content`` of Grep, ``file.content`` of Read, ``result`` of WebFetch. Lists (names of files,
hits of a search) and pictures stay as they are. A result of Bash that was too long for the CLI itself arrives cut,
with the path of the whole: that whole is what is kept here, for the CLI's own file ends with its folder.

The file's name is its content's digest: the same result is kept once.
"""

import asyncio
import hashlib
import logging
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flower.core.durable import private_folder
from flower.core.guards.hook import Call, matcher, of_worker
from flower.core.words import Words
from flower.core.workbench import Workbench

logger = logging.getLogger(__name__)

BULKY = "Bash|Read|Grep|Glob|WebFetch|WebSearch"
SHOWN_CHARACTERS = 400

_POINTER = Words(
    "[结果有 {chars} 字符,全文在 {path},需要时用 Read 或 Grep 看,不用重跑。下面是开头 {shown} 字符]",
    "[The result has {chars} characters, all of it is in {path}: look with Read or Grep, no need to run it again. Below"
    " are the first {shown} characters]",
)
# What the CLI gives with a result of Bash that it cut, and where the cut text stands.
_CUT = ("stdout", "persistedOutputPath", "persistedOutputSize")
_CHUNK = 1 << 20


def spill_guard(
    workbench: Workbench,
    *,
    threshold: int = 4000,
    tools: str = BULKY,
    main_only: bool = False,
    language: str = "zh",
) -> Any:
    """A matcher that moves each text of at least ``threshold`` characters in a result of ``tools`` to a file.

    In its place the model gets one line that says where, and the first 400 characters. A call that names the
    folder of these files is let through, or reading one would make another of it. ``main_only``: workers' results
    stay whole. What can't be written (a full disk) stays whole too.
    """
    spill = _Spill(workbench.root / "spill", threshold, _POINTER.spoken(language))
    marks = (str(spill.folder), workbench.show(spill.folder))

    async def guard(call: Call, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        result = call.get("tool_response")
        if (main_only and of_worker(call)) or _names_any(call, marks):
            return {}
        try:
            replaced = await asyncio.to_thread(spill.replaced, result)
        except OSError as error:
            logger.warning("could not keep a large result in %s: %s", spill.folder, error)
            return {}
        if replaced == result:
            return {}
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": replaced}}

    return matcher(tools, guard)


@dataclass(frozen=True)
class _Spill:
    folder: Path
    threshold: int
    pointer: str

    def replaced(self, result: Any) -> Any:
        """The result, with each large text in a file. Raises `OSError`."""
        if isinstance(result, str) and len(result) >= self.threshold:
            return self._pointer(result, [result])
        if not isinstance(result, Mapping) or _is_picture(result):
            return result
        whole = self._whole(result)
        # With the CLI's path beside it, the CLI would show a pointer of its own around ours.
        fields = {name: value for name, value in result.items() if not (whole and name in _CUT)}
        return {name: self.replaced(value) for name, value in fields.items()} | whole

    def _whole(self, fields: Mapping[str, Any]) -> dict[str, str]:
        """The field that the CLI cut, with all of it in a file; nothing when none is, or its file can't be read."""
        start, path = fields.get("stdout"), fields.get("persistedOutputPath")
        if not isinstance(start, str) or not isinstance(path, str) or len(start) < self.threshold:
            return {}
        try:
            return {"stdout": self._pointer(start, _chunks(Path(path)))}
        except (FileNotFoundError, PermissionError):
            return {}

    def _pointer(self, start: str, text: Iterable[str]) -> str:
        path, chars = self._keep(text)
        line = self.pointer.format(chars=chars, path=path, shown=SHOWN_CHARACTERS)
        return f"{line}\n{start[:SHOWN_CHARACTERS]}"

    def _keep(self, text: Iterable[str]) -> tuple[Path, int]:
        """Write the text; returns the file and the number of characters."""
        digest, chars = hashlib.sha256(), 0
        descriptor, temporary = tempfile.mkstemp(prefix=".", dir=private_folder(self.folder))  # 0600
        try:
            with open(descriptor, "wb") as file:
                for part in text:
                    content = part.encode(errors="replace")  # half a character, cut off by a tool
                    digest.update(content)
                    chars += len(part)
                    file.write(content)
                file.flush()
                os.fsync(file.fileno())  # from now on it is the only copy
            path = self.folder / f"{digest.hexdigest()[:16]}.txt"
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return path, chars


def _chunks(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        while part := file.read(_CHUNK):
            yield part


def _is_picture(fields: Mapping[str, Any]) -> bool:
    return bool(fields.get("isImage")) or "base64" in fields


def _names_any(call: Call, marks: tuple[str, ...]) -> bool:
    folder = marks[0]
    for text in _texts(call.get("tool_input")):
        path = os.path.normpath(os.path.join(str(call.get("cwd", "")), text))
        if any(mark in text for mark in marks) or path == folder or path.startswith(folder + os.sep):
            return True
    return False


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
