"""The real library and the real CLI under the daemon; only the model is scripted."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from flower.rehearsal import Rehearsal, Turn
from flower_protocol.control import Accepted, At, Done, Interrupt, Resume, Say
from flower_protocol.handshake import Hello
from flower_protocol.runs import RunOptions, RunStarted, StartRun
from flower_protocol.workspaces import Place, State, WorkspaceStatus
from flowerd.daemon import Daemon
from flowerd.settings import Settings
from tests.integration.flowerd.talk import Attached, Refusal, Talk
from tests.support.processes import alive, descendants, eventually
from tests.support.runs import crew, environment, lineage, rows, settle, slow_once, told

SLOW = crew(Turn(text="working", calls=[slow_once("started.txt")]))
BRIEF = crew(Turn(text="working", calls=[slow_once("started.txt", seconds=2)]))


@pytest.fixture
async def daemon(settings: Settings) -> AsyncIterator[Daemon]:
    """With the library's runs, unlike the one of the other tests."""
    made = Daemon(settings)
    await made.start()
    yield made
    if not made.ending:
        await made.close()


@pytest.fixture
def place(place: Place) -> Place:
    """One with a brief: most of these tests are about one agent at work, and pay for no other."""
    settle(Path(place.workspace))
    return place


@pytest.fixture
def new_place(tmp_path: Path) -> Place:
    """One where nothing was ever asked."""
    folder = tmp_path / "new"
    folder.mkdir()
    return Place(workspace=str(folder), run_dir=str(folder / "runs"))


async def _start(talk: Talk, place: Place, model: Rehearsal, ask: str | None = "do it") -> RunStarted:
    """Start with a model of the test's own, and without a judge."""
    start = StartRun(place=place, ask=ask, options=RunOptions(goal=False), environment=environment(model))
    return await talk.post("/v1/runs", start, RunStarted)


async def _attached(talk: Talk, place: Place, started: RunStarted) -> Attached:
    return await talk.attach(Hello(place=place, generation=started.generation, cursor=started.seq))


async def _ended(talk: Talk, place: Place, started: RunStarted) -> Attached:
    """The client that saw the whole run."""
    async with await _attached(talk, place, started) as client:
        await client.until_event("run_ended", timeout=60)
        while client.status is None or client.status.state.active:
            await client.receive()
    return client


async def _status(talk: Talk) -> WorkspaceStatus:
    [status] = (await talk.status()).workspaces
    return status


async def _in_tool(place: Place) -> None:
    await eventually((Path(place.workspace) / "started.txt").exists, timeout=30, what="the tool runs")


