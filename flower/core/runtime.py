"""One step after another in one folder: attempts, interrupts, and every trace of them on disk.

A `Runtime` is one run. `Runtime.run` takes one step from its prompt to its result: it starts the CLI, follows
the conversation, goes on after interrupts and failures in the same session, and writes the manifest's row. It
keeps its promises by itself, without a daemon: the session is mirrored as it grows, the child dies with this
process, a signal writes the rows in flight, and what an earlier process left behind is taken in at the start.
"""

import asyncio
import logging
import os
import threading
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

from flower.core import credentials
from flower.core.agent import AgentSpec
from flower.core.claude import CHILD_SETTINGS
from flower.core.durable import private_folder
from flower.core.events import Event
from flower.core.flight import Flight
from flower.core.handoff import HandoffPolicy
from flower.core.lease import DYING_CHILD_SECONDS, DYING_OWNER_SECONDS, Lease, is_taken, wait_for_child
from flower.core.manifest import Manifest, new_run_id
from flower.core.project import project_directory, project_key
from flower.core.resilience import Probe, Resilience
from flower.core.result import StepResult
from flower.core.signals import rescued
from flower.core.tether import find_cli, place_launcher
from flower.core.transcripts import ClaudeFolder
from flower.core.words import Words, language_of
from flower.core.workbench import Workbench
from flower.stores.expire import EphemeralPolicy
from flower.stores.prune import PrunePolicy, PruningSessionStore
from flower.stores.sqlite_file import FILE_NAME
from flower.stores.trim import TrimPolicy

logger = logging.getLogger(__name__)

OnEvent = Callable[[Event], None]

_INTERRUPTED = Words(
    "(刚才是人打断了你。正在跑的那个工具调用会显示被中断或被拒绝:那是打断的副作用,不是环境故障,"
    "需要的话重试就行。不要去排查它,也不要因此加任何防御性的规则。按下面的话调整,接着做,不要重头来过。)",
    "(A person has just interrupted you. The tool call that was running will show as interrupted or refused: that is a"
    " side effect of the interrupt, not a fault of the environment; if you need it, just retry. Don't investigate it,"
    " and don't add any defensive rules because of it. Adjust to what was said and carry on, don't start over.)",
)


