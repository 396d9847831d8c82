"""The daemon as an object: it owns the parts, starts them in order, and ends them in order.

`main` makes one for the process; a test makes one on a socket in a temporary folder.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from aiohttp import web

from flower_protocol.runs import StartRun
from flower_protocol.version import PROTOCOL
from flower_protocol.workspaces import DaemonStatus, Place
from flowerd import registry
from flowerd.app import build
from flowerd.attachment import Attachment
from flowerd.facts import boot_id, own_version, resident_bytes
from flowerd.library_run import LibraryRun
from flowerd.listener import Listener
from flowerd.lives import forget_old
from flowerd.logins import Logins
from flowerd.probe import Probe
from flowerd.registry import Registry
from flowerd.run import Run, Runs
from flowerd.settings import Settings
from flowerd.shared import Shared
from flowerd.workspaces import Workspaces

logger = logging.getLogger(__name__)

LOCK_NAME: Final = "flowerd.lock"
POOL_THREADS: Final = 4
LONGEST_REQUEST_LINE: Final = 32 * 1024  # two paths of 4,096 bytes, three characters for each byte

# Together below the five seconds in which a daemon that was told to end has ended.
RESCUE_SECONDS: Final = 1.0
CHILDREN_SECONDS: Final = 2.0
CLIENTS_SECONDS: Final = 0.4
FILES_SECONDS: Final = 1.0


class Daemon:
    """`start` it, `wait_until_asked` to stop, `close` it."""

    def __init__(self, settings: Settings, *, runs: Runs | None = None) -> None:
        self.settings = settings
        self.ending = False
        self._born = self._touched = time.monotonic()
        self._pool = ThreadPoolExecutor(POOL_THREADS, thread_name_prefix="flowerd")
        self._outside = ThreadPoolExecutor(POOL_THREADS, thread_name_prefix="outside")
        self._registry = Registry(settings.state / registry.NAME, self._pool)
        self._probe = Probe()
        self.shared = Shared(
            registry=self._registry,
            runs=runs or self._library_run,
            pool=self._pool,
            outside=self._outside,
            generation=_new_generation(),
            boot=boot_id(),
            journals=settings.state / "journals",
            limits=settings.journal,
            logins=Logins(self._outside),
        )
        self.workspaces = Workspaces(self.shared)
        self._listener = Listener(settings.socket, settings.state / LOCK_NAME)
        # No access log: it would name the folders people work in, once a request.
        self._runner = web.AppRunner(
            build(self),
            handle_signals=False,
            access_log=None,
            shutdown_timeout=CLIENTS_SECONDS,
            max_line_size=LONGEST_REQUEST_LINE,
        )
        self._attachments: set[Attachment] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._serving: asyncio.Task[None] | None = None
        self._asked = asyncio.Event()

    async def start(self, inherited: socket.socket | None = None) -> None:
        """Returns when the socket answers. Raises `AlreadyServed` or `SocketRefused`; then nothing is left behind."""
        try:
            await self._take_the_socket(inherited)
            await self._remember()
            await self._serve()
        except BaseException:
            self._listener.close()
            self._let_threads_go()
            raise
        logger.info("flowerd %s serves %s", own_version(), self._listener.path)

    async def wait_until_asked(self) -> None:
        """Returns when the daemon should end: somebody asked it to, or it has been idle for long enough."""
        await self._asked.wait()

    def ask_to_stop(self, why: str) -> None:
        """Make `wait_until_asked` return."""
        if not self._asked.is_set():
            logger.info("ending %s", why)
            self._asked.set()

    async def close(self, reason: str = "daemon-stopped") -> None:
        """End everything, in under five seconds. Runs in flight get a row with ``reason`` and are interrupted."""
        self.ending = True
        await self._let_nobody_in()
        workspaces = self.workspaces.all()
        await _within(RESCUE_SECONDS, "writing rows", (each.rescue(reason) for each in workspaces))
        await _within(CHILDREN_SECONDS, "ending children", (each.cut_off(reason) for each in workspaces))
        await self._part_with_clients()
        await _within(FILES_SECONDS, "closing journals", (each.close() for each in workspaces))
        await _within(FILES_SECONDS, "saving the registry", [self._registry.saved()])
        await self.shared.logins.close()
        await self._probe.close()
        await self._end_tasks()
        self._let_threads_go()
        self._listener.close()
        logger.info("flowerd has ended")

    def rescue_now(self, reason: str) -> None:
        """Write the rows of all steps in flight, on this very thread: there is no time for anything else."""
        for workspace in self.workspaces.all():
            workspace.rescue_now(reason)

    def status(self) -> DaemonStatus:
        return DaemonStatus(
            pid=os.getpid(),
            version=own_version(),
            protocol=PROTOCOL,
            uptime_s=round(time.monotonic() - self._born, 3),
            rss_bytes=resident_bytes(),
        )

    def touch(self) -> None:
        """Somebody wants something: the time until an idle end begins anew."""
        self._touched = time.monotonic()

    @contextlib.contextmanager
    def attached(self, attachment: Attachment) -> Iterator[None]:
        """While inside, the client counts as present."""
        self._attachments.add(attachment)
        try:
            yield
        finally:
            self._attachments.discard(attachment)
            self.touch()

    @property
    def in_use(self) -> bool:
        return bool(self._attachments) or any(each.busy or each.parked for each in self.workspaces.all())

    # Phases of the start

    async def _take_the_socket(self, inherited: socket.socket | None) -> None:
        await self._off_loop(partial(self._listener.open, inherited))

    async def _remember(self) -> None:
        await self._off_loop(self._registry.load)
        self.workspaces.take_over()

    async def _serve(self) -> None:
        await self._runner.setup()
        assert self._runner.server is not None, "set up just now"
        self._serving = self._keep(self._listener.serve(self._runner.server), "serve")
        self._keep(self._registry.keep_saving(), "registry")
        self._keep(self._tidy(), "tidy")
        self._keep(self._watch_for_idleness(), "idle")

    # Phases of the end

    async def _let_nobody_in(self) -> None:
        # The accepting goes first: a descriptor must not be closed while the event loop watches it.
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.gather(self._serving, return_exceptions=True)
        self._listener.stop_listening()

    async def _part_with_clients(self) -> None:
        for attachment in self._attachments:
            attachment.finish()
        gone = [attachment.gone.wait() for attachment in self._attachments]
        await _within(CLIENTS_SECONDS, "parting with clients", gone)
        await _within(CLIENTS_SECONDS, "closing connections", [self._runner.cleanup()])

    async def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _let_threads_go(self) -> None:
        # Not waited for: one may hang in a dead file system.
        self._pool.shutdown(wait=False)
        self._outside.shutdown(wait=False)

    def _library_run(self, place: Place, request: StartRun, unheard: Sequence[str]) -> Run:
        return LibraryRun(place, request, unheard, probe=self._probe.for_run())

    # Background tasks

    def _keep(self, work: Any, name: str) -> "asyncio.Task[None]":
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._heard)
        self._tasks.append(task)
        return task

    def _heard(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            logger.error("the task %r died", task.get_name(), exc_info=error)
            self.ask_to_stop("because a part of it died")

    async def _tidy(self) -> None:
        try:
            await self._off_loop(partial(forget_old, self.shared.journals))
        except OSError as error:
            logger.warning("old journals could not be removed: %s", error)

    async def _watch_for_idleness(self) -> None:
        while True:
            limit = 0.0 if self._listener.displaced else self.settings.idle_exit_seconds
            idle = time.monotonic() - self._touched
            if limit is not None and not self.in_use and idle >= limit:
                self.ask_to_stop(f"after {idle:.0f} s without anything to do")
                return
            await asyncio.sleep(1.0 if limit is None else min(1.0, max(0.05, limit - idle)))

    async def _off_loop(self, work: Any) -> None:
        await asyncio.get_running_loop().run_in_executor(self._pool, work)


def _new_generation() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"


async def _within(seconds: float, what: str, works: Iterable[Awaitable[Any]]) -> None:
    """Do ``works`` together; what has not ended after ``seconds`` is left behind, and said in the log."""
    tasks = [asyncio.ensure_future(work) for work in works]
    if not tasks:
        return
    done, late = await asyncio.wait(tasks, timeout=seconds)
    for task in late:
        task.cancel()
    for error in [task.exception() for task in done if not task.cancelled()]:
        if error is not None:
            logger.error("%s failed", what, exc_info=error)
    if late:
        logger.warning("%s took longer than %.1f s", what, seconds)
        await asyncio.gather(*late, return_exceptions=True)