async def test_a_rehearsal_runs_to_its_end_and_its_endpoint_goes_with_it(
    daemon: Daemon, talk: Talk, new_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = new_place
    ports: list[int] = []
    real = Rehearsal.start

    def start(self: Rehearsal) -> Rehearsal:
        ports.append(int(self.url.rpartition(":")[2]))
        return real(self)

    monkeypatch.setattr(Rehearsal, "start", start)
    rehearsal = StartRun(
        place=place,
        ask="写个 md 转 html 的脚本",
        options=RunOptions(rehearse=True, asks=0),
        environment=dict(os.environ),
    )
    started = await talk.post("/v1/runs", rehearsal, RunStarted)
    client = await _ended(talk, place, started)
    status = await _status(talk)

    kinds = [event.kind for event in client.events]
    assert kinds[0] == "run_started" and kinds[-1] == "run_ended" and "tool_call" in kinds
    steps = [event.text for event in client.events if event.kind == "step"]
    assert steps == ["确认需求", "设定目标", "干活"]
    assert client.events[-1].payload["outcome"] == "done"
    assert (status.state, status.woke, status.rehearse, status.step) == (State.DORMANT, 1, True, "干活")
    assert status.cost_usd == pytest.approx(client.events[-1].payload["cost_usd"]) and status.cost_usd > 0
    assert (Path(place.workspace) / "sample.html").exists()
    assert descendants(os.getpid()) == []
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", ports[0])) != 0


async def test_a_second_start_wakes_the_same_session(daemon: Daemon, talk: Talk, place: Place) -> None:
    with Rehearsal(BRIEF) as model:
        await _ended(talk, place, await _start(talk, place, model))
        session = lineage(Path(place.run_dir))["steps"]["干活"]
        started = await _start(talk, place, model, ask=None)
        client = await _ended(talk, place, started)
        wake = await talk.wake(place)

    [step] = [event for event in client.events if event.kind == "step"]
    assert (started.woke, step.payload["resumed"], step.payload["woke"]) == (2, True, 2)
    assert lineage(Path(place.run_dir))["steps"]["干活"] == session
    assert (wake.used, wake.status.woke, wake.context > 0) == (True, 2, True)


async def test_a_remark_reaches_the_running_agent(daemon: Daemon, talk: Talk, place: Place) -> None:
    with Rehearsal(BRIEF) as model:
        started = await _start(talk, place, model)
        async with await _attached(talk, place, started) as client:
            await _in_tool(place)
            await client.send(Say(text="顺便支持代码块高亮", id="r1"))
            await client.until(Accepted)
            await client.until_event("run_ended", timeout=60)

        assert any("顺便支持代码块高亮" in told(request) for request in model.requests)


async def test_an_interrupt_holds_until_words_come_and_goes_on_in_the_same_session(
    daemon: Daemon, talk: Talk, place: Place
) -> None:
    with Rehearsal(SLOW) as model:
        started = await _start(talk, place, model)
        async with await _attached(talk, place, started) as client:
            await _in_tool(place)
            await client.send(Interrupt())
            await client.until_event("interrupted")
            while (await client.until_event("task")).payload["status"] != "stopped":
                continue
            held = len(model.requests)
            await client.send(Resume(text="换个做法"))
            ended = await client.until_event("run_ended", timeout=60)

        assert ended.payload["outcome"] == "done"
        assert "换个做法" in told(model.requests[held])
    assert [row["ok"] for row in rows(Path(place.run_dir))] == [True]


async def test_a_stop_ends_the_children_and_says_who_wanted_it(
    daemon: Daemon, talk: Talk, place: Place
) -> None:
    with Rehearsal(SLOW) as model:
        await _start(talk, place, model)
        await _in_tool(place)

        await talk.post("/v1/stop", At(place=place), Done)

    assert (await _status(talk)).state is State.DORMANT
    assert [row["error"] for row in rows(Path(place.run_dir))] == ["stopped-by-human"]
    assert descendants(os.getpid()) == []


async def test_a_daemon_that_ends_writes_the_rows_and_takes_the_children_with_it(
    daemon: Daemon, talk: Talk, place: Place
) -> None:
    with Rehearsal(SLOW) as model:
        started = await _start(talk, place, model)
        client = await _attached(talk, place, started)
        await _in_tool(place)
        begun = asyncio.get_running_loop().time()

        await daemon.close("killed-by-signal")

        assert asyncio.get_running_loop().time() - begun < 5
    await client.until_closed()
    assert [row["error"] for row in rows(Path(place.run_dir))] == ["killed-by-signal"]
    await eventually(lambda: descendants(os.getpid()) == [])
    assert client.events[-1].payload["outcome"] == "interrupted"
    assert client.status is not None and client.status.state is State.INTERRUPTED
    assert client.closed_with == 1001


async def test_two_places_run_beside_each_other(daemon: Daemon, talk: Talk, tmp_path: Path) -> None:
    places = []
    for name in ("a_b", "a-b"):  # one and the same to the CLI's own naming of projects
        (tmp_path / name).mkdir()
        settle(tmp_path / name)
        places.append(Place(workspace=str(tmp_path / name), run_dir=str(tmp_path / name / "runs")))

    with Rehearsal(crew()) as one, Rehearsal(crew()) as two:
        started = [await _start(talk, place, model) for place, model in zip(places, (one, two), strict=True)]
        ends = await asyncio.gather(*(_ended(talk, *each) for each in zip(places, started, strict=True)))

    assert [client.events[-1].payload["outcome"] for client in ends] == ["done", "done"]
    assert {status.workspace for status in (await talk.status()).workspaces} == {
        each.workspace for each in places
    }
    sessions = {lineage(Path(each.run_dir))["steps"]["干活"] for each in places}
    assert len(sessions) == 2


async def test_without_credentials_nothing_starts_and_the_lines_say_where_they_were_looked_for(
    daemon: Daemon, talk: Talk, place: Place
) -> None:
    bare = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    for route in ("/v1/check", "/v1/runs"):
        with pytest.raises(Refusal) as refusal:
            await talk.post(route, StartRun(place=place, ask="x", environment=bare), RunStarted)

        assert refusal.value.code == "no-credentials"
        assert len(refusal.value.values["text"].splitlines()) == 4
    assert (await talk.status()).workspaces == ()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (RunOptions(rehearse=True), None),
        (RunOptions(rehearse=True, script="nowhere.toml"), "bad-script"),
        (RunOptions(rehearse=True, isolate=True), "no-worktrees"),
        (RunOptions(rehearse=True, rounds=0), "bad-value"),
    ],
)
async def test_whether_it_could_start_is_told_and_leaves_nothing(
    daemon: Daemon, talk: Talk, new_place: Place, options: RunOptions, code: str | None
) -> None:
    wanted = StartRun(place=new_place, ask="x", options=options, environment={"PATH": os.environ["PATH"]})
    if code is None:
        await talk.post("/v1/check", wanted, Done)
    else:
        for route in ("/v1/check", "/v1/runs"):
            with pytest.raises(Refusal) as refusal:
                await talk.post(route, wanted, Done)
            assert refusal.value.code == code

    assert (await talk.status()).workspaces == () and not Path(new_place.run_dir).exists()
    assert list(Path(new_place.workspace).iterdir()) == []


