"""The process behind ``flower once``: one agent, once, without a workflow, a lineage or the daemon.

The client starts it (``python -m flowerd.once``) with its own environment in its own folder, and is its only company.
The first line on standard input is a `RunOnce`; a `Stop` may follow. The end of standard input means that the client
is gone, and with it whoever wanted the answer: the agent is ended. On standard output goes one message a line: a
`Failure` when nothing could begin, else `Happened` from ``run_started`` to ``run_ended``.
"""

import asyncio
import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from flower.core import credentials
from flower.core.agent import AgentSpec
from flower.core.events import Event
from flower.core.result import StepResult
from flower.core.runtime import Runtime
from flower.core.words import Words
from flower_protocol.codec import MAX_FRAME, decode, decode_from_client, encode
from flower_protocol.control import Failure, Stop
from flower_protocol.runs import RunOnce
from flowerd.identity import require_folder
from flowerd.prerequisites import refusal_of, rehearsed, require_credentials
from flowerd.refusal import Refused
from flowerd.run import Ending
from flowerd.wire import Draft, drafted, happened, line

if TYPE_CHECKING:
    from flower.rehearsal import Rehearsal

NAME: Final = "ad-hoc"
_ALIASES: Final = {"Agent": "Task"}  # as the CLI lists it


def main() -> int:
    """The exit code is 0 whatever became of the agent; the lines say it."""
    # Nobody else may write between the lines: what something prints goes where tracebacks go.
    output = _Output(os.dup(1))
    os.dup2(2, 1)
    asyncio.run(_serve(output))
    return 0


async def _serve(output: "_Output") -> None:
    reader = asyncio.StreamReader(limit=MAX_FRAME)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    try:
        request = decode(await reader.readline(), RunOnce)
    except ValueError as error:  # no message, or longer than any may be
        output.fail(Failure(code="bad-frame", values={"detail": str(error)}))
        return
    once = Once(request, output)
    heeding = asyncio.create_task(_heed(reader, once), name="flower once orders")
    try:
        await once.run()
    finally:
        heeding.cancel()
        await asyncio.gather(heeding, return_exceptions=True)


async def _heed(reader: asyncio.StreamReader, once: "Once") -> None:
    with contextlib.suppress(
        ValueError
    ):  # whoever says what is no message is no client, and may as well be gone
        while order := await reader.readline():  # no limit: a person may watch for hours before they stop it
            if isinstance(decode_from_client(order), Stop):
                once.stop()
    once.abandon()


