"""What lets a run in, and the wait for something else that may: a new login, another key.

All that wait share one watch over the folders in which credentials are looked for. What was there and what is there
now are compared as digests.
"""

import asyncio
import hashlib
import json
import logging
import os
import sys
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from flower.core import credentials

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 10.0  # where no change is told, on a network's file system say, it is looked for
SETTLE_SECONDS: Final = 0.3  # a file may be half written when its change is told
STEP_SECONDS: Final = 0.2  # the watch itself looks up so often

# They say which model is asked, not who asks.
_NO_CREDENTIALS: Final = frozenset(credentials.KNOWN) - {*credentials.SECRETS, "ANTHROPIC_BASE_URL"}


@dataclass(frozen=True, slots=True)
class Access:
    """``keys`` are those that a run takes along when it starts; ``login`` is Claude Code's own, which the CLI looks
    up each time, and which matters only where there is no key. ``present``: there is something to try.
    """

    keys: bytes
    login: bytes
    present: bool

    def with_login(self, now: "Access") -> "Access":
        """The same with the login of ``now``, unless a key made that one matter to nobody."""
        # A file of keys that is just being written looks empty, and then a login would seem to matter.
        return self if self.login == _NO_LOGIN else replace(self, login=now.login)


def access_of(environment: Mapping[str, str]) -> Access:
    """What would let in a run with this environment, now. Blocking."""
    found = _resolved(environment)
    keys = {name: value for name, value in found.values.items() if name not in _NO_CREDENTIALS}
    by_key = any(name in keys for name in (*credentials.SECRETS, *credentials.CLOUDS))
    login = {} if by_key else {str(path): _login_in(path) for path in _login_files(environment)}
    return Access(_digest(keys), _digest(login), found.present)


def files_of(environment: Mapping[str, str]) -> frozenset[Path]:
    """The files that `access_of` looks into, whether they are there or not. Blocking."""
    return frozenset((*(each.path for each in _resolved(environment).places), *_login_files(environment)))


@dataclass(eq=False, slots=True)
class _Waiting:
    files: frozenset[Path]
    told: asyncio.Event = field(default_factory=asyncio.Event)


class Logins:
    """One for the daemon, on its loop. Files are read in ``pool``."""

    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._waiting: set[_Waiting] = set()
        self._watching: asyncio.Task[None] | None = None
        self._others = asyncio.Event()

    async def look(self, environment: Mapping[str, str]) -> Access:
        """`access_of`, off the loop's thread."""
        found: Access = await self._in_pool(access_of, environment)
        return found

    async def changed(self, environment: Mapping[str, str], used: Access) -> Access:
        """Returns what there is to try, as soon as there is something and it is not ``used``.

        Without a limit: a person may come back tomorrow.
        """
        with self._watched(await self._in_pool(files_of, environment)) as waiting:
            while True:
                waiting.told.clear()
                found = await self._settled(environment, used)
                if found != used and found.present:
                    return found
                await waiting.told.wait()

    async def close(self) -> None:
        """Nobody is told any more."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _settled(self, environment: Mapping[str, str], used: Access) -> Access:
        """What is there, once it is ``used`` or stays the same for a moment."""
        found, before = await self.look(environment), used
        while found not in (used, before):
            await asyncio.sleep(SETTLE_SECONDS)
            found, before = await self.look(environment), found
        return found

    @contextmanager
    def _watched(self, files: frozenset[Path]) -> Iterator[_Waiting]:
        waiting = _Waiting(files)
        self._waiting.add(waiting)
        self._others.set()
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch(), name="watch credentials")
        try:
            yield waiting
        finally:
            self._waiting.discard(waiting)
            self._others.set()

    async def _watch(self) -> None:
        """Tell all that wait to look again, at each change and now and then, for as long as somebody waits."""
        while self._waiting:
            self._others.clear()
            files = frozenset(file for each in self._waiting for file in each.files)
            folders = await self._in_pool(_folders, files)
            async with aclosing(self._changes(folders, files)) as changes:
                async for _ in changes:
                    self._tell()
                    if await self._in_pool(_folders, files) != folders:  # one was made, or removed
                        break
            self._tell()

    async def _changes(self, folders: frozenset[Path], files: frozenset[Path]) -> AsyncGenerator[None, None]:
        """Yields at each change, and now and then; ends when others wait, or when the watch breaks."""
        watchfiles = await self._in_pool(import_module, "watchfiles")  # an idle daemon stays small
        names = _names(files)
        # The watch stands before this is called; what changed until then nobody was told.
        asyncio.get_running_loop().call_soon(self._tell)
        try:
            async for _ in watchfiles.awatch(
                *folders,
                watch_filter=lambda _, path: Path(path).name in names,
                step=int(STEP_SECONDS * 1000),
                stop_event=self._others,
                rust_timeout=int(LOOK_SECONDS * 1000),
                yield_on_timeout=True,
                recursive=False,
                ignore_permission_denied=True,
            ):
                yield
        except (OSError, RuntimeError) as error:  # no more watches to be had, or a folder that has just gone
            logger.info("changes of credentials are not told here, and looked for instead: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._others.wait()

    def _tell(self) -> None:
        for each in self._waiting:
            each.told.set()

    async def _in_pool(self, work: Any, argument: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, argument)


def _resolved(environment: Mapping[str, str]) -> credentials.Credentials:
    named = environment.get("PWD", "")  # as the library has it: a daemon's own folder says nothing
    return credentials.resolve(environment, cwd=Path(named) if named.startswith("/") else Path.cwd())


def _login_files(environment: Mapping[str, str]) -> list[Path]:
    home, configured = credentials.home_of(environment), environment.get("CLAUDE_CONFIG_DIR")
    folder = Path(configured or home / ".claude")
    profile = (folder if configured else home) / ".claude.json"
    return [folder / ".credentials.json", *([profile] if sys.platform == "darwin" else [])]


def _login_in(path: Path) -> Any:
    """What of the file is a login: others change it as well, a tool server's say."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content.get("claudeAiOauth") or content.get("oauthAccount") if isinstance(content, dict) else None


def _digest(content: Mapping[str, Any]) -> bytes:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()


_NO_LOGIN: Final = _digest({})


def _folders(files: Iterable[Path]) -> frozenset[Path]:
    """What can be watched: of each file its folder, or the nearest one above that is there."""
    return frozenset(next(parent for parent in file.parents if os.path.isdir(parent)) for file in files)


def _names(files: Iterable[Path]) -> frozenset[str]:
    """Of the files, and of the folders on the way to them that may yet be made."""
    return frozenset(name for file in files for name in file.parts)