async def test_nothing_to_go_on_with_and_no_words_are_no_request(
    daemon: Daemon, talk: Talk, new_place: Place
) -> None:
    with Rehearsal(crew()) as model, pytest.raises(Refusal) as refusal:
        await _start(talk, new_place, model, ask=None)

    assert refusal.value.code == "no-request"


@pytest.mark.parametrize("script", ["no-such-script", "broken.toml"])
async def test_a_script_that_can_not_be_played_is_named(
    daemon: Daemon, talk: Talk, place: Place, tmp_path: Path, script: str
) -> None:
    (tmp_path / "broken.toml").write_text("scenes = 3")
    named = str(tmp_path / script) if script.endswith(".toml") else script
    options = RunOptions(rehearse=True, script=named)
    start = StartRun(place=place, ask="x", options=options, environment=dict(os.environ))

    with pytest.raises(Refusal) as refusal:
        await talk.post("/v1/runs", start, RunStarted)

    assert (refusal.value.code, script in refusal.value.values["detail"]) == ("bad-script", True)


async def test_a_run_dir_that_can_not_be_made_is_named(daemon: Daemon, talk: Talk, place: Place) -> None:
    Path(place.run_dir).write_text("in the way")

    with Rehearsal(crew()) as model, pytest.raises(Refusal) as refusal:
        await _start(talk, place, model)

    assert refusal.value.code == "not-writable"
    assert refusal.value.values["path"].startswith(place.run_dir)


FAKE = """#!/bin/sh
env > "$DUMP"
exit 1
"""


async def test_each_run_has_the_environment_of_its_own_client_and_nothing_of_the_daemons(
    daemon: Daemon, talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "fake"
    fake.write_text(FAKE)
    fake.chmod(0o700)
    monkeypatch.setenv("SECRET_OF_THE_DAEMON", "1")
    monkeypatch.setenv("CLAUDECODE", "1")
    dumps = []
    for number in (1, 2):
        workspace = tmp_path / f"ws{number}"
        workspace.mkdir()
        place = Place(workspace=str(workspace), run_dir=str(workspace / "runs"))
        dumps.append(tmp_path / f"dump{number}")
        env = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "FLOWER_CLI": str(fake),
            "ANTHROPIC_API_KEY": "made-up",
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
            "DUMP": str(dumps[-1]),
            f"ONLY_IN_{number}": "yes",
            "HTTPS_PROXY": f"http://127.0.0.1:{number}",
        }
        await talk.post("/v1/runs", StartRun(place=place, ask="x", environment=env), RunStarted)
        await eventually(dumps[-1].exists, timeout=20)
        await talk.post("/v1/stop", At(place=place), Done)

    first, second = [
        dict(line.partition("=")[::2] for line in dump.read_text().splitlines()) for dump in dumps
    ]
    assert ("ONLY_IN_1" in first, "ONLY_IN_1" in second) == (True, False)
    assert second["HTTPS_PROXY"] == "http://127.0.0.1:2"
    assert not {"SECRET_OF_THE_DAEMON", "CLAUDECODE"} & (first.keys() | second.keys())


STUBBORN = """#!{python}
import json, os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("request", {{}}).get("subtype") == "initialize":
        said = {{"subtype": "success", "request_id": asked["request_id"], "response": {{}}}}
        print(json.dumps({{"type": "control_response", "response": said}}), flush=True)
    elif asked["type"] == "user":
        open(os.environ["PIDFILE"], "w").write(str(os.getpid()))
        time.sleep(1000)
"""


async def test_a_child_that_ignores_every_hint_is_ended_and_the_daemon_answers_meanwhile(
    daemon: Daemon, talk: Talk, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flowerd.active_run.STOP_SECONDS", 1.0)
    script, pidfile = tmp_path / "stubborn", tmp_path / "pid"
    script.write_text(STUBBORN.format(python=sys.executable))
    script.chmod(0o700)
    # An endpoint that is there: a silent child is no outage.
    with Rehearsal(crew()) as model:
        env = environment(model, FLOWER_CLI=str(script), PIDFILE=str(pidfile))
        await talk.post("/v1/runs", StartRun(place=place, ask="x", environment=env), RunStarted)
        await eventually(lambda: pidfile.exists() and pidfile.read_text(), timeout=20)

        stopping = asyncio.create_task(talk.post("/v1/stop", At(place=place), Done))
        slowest, state = 0.0, State.RUNNING
        deadline = time.monotonic() + 20
        while state.active and time.monotonic() < deadline:
            asked = time.monotonic()
            state = (await _status(talk)).state
            slowest = max(slowest, time.monotonic() - asked)
        await stopping

    assert (state, slowest < 1) == (State.DORMANT, True)
    assert not alive(int(pidfile.read_text()))
    assert [row["error"] for row in rows(Path(place.run_dir))] == ["stopped-by-human"]
