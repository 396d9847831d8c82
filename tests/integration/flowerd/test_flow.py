"""The whole flow under the daemon, with the real CLI: it asks, hears, is judged, and is asked about beside it."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from flower.rehearsal import Call, Rehearsal, Role, Scene, Script, Turn
from flower_protocol.control import Accepted, AnswerTo, Aside, Done, Say
from flower_protocol.handshake import Hello
from flower_protocol.runs import RunOptions, RunStarted, StartRun
from flower_protocol.workspaces import Place, State
from flowerd.daemon import Daemon
from flowerd.settings import Settings
from tests.integration.flowerd.talk import Attached, Talk
from tests.support.processes import descendants, eventually
from tests.support.runs import BRIEF, GOAL, ROLES, environment, rows, settle, slow_once, told

NOT_YET = "# 结论\n未达成\n# 理由\nnot seen\n# 未通过\n- it is done"
ASKING = Script(
    roles=ROLES,
    scenes=[
        Scene(
            name="asking",
            role="clarifier",
            turns=[
                Turn(
                    calls=[
                        Call(
                            tool="mcp__human__ask",
                            input={"question": "哪个端口?", "options": ["8080", "9090"]},
                        )
                    ]
                ),
                Turn(text=BRIEF),
            ],
        )
    ],
)


@pytest.fixture
async def daemons(settings: Settings) -> AsyncIterator[list[Daemon]]:
    """One that lives; a test may end it and start another."""
    living = [Daemon(settings)]
    await living[0].start()
    yield living
    if not living[-1].ending:
        await living[-1].close()


async def _start(
    talk: Talk, place: Place, model: Rehearsal, ask: str | None, options: RunOptions
) -> Attached:
    start = StartRun(place=place, ask=ask, options=options, environment=environment(model))
    started = await talk.post("/v1/runs", start, RunStarted)
    return await talk.attach(Hello(place=place, generation=started.generation, cursor=started.seq))


async def _until_asked(client: Attached) -> str:
    while client.status is None or client.status.question is None:
        await client.receive(timeout=30)
    assert client.status.state is State.ASKING
    return client.status.question.id


async def test_a_question_outlives_the_daemon_and_a_number_picks_its_option(
    daemons: list[Daemon], talk: Talk, place: Place, settings: Settings
) -> None:
    options = RunOptions(clarify_only=True)
    with Rehearsal(ASKING) as model:
        client = await _start(talk, place, model, "做一个服务", options)
        first = await _until_asked(client)
        await daemons[0].close("killed-by-signal")
        await client.until_closed(timeout=30)
        assert client.status is not None and client.status.question is None

        daemons.append(Daemon(settings))
        await daemons[-1].start()
        async with Talk(settings.socket) as talk:
            client = await _start(talk, place, model, None, options)
            second = await _until_asked(client)
            await talk.post("/v1/answer", AnswerTo(place=place, text="2"), Done)
            ended = await client.until_event("run_ended", timeout=60)

        assert (ended.payload["outcome"], second) == ("done", first), "the same question, with its number"
        assert "9090" in told(model.requests[-1])
        page = (Path(place.workspace) / ".flower/notes/问答记录.md").read_text()
        assert page.count("[declined]") == 0 and "[answered] 9090" in page


def _never_content() -> Script:
    work = {"subagent_type": "coder", "description": "the work", "prompt": "Do the work."}
    sending = [Turn(calls=[Call(tool="Agent", input=work)]), Turn(text="all of it is done")]
    more = f"{GOAL}\n- look: it has colour"
    return Script(
        roles={"oracle": Role(thread="main", without=["Agent"], system="你在旁路"), **ROLES},
        scenes=[
            Scene(name="goal-again", role="setter", prompt="要重推", turns=[Turn(text=more)]),
            Scene(name="goal", role="setter", turns=[Turn(text=GOAL)]),
            Scene(name="lead", role="coordinator", again=True, turns=sending),
            Scene(
                name="work", role="worker", turns=[Turn(calls=[slow_once("started.txt", 3)]), Turn(text="so")]
            ),
            Scene(name="judge", role="judge", turns=[Turn(text=NOT_YET)]),
            Scene(name="beside", role="oracle", turns=[Turn(text="half of it is done")]),
        ],
    )


async def test_words_are_judged_by_and_a_side_question_leaves_no_trace_in_the_run(
    daemons: list[Daemon], talk: Talk, place: Place
) -> None:
    notes = settle(Path(place.workspace)) / ".flower" / "notes"
    stood: list[tuple[int, int]] = []
    with Rehearsal(_never_content()) as model:
        client = await _start(talk, place, model, "do it", RunOptions(rounds=2))
        await eventually((Path(place.workspace) / "started.txt").exists, timeout=40)
        await client.send(Say(text="also in colour", id="r1"))
        receipt = await client.until(Accepted)
        judged_by = (notes / "需求.md").read_text()
        await client.send(Aside(text="做到哪了", id="a1"))
        answered = await client.until_event("aside", timeout=40)
        while client.status is None or client.status.state.active:
            await client.receive(timeout=60)
            assert client.status is not None
            stood.append((client.status.round, client.status.checks))
        asked = [request for request in model.requests if "做到哪了" in told(request)]

    assert (answered.text, answered.payload["ok"]) == ("half of it is done", True)
    assert (answered.payload["id"], answered.payload["question"]) == ("a1", "做到哪了")
    assert len(asked) == 1 and "[remark] also in colour" in told(asked[0])
    assert receipt.in_brief and "## 运行中补充\nalso in colour" in judged_by
    assert (1, 2) in stood and stood[-1] == (2, 2)
    judges = {
        event.payload["session_id"]
        for event in client.events
        if event.kind == "result" and event.payload.get("judge")
    }
    assert len(judges) == 3 and client.status.session_id not in judges
    assert client.status.error == "2 轮做完,判定还是没有通过:not seen"
    steps = [row["step"] for row in rows(Path(place.run_dir))]
    assert steps.count("干活·判定#1") == steps.count("干活·判定#2") == 1 and "旁路问答" not in steps
    assert [row["step"] for row in rows(Path(place.run_dir) / "aside")] == ["旁路问答"]
    assert descendants(os.getpid()) == []
