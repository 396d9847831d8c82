"""A run of the library, in a thread and with an event loop of its own.

So whatever the library or the SDK does, the daemon's loop answers; and a run whose events can't be written as fast
as they come is held up at the source: its thread waits, the CLI's pipe fills, the CLI waits.

The library is imported when the first run needs it: an idle daemon stays small.
"""

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from flower.core.events import Event
from flower_protocol.runs import StartRun
from flower_protocol.workspaces import Place
from flowerd.environment import for_rehearsal
from flowerd.probe import Ask
from flowerd.refusal import Refused
from flowerd.run import Ending, Outcome, Prepared, Sink
from flowerd.wire import drafted

if TYPE_CHECKING:
    from flower.core.runtime import Runtime
    from flower.rehearsal import Rehearsal
    from flower.workflow.base import Ctx, Workflow

logger = logging.getLogger(__name__)

# Between two looks at whether the journal keeps up: a few hundred kilobytes are under way at most.
UNCHECKED_EVENTS: Final = 64
UNCHECKED_CHARACTERS: Final = 128 * 1024
ROOM_SECONDS: Final = 60.0


class LibraryRun:
    """See `flowerd.run.Run`. ``probe`` tells whether the network is there, in place of a look of its own."""

    def __init__(
        self, place: Place, request: StartRun, unheard: Sequence[str], *, probe: Ask | None = None
    ) -> None:
        self._place = place
        self._request = request
        self._words = "\n\n".join([*unheard, *([request.ask] if request.ask else [])])
        self._rehearsal: Rehearsal | None = None
        self._runtime: Runtime | None = None
        self._workflow: Workflow | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sink: Sink | None = None
        self._unchecked = (0, 0)
        self._probe = probe

    async def prepare(self) -> Prepared:
        return await asyncio.to_thread(self._prepare)

    async def work(self, sink: Sink) -> Outcome:
        self._loop, self._sink = asyncio.get_running_loop(), sink
        ended: asyncio.Future[Outcome] = self._loop.create_future()
        thread = threading.Thread(
            # A daemon thread: a process that has to end now must not wait for it.
            target=self._fly,
            args=(ended,),
            name=f"run {self._place.workspace}",
            daemon=True,
        )
        thread.start()
        return await asyncio.shield(ended)

    def say(self, text: str) -> None:
        self._live.say(text)

    def pause(self) -> None:
        self._live.pause()

    def resume(self, text: str) -> None:
        # In two orders: if nothing is on hold by now, `resume` does nothing, and the words must not go with it.
        # The words first: held, they are in the very prompt that goes on.
        if text:
            self._live.say(text)
        self._live.resume()

    def stop(self) -> None:
        self._live.stop()

    def rescue(self, reason: str) -> None:
        self._live.rescue(reason)

    def terminate(self, reason: str) -> None:
        self._live.stop(reason)
        self._live.terminate()

    @property
    def _live(self) -> "Runtime":
        assert self._runtime is not None, "orders come after `prepare`"
        return self._runtime

    # In a worker thread

    def _prepare(self) -> Prepared:
        try:
            return self._set_up()
        except BaseException:
            self._tear_down()
            raise

    def _set_up(self) -> Prepared:
        from flower.core.runtime import Runtime
        from flower.workflow.starter import starter_flow, wake_state

        workspace, run_dir, options = (
            Path(self._place.workspace),
            Path(self._place.run_dir),
            self._request.options,
        )
        try:
            self._runtime = Runtime(
                workspace=workspace,
                run_dir=run_dir,
                trim=options.trim,
                environment=self._environment(),
                handle_signals=False,
                probe=self._probe,
            )
            self._workflow = starter_flow(
                self._words or None,
                workspace=workspace,
                run_dir=run_dir,
                new=options.new,
                language=self._request.language,
            )
        except RuntimeError as error:
            raise Refused("no-credentials", text=str(error)) from error
        except ValueError as error:
            raise Refused("no-request") from error
        except OSError as error:
            raise _refusal_of(error, run_dir) from error
        found = wake_state(workspace, run_dir=run_dir)
        return Prepared(woke=found["woke"] + 1, checks=found["checks"])

    def _environment(self) -> dict[str, str]:
        environment = dict(self._request.environment)
        if not self._request.options.rehearse:
            return environment
        from flower.rehearsal import Rehearsal, ScriptError, load_script

        try:
            self._rehearsal = Rehearsal(load_script(self._request.options.script or "default")).start()
        except ScriptError as error:
            raise Refused("bad-script", detail=str(error)) from error
        return for_rehearsal(environment, self._rehearsal.env())

    def _tear_down(self) -> None:
        if self._runtime is not None:
            self._runtime.close()
        if self._rehearsal is not None:
            self._rehearsal.close()

    # In the run's own thread

    def _fly(self, ended: "asyncio.Future[Outcome]") -> None:
        try:
            outcome = asyncio.run(self._flow())
        except BaseException as error:
            # The edge of this thread: whatever the library lets through ends this run and no other.
            logger.exception("the run in %s broke off", self._place.workspace)
            outcome = Outcome(Ending.FAILED, error=_one_line(error), cost_usd=self._live.total_cost())
        finally:
            self._tear_down()
        self._on_daemon_loop(lambda: _settle(ended, outcome))

    async def _flow(self) -> Outcome:
        assert self._workflow is not None, "made by `prepare`"
        ctx = await self._workflow.run(self._live, on_event=self._tell)
        return self._outcome(ctx)

    def _outcome(self, ctx: "Ctx") -> Outcome:
        runtime = self._live
        cost, unheard, step = runtime.total_cost(), tuple(runtime.take_mail()), ctx.get("_failed_at")
        if self._words and not any(runtime.has_session(each.session_id or "") for each in runtime.results):
            # Stopped before anything was in a transcript: what it was to be told is still to be told.
            unheard = (self._words, *unheard)
        if step is None:
            return Outcome(Ending.DONE, cost_usd=cost, unheard=unheard)
        error = ctx.get("_aborted") or next((each.error for each in reversed(runtime.results)), None)
        if error == runtime.STOPPED:
            return Outcome(Ending.STOPPED, step, cost_usd=cost, unheard=unheard)
        return Outcome(Ending.FAILED, step, error or "", cost, unheard)

    def _tell(self, event: Event) -> None:
        sink, draft = self._sink, drafted(event)
        assert sink is not None, "set before the thread started"
        self._on_daemon_loop(lambda: sink.take(draft))
        events, characters = self._unchecked
        self._unchecked = events + 1, characters + len(event.text)
        if events >= UNCHECKED_EVENTS or characters >= UNCHECKED_CHARACTERS:
            self._unchecked = 0, 0
            self._await_on_daemon_loop(sink.room())

    def _on_daemon_loop(self, work: Callable[[], Any]) -> None:
        assert self._loop is not None, "set before the thread started"
        with contextlib.suppress(RuntimeError):  # the daemon's loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(work)

    def _await_on_daemon_loop(self, work: Coroutine[Any, Any, None]) -> None:
        """Blocks this thread, and so the CLI, until the daemon's loop has done ``work``."""
        assert self._loop is not None, "set before the thread started"
        try:
            waiting = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()
            return
        try:
            waiting.result(ROOM_SECONDS)
        except (TimeoutError, concurrent.futures.CancelledError):
            waiting.cancel()
            logger.warning("the journal of %s does not keep up", self._place.workspace)


def _settle(ended: "asyncio.Future[Outcome]", outcome: Outcome) -> None:
    if not ended.done():  # nobody waits any more when the daemon is ending
        ended.set_result(outcome)


def _refusal_of(error: OSError, run_dir: Path) -> Refused:
    if error.errno is None:  # no CLI was found: the text says it all
        return Refused("no-cli", text=str(error))
    return Refused("not-writable", path=str(error.filename or run_dir), detail=error.strerror or str(error))


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]
