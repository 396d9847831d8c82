"""Questions of a run: shown wherever it stands, answered once, from anywhere."""

import pytest

from flower_protocol.control import Accepted, Answer, AnswerTo, Done, Failure
from flower_protocol.handshake import Hello, Welcome
from flower_protocol.workspaces import Place, Question, State, WorkspaceStatus
from flowerd.run import Ending
from tests.integration.flowerd.scripted_run import ScriptedRun
from tests.integration.flowerd.talk import Attached, Refusal, Talk

PORT = Question(id="q1", text="用哪个端口?", options=("8080", "9090"), asked_at=1.5)


@pytest.fixture
async def run(run: ScriptedRun) -> ScriptedRun:
    """One that has just asked which port to use."""
    await run.ask(PORT.id, PORT.text, options=PORT.options)
    return run


async def _status(talk: Talk) -> WorkspaceStatus:
    [status] = (await talk.status()).workspaces
    return status


async def _answer(talk: Talk, place: Place, text: str, question_id: str = "") -> Done:
    return await talk.post("/v1/answer", AnswerTo(place=place, text=text, question_id=question_id), Done)


async def test_a_question_stands_in_the_status_whoever_comes_and_goes(
    run: ScriptedRun, talk: Talk, place: Place
) -> None:
    for _ in range(2):
        async with await talk.attach(Hello(place=place)) as client:
            await client.until(Welcome)
            assert client.status is not None
            assert (client.status.state, client.status.question) == (State.ASKING, PORT)

    status = await _status(talk)
    assert (status.state, status.question, status.clients) == (State.ASKING, PORT, 0)


async def test_an_answer_reaches_the_run_and_the_question_is_gone(
    client: Attached, run: ScriptedRun, talk: Talk
) -> None:
    await client.send(Answer(question_id="q1", text="8080"))
    accepted = await client.until(Accepted)

    settled = await client.until_event("ask")
    status = await _status(talk)
    assert (accepted.id, settled.payload["state"]) == ("q1", "asked")
    assert (status.state, status.question) == (State.RUNNING, None)


async def test_who_answers_second_is_told_what_counts(client: Attached, talk: Talk, place: Place) -> None:
    await _answer(talk, place, "8080", "q1")

    await client.send(Answer(question_id="q1", text="9090"))
    failure = await client.until(Failure)
    assert (failure.code, failure.values, failure.id) == ("already-answered", {"answer": "8080"}, "q1")

    await client.send(Answer(question_id="q1", text="8080"))  # the same again, after a broken line say
    assert (await client.until(Accepted)).id == "q1"


async def test_a_question_that_was_skipped_is_answered_no_more(
    run: ScriptedRun, talk: Talk, place: Place
) -> None:
    await _answer(talk, place, "")

    with pytest.raises(Refusal) as refusal:
        await _answer(talk, place, "8080", "q1")
    assert (refusal.value.status, refusal.value.code) == (409, "not-waiting")


async def test_without_a_name_the_oldest_question_is_answered(
    run: ScriptedRun, talk: Talk, place: Place
) -> None:
    await run.ask("q2", "哪个库?")

    await _answer(talk, place, "8080")
    left = await _status(talk)
    await _answer(talk, place, "aiohttp")

    assert left.question is not None and (left.state, left.question.id) == (State.ASKING, "q2")
    assert (await _status(talk)).state is State.RUNNING
    with pytest.raises(Refusal) as refusal:
        await _answer(talk, place, "noch etwas")
    assert refusal.value.code == "no-question"


async def test_with_the_run_its_question_goes(
    client: Attached, run: ScriptedRun, talk: Talk, place: Place
) -> None:
    run.end(Ending.STOPPED)
    await client.until_event("run_ended")

    assert (await _status(talk)).question is None
    with pytest.raises(Refusal) as refusal:
        await _answer(talk, place, "8080", "q1")
    assert refusal.value.code == "not-running"


async def test_where_a_run_stands_in_its_work_is_told_to_clients(client: Attached, run: ScriptedRun) -> None:
    assert run.sink is not None
    run.sink.stands(round=2, checks=7)

    while client.status is None or client.status.round != 2:
        await client.receive()
    assert client.status.checks == 7