class Runtime:
    """One run in one folder.

    ``workspace`` is the agents' folder, ``run_dir`` (relative to the current folder) holds ``sessions.db``,
    ``manifest.json`` and ``lineage.json``; both are made when missing. ``portable``: no settings file takes part.
    ``trim``, ``ephemeral`` and ``keep_denials`` say what a resume leaves out (see `flower.stores`; the store keeps
    everything). ``workbench``: True for one of this run_dir's own; a result of ``spill_threshold`` characters or
    more becomes a file in it (None or 0: none does). ``resilience``: how failures are waited out; ``probe``, host
    and port to whether they answer, takes the place of `flower.core.resilience.reachable`. ``handoff``: when a
    session that is nearly full gives way to a fresh one. ``max_budget_usd`` is for all steps together.
    ``environment`` is the whole environment of the children, this process's own by default. ``handle_signals``:
    SIGTERM and SIGHUP write the rows in flight before they end the process, while a step runs in the main thread.

    Raises `RuntimeError` when no credentials are found (the text says where they were looked for), `OSError`
    when the folders can't be used.
    """

    INTERRUPTED = "interrupted-by-human"
    STOPPED = "stopped-by-human"
    KILLED = "killed-by-signal"
    INTERRUPT_NOTE = _INTERRUPTED.zh

    def __init__(
        self,
        *,
        workspace: Path | str,
        run_dir: Path | str = "runs",
        portable: bool = True,
        trim: TrimPolicy | bool = False,
        ephemeral: EphemeralPolicy | bool = True,
        keep_denials: int = 1,
        workbench: Workbench | bool = False,
        spill_threshold: int | None = 4000,
        resilience: Resilience | bool = True,
        handoff: HandoffPolicy | bool = True,
        max_budget_usd: float | None = None,
        probe: Probe | None = None,
        environment: Mapping[str, str] | None = None,
        handle_signals: bool = True,
    ) -> None:
        self.workspace = private_folder(Path(workspace).absolute()).resolve()
        self.run_dir = private_folder(Path(run_dir).absolute()).resolve()
        self.portable = portable
        self.resilience = resilience if isinstance(resilience, Resilience) else Resilience(enabled=resilience)
        self.handoff = handoff if isinstance(handoff, HandoffPolicy) else HandoffPolicy(enabled=handoff)
        self.max_budget_usd = max_budget_usd
        self.probe = probe
        self.spill_threshold = spill_threshold
        self.workbench = self._laid_out(workbench)
        self.run_id = new_run_id()
        self.results: list[StepResult] = []
        self.on_session: Callable[[str], None] | None = None
        self.on_handoff: Callable[[str, Path], None] | None = None
        self.notices: list[Words] = []
        self.other_models: set[str] = set()
        """Those that answered though others were configured: each is told once a run."""
        self._handle_signals = handle_signals
        self._flights: list[Flight] = []
        self._mail: list[str] = []
        self._leases: dict[str, Lease] = {}
        self._closing = threading.Lock()

        self.environment = dict(os.environ if environment is None else environment)
        # A daemon's own folder says nothing of the person's: an environment that was handed over names theirs.
        named = "" if environment is None else environment.get("PWD", "")
        self._here = Path(named) if named.startswith("/") else Path.cwd()
        self.language = language_of(self.environment)
        self._manifest = Manifest(self.run_dir, self.run_id)
        self.folder = ClaudeFolder(
            self.run_dir / "claude", self.project_key, project_directory(self.workspace)
        )
        self._child_environment = self._resolve_environment()
        self.cli = find_cli(self.environment)
        self.launcher = place_launcher(self.folder.path)
        self.store = PruningSessionStore(
            self.run_dir / FILE_NAME,
            self.workspace,
            policy=trim if isinstance(trim, TrimPolicy) else TrimPolicy(enabled=trim),
            prune=PrunePolicy(keep_denials=keep_denials),
            ephemeral=ephemeral
            if isinstance(ephemeral, EphemeralPolicy)
            else EphemeralPolicy(enabled=ephemeral),
        )
        self._note(self.store.notice)
        self.notices += self.folder.salvage_all(self.store)

    @property
    def interrupt_note(self) -> str:
        """What an agent is told beside the person's words after an interrupt."""
        return _INTERRUPTED.spoken(self.language)

    @property
    def manifest_path(self) -> Path:
        return self._manifest.path

    @property
    def project_key(self) -> str:
        """Under which the store files this workspace's sessions."""
        return project_key(self.workspace)

    def has_session(self, session_id: str) -> bool:
        """Whether the store has a transcript of this session, under this workspace."""
        return self.store.has_session(self.project_key, session_id)

    def is_alive(self, session_id: str) -> bool:
        """Whether the session can be gone on with, by this run or by another that has it now. Raises `OSError`.

        What another run is about to write first is not in the store yet.
        """
        return self.has_session(session_id) or is_taken(self.folder.leases, session_id)

    def claim(self, session_id: str) -> bool:
        """Make the session this run's until `close`; False while another run has it. Raises `OSError`.

        Blocking, for half a second at most: an owner that was just killed is waited for.
        """
        if session_id not in self._leases:
            lease = Lease.take(self.folder.leases, session_id, patience=DYING_OWNER_SECONDS)
            if lease is None:
                return False
            self._leases[session_id] = lease
        return True

    def recover(self, session_id: str) -> bool:
        """Take in what a run that has just died left of a session of ours; whether the store has it then.

        Blocking, for some seconds while a child of that run still dies. Raises `OSError`, and what the store raises.
        """
        if wait_for_child(self.folder.leases, session_id, DYING_CHILD_SECONDS):
            self.folder.salvage(self.store, session_id)
        return self.has_session(session_id)

    def context_of(self, session_id: str) -> int:
        """The context that the session's last turn saw, in tokens; 0 when unknown."""
        return self.store.last_context(self.project_key, session_id)

    def total_cost(self) -> float:
        """What this run has spent, in US dollars, four decimals."""
        return round(sum(each.cost_usd for each in [*self.results, *self._in_flight()]), 4)

    def budget_left(self) -> float | None:
        """What this run may still spend, in US dollars; None without a limit."""
        if self.max_budget_usd is None:
            return None
        return self.max_budget_usd - sum(each.cost_usd for each in [*self.results, *self._in_flight()])

    async def run(
        self,
        spec: AgentSpec,
        prompt: str,
        *,
        step_name: str | None = None,
        resume: str | None = None,
        fork: bool = False,
        resume_at: str | None = None,
        on_event: OnEvent | None = None,
    ) -> StepResult:
        """Take one step: from ``prompt`` until its result is in and no task of it lives.

        ``resume`` goes on with a session, ``fork`` with a copy of it. A failed step is a result with ``ok``
        False, not an exception. Cancelling it ends the child first. What ``on_event`` raises is logged and
        changes nothing. Raises `ValueError` for ``fork`` or ``resume_at`` without ``resume``.
        """
        if resume is None and (fork or resume_at is not None):
            raise ValueError("fork and resume_at need a session to resume")
        flight = Flight(self, spec, step_name or spec.name, resume, fork, resume_at, _guarded(on_event))
        self._flights.append(flight)
        task = asyncio.create_task(flight.fly(prompt), name=f"flower-step {flight.result.step}")
        try:
            with rescued(self._handle_signals, lambda: self.rescue(self.KILLED)):
                await _outlast_cancellation(task, lambda: flight.stop(self.INTERRUPTED))
        finally:
            self._flights.remove(flight)
            self.results.append(flight.result)
            self.record()
        return flight.result

    def interrupt(self, message: str = "") -> None:
        """Break off what runs now and go on in the same session with ``message``. From any thread.

        It counts neither as an attempt nor as a failure.
        """
        self._tell(lambda flight: flight.go_on(message))

    def pause(self) -> None:
        """Break off what runs now and hold until `resume` or `stop`. From any thread."""
        self._tell(lambda flight: flight.hold())

    def resume(self, message: str = "") -> None:
        """Go on after `pause`, with the person's words if there are any. From any thread."""
        self._tell(lambda flight: flight.go_on(message, only_held=True))

    def say(self, text: str) -> bool:
        """A remark for the running agent, taken up at its next tool boundary. From any thread.

        False when no step runs: it is kept then, and goes with the next prompt.
        """
        if self._tell(lambda flight: flight.say(text)):
            return True
        self.keep(text)
        return False

    def stop(self, reason: str = STOPPED) -> None:
        """End the step in flight; its row says ``reason`` as the error. From any thread."""
        self._tell(lambda flight: flight.stop(reason))

    def rescue(self, reason: str = KILLED) -> None:
        """Write a row for each step in flight, marked with ``reason``, now and synchronously. Never raises."""
        for flight in self._flights:
            flight.abandon(reason)
        self.record(self._in_flight())

    def record(self, also: list[StepResult] | None = None) -> None:
        """Make the manifest's rows of this run those of ``results``, and of ``also``. Never raises."""
        try:
            self._manifest.write([*self.results, *(also or ())])
        except OSError as error:
            # A full disk must not take the run down; the next write has this row as well.
            logger.warning("could not write %s: %s", self.manifest_path, error)
            self._note(
                Words(
                    f"清单写不进 {self.manifest_path}:{error.strerror}。",
                    f"could not write {self.manifest_path}: {error.strerror}.",
                )
            )
        self._note(self._manifest.notice)
        self._manifest.notice = None

    def terminate(self) -> None:
        """End every child now, without waiting for it: within some seconds nothing of it lives."""
        for flight in self._flights:
            flight.terminate()

    async def aclose(self) -> None:
        """`close`, off the event loop's thread."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Close the store and give the sessions back. No step may run any more; more than once is fine."""
        with self._closing:
            self.store.close()
            for lease in self._leases.values():
                lease.release()
            self._leases.clear()

    def keep(self, text: str) -> None:
        """A remark that no step takes up any more: it goes with the next prompt."""
        self._mail.append(text)

    def take_mail(self) -> list[str]:
        """The remarks that came while no step ran, and now belong to the caller."""
        mail, self._mail = self._mail, []
        return mail

    def new_session_id(self) -> str:
        """A fresh session id, claimed."""
        session_id = str(uuid.uuid4())
        self.claim(session_id)
        return session_id

    def child_environment(self) -> dict[str, str]:
        """Exactly what a CLI child of this run gets as its environment."""
        return self._child_environment

    def _resolve_environment(self) -> dict[str, str]:
        found = credentials.resolve(self.environment, cwd=self._here)
        problem = credentials.check(found, self.language)
        if problem is not None:
            raise RuntimeError(problem)
        child = credentials.child_env(self.environment, found)
        if not Path(child.get("XDG_RUNTIME_DIR", "/")).is_dir():
            # The CLI would make the folder, and everybody else then look there for what lies elsewhere.
            del child["XDG_RUNTIME_DIR"]
        return {**child, **CHILD_SETTINGS, **self.folder.environment(self.environment)}

    def _laid_out(self, workbench: Workbench | bool) -> Workbench | None:
        if workbench is False:
            return None
        laid = Workbench(self.workspace, home=self.run_dir / "workbench") if workbench is True else workbench
        laid.refresh()
        return laid

    def _in_flight(self) -> list[StepResult]:
        return [flight.result for flight in self._flights if not flight.landed]

    def _tell(self, order: Callable[[Flight], None]) -> bool:
        """Give an order to what runs now, on its own thread; False when nothing does."""
        flights = [flight for flight in self._flights if not flight.landed]
        for flight in flights:
            flight.loop.call_soon_threadsafe(order, flight)
        return bool(flights)

    def _note(self, words: Words | None) -> None:
        if words is not None:
            self.notices.append(words)


def _guarded(on_event: OnEvent | None) -> OnEvent:
    def deliver(event: Event) -> None:
        if on_event is None:
            return
        try:
            on_event(event)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:
            # A subscriber is a guest: what it raises is its own affair, and the run goes on.
            logger.exception("a subscriber failed on an event of kind %s", event.kind)

    return deliver


async def _outlast_cancellation(task: "asyncio.Task[None]", stop: Callable[[], None]) -> None:
    """Wait for ``task`` to its end even when cancelled meanwhile: then ``stop`` it first, and pass that on.

    Cancelling the task itself would leave the SDK's closing half done, and the child behind.
    """
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
            stop()
    problem = task.exception()
    if cancelled is not None:
        raise cancelled
    if problem is not None:
        raise problem
