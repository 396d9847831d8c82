"""Side questions: looked into beside the run, a few at once, never in its way."""

from flower_protocol.control import Accepted, Aside, Failure
from flower_protocol.handshake import Hello
from flower_protocol.workspaces import Place
from flowerd.daemon import Daemon
from tests.integration.flowerd.scripted_run import ScriptedRun
from tests.integration.flowerd.talk import Attached, Talk


async def _asked(client: Attached, text: str, identity: str) -> Accepted:
    await client.send(Aside(text=text, id=identity))
    return await client.until(Accepted)


async def test_a_side_question_goes_with_what_happened_and_is_no_remark(
    client: Attached, run: ScriptedRun
) -> None:
    await run.tell("text", "写好了 parser.py")
    await run.tell("thinking", "a secret thought")

    await _asked(client, "做到哪了", "a1")
    await _asked(client, "做到哪了", "a1")  # the same again, after a broken line say

    [question] = run.asides
    assert (question.id, question.text, question.who) == ("a1", "做到哪了", "tty1")
    assert question.scene.endswith("- [text] 写好了 parser.py")
    assert run.orders == []


async def test_a_fourth_at_once_is_refused_and_one_more_goes_when_one_is_answered(
    client: Attached, run: ScriptedRun
) -> None:
    for number in range(3):
        await _asked(client, "?", f"a{number}")
    await client.send(Aside(text="?", id="a3"))
    failure = await client.until(Failure)
    assert (failure.code, failure.values, failure.id) == ("too-many-asides", {"most": "3"}, "a3")

    await run.tell("aside", "一半", id="a0", question="?", ok=True, cost_usd=0.01)
    await client.until_event("aside")

    assert (await _asked(client, "?", "a3")).id == "a3"


async def test_without_a_run_nobody_looks_into_anything(daemon: Daemon, talk: Talk, place: Place) -> None:
    async with await talk.attach(Hello(place=place)) as client:
        await client.send(Aside(text="做到哪了", id="a1"))
        failure = await client.until(Failure)

    assert (failure.code, failure.id) == ("not-running", "a1")
