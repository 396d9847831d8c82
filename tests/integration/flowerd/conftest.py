"""A daemon in process, on a socket of its own, with runs that the test plays."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from flower_protocol.handshake import Hello, Snapshot
from flower_protocol.paths import socket_path, state_dir
from flower_protocol.runs import RunStarted, StartRun
from flower_protocol.workspaces import Place
from flowerd.daemon import Daemon
from flowerd.settings import Settings
from tests.integration.flowerd.scripted_run import ScriptedRun, Stage
from tests.integration.flowerd.talk import Attached, Talk
from tests.support.processes import eventually

StartDaemon = Callable[..., Awaitable[Daemon]]


@pytest.fixture
async def stage() -> Stage:
    return Stage()


@pytest.fixture
def settings() -> Settings:
    return Settings(socket=socket_path(os.environ), state=state_dir(os.environ))


@pytest.fixture
async def start_daemon(stage: Stage, settings: Settings) -> AsyncIterator[StartDaemon]:
    """Starts daemons (one after the other: they share the state), and ends those that still live."""
    living: list[Daemon] = []

    async def start(given: Settings = settings) -> Daemon:
        daemon = Daemon(given, runs=stage)
        await daemon.start()
        living.append(daemon)
        return daemon

    yield start
    for daemon in living:
        if not daemon.ending:
            await daemon.close()


@pytest.fixture
async def daemon(start_daemon: StartDaemon) -> Daemon:
    return await start_daemon()


@pytest.fixture
async def talk(settings: Settings) -> AsyncIterator[Talk]:
    async with Talk(settings.socket) as opened:
        yield opened


@pytest.fixture
def place(tmp_path: Path) -> Place:
    folder = tmp_path / "项目"
    folder.mkdir()
    return Place(workspace=str(folder), run_dir=str(folder / "runs"))


@pytest.fixture
async def run(daemon: Daemon, talk: Talk, place: Place, stage: Stage) -> ScriptedRun:
    """One that works."""
    await talk.post("/v1/runs", StartRun(place=place, ask="开始"), RunStarted)
    await eventually(lambda: stage.run.sink is not None)
    return stage.run


@pytest.fixture
async def client(run: ScriptedRun, talk: Talk, place: Place) -> AsyncIterator[Attached]:
    """Somebody who watches the run."""
    async with await talk.attach(Hello(place=place, who="tty1")) as attached:
        await attached.until(Snapshot)
        yield attached