class Once:
    """One agent and its one step. `run` it; the orders may come at any time meanwhile."""

    def __init__(self, request: RunOnce, output: "_Output") -> None:
        self._request = request
        self._output = output
        self._runtime: Runtime | None = None
        self._rehearsal: Rehearsal | None = None
        self._ordered: str | None = None
        self._tools_checked = False

    async def run(self) -> None:
        """From ``run_started`` to ``run_ended``, or to a `Failure`. No child lives when it returns."""
        try:
            await asyncio.to_thread(self._open)
            await self._work()
        except Refused as refused:
            self._output.fail(refused.failure)
        finally:
            await asyncio.to_thread(self._close)

    def stop(self) -> None:
        """The person has enough: break it off in order."""
        self._order(Runtime.STOPPED)
        self._output.tell(Draft("interrupted"))

    def abandon(self) -> None:
        """Nobody is left who wants the answer: end the agent at once."""
        self._order(Runtime.KILLED)
        if self._runtime is not None:
            self._runtime.terminate()

    def _order(self, reason: str) -> None:
        self._ordered = self._ordered or reason
        if self._runtime is not None:
            self._runtime.stop(self._ordered)

    async def _work(self) -> None:
        request, runtime = self._request, self._live
        about = {"ask": request.prompt, "rehearse": request.rehearse}
        self._output.tell(Draft("run_started", request.prompt, payload=about))
        self._notify()
        step = runtime.run(
            _agent(request),
            request.prompt,
            step_name=NAME,
            resume=request.resume,
            fork=request.fork,
            on_event=self._take,
        )
        running = asyncio.create_task(step, name="flower once")
        await asyncio.sleep(0)  # from here on the step can be ordered about: so it is, if it was before
        if self._ordered is not None:
            self._order(self._ordered)
        result = await running
        self._notify()
        self._output.tell(await asyncio.to_thread(self._end, result))

    def _take(self, event: Event) -> None:
        if event.kind == "system" and event.text == "init" and not self._tools_checked:
            self._tools_checked = True
            self._look_for_tools(event.raw)
        self._output.tell(drafted(event))

    def _look_for_tools(self, init: Any) -> None:
        """Say which of the tools that were asked for the CLI doesn't have: a slip of the pen, most likely."""
        there = set(init.data.get("tools") or ())
        missing = [
            tool for tool in self._request.tools if tool not in there and _ALIASES.get(tool) not in there
        ]
        if missing:
            names = ", ".join(missing)
            self._say(Words(f"没有这样的工具:{names}", f"there is no such tool: {names}"))

    def _notify(self) -> None:
        notices, self._live.notices = self._live.notices, []
        for words in notices:
            self._say(words)

    def _say(self, words: Words) -> None:
        self._output.tell(Draft("notice", words.spoken(self._request.language), payload=words._asdict()))

    def _end(self, result: StepResult) -> Draft:
        session = result.session_id
        about: dict[str, Any] = {
            "outcome": _ending(result).value,
            "step": result.step,
            "error": result.error,
            "cost_usd": result.cost_usd,
            "unheard": [],
            # An id without a transcript is nothing to go on with.
            "session_id": session if session and self._live.has_session(session) else None,
            "manifest": str(self._live.manifest_path),
        }
        return Draft("run_ended", result.error or "", payload=about)

    @property
    def _live(self) -> Runtime:
        assert self._runtime is not None, "opened before it works"
        return self._runtime

    # In a worker thread

    def _open(self) -> None:
        """Set up all that can be refused. Raises `Refused`; then no child was started."""
        request = self._request
        require_folder(request.place)
        environment = self._environment()
        require_credentials(environment, request.language)
        try:
            self._runtime = Runtime(
                workspace=request.place.workspace, run_dir=request.place.run_dir, environment=environment
            )
            if request.resume is not None:
                self._claim(request.resume)
        except OSError as error:
            raise refusal_of(error, request.place.run_dir) from error
        if request.permission_mode == "bypassPermissions" and _is_root(self._live.child_environment()):
            raise Refused("not-as-root")

    def _claim(self, session: str) -> None:
        # The run itself would begin a new session instead; whoever names one wants that and no other.
        if not self._live.has_session(session):
            raise Refused("no-such-session", session=session, run_dir=self._request.place.run_dir)
        if not self._live.claim(session):
            raise Refused("session-in-use", session=session)

    def _environment(self) -> dict[str, str]:
        # A shell may have left a stale PWD behind; the library takes it for the folder where a person stands.
        environment = {**os.environ, "PWD": os.getcwd()}
        if not self._request.rehearse:
            return environment
        request = self._request
        self._rehearsal, environment = rehearsed(environment, request.script, request.language)
        return environment

    def _close(self) -> None:
        if self._runtime is not None:
            self._runtime.close()
        if self._rehearsal is not None:
            self._rehearsal.close()


class _Output:
    """Messages, a line each. A write waits for as long as the client reads slowly, and the agent with it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._last_seq = 0

    def tell(self, draft: Draft) -> None:
        self._last_seq += 1
        self._write(happened([line(self._last_seq, time.time(), draft).rstrip(b"\n")]))

    def fail(self, failure: Failure) -> None:
        self._write(encode(failure))

    def _write(self, message: bytes) -> None:
        rest = memoryview(message + b"\n")
        with contextlib.suppress(BrokenPipeError):  # the client is gone, as standard input says as well
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]


def _agent(request: RunOnce) -> AgentSpec:
    return AgentSpec(
        NAME,
        request.instructions,
        allowed_tools=list(request.tools),
        permission_mode=request.permission_mode,
        max_budget_usd=request.budget_usd,
        workbench=False,
    )


def _ending(result: StepResult) -> Ending:
    if result.ok:
        return Ending.DONE
    orders = {Runtime.STOPPED: Ending.STOPPED, Runtime.KILLED: Ending.INTERRUPTED}
    return orders.get(result.error or "", Ending.FAILED)


def _is_root(environment: dict[str, str]) -> bool:
    """Whether the CLI will take this for a root user outside of a sandbox, by its own signs of one."""
    sandbox = environment.get("IS_SANDBOX") == "1" or credentials.is_on(
        environment.get("CLAUDE_CODE_BUBBLEWRAP")
    )
    return os.getuid() == 0 and not sandbox


if __name__ == "__main__":
    sys.exit(main())
