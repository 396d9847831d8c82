"""The promise behind every kill test: cut a conversation anywhere, and a new endpoint goes on at that turn."""

import copy
import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from flower.rehearsal import Call, Scene, Script, Turn
from flower.rehearsal.stage import Reply
from tests.unit.rehearsal.talk import KILLED, LAUNCHED, Talk, places, result

CLOSED = ("", -1)
RESUME = "上一轮在中途被打断,没有跑完。检查一下工作台里已经落盘的东西,从中断处接着做,不要重头来过。"

calls = st.lists(st.sampled_from([Call(tool="Bash"), Call(tool="Agent")]), max_size=3)


@st.composite
def turns(draw: st.DrawFn) -> Turn:
    made = draw(calls)
    times = draw(st.integers(1, 3)) if made else 1
    # Few different words, so that scenes and turns share them.
    return Turn(text=draw(st.sampled_from(["a", "b", "{result}"])), calls=made, times=times)


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    scenes = draw(st.lists(st.lists(turns(), min_size=1, max_size=4), min_size=1, max_size=3))
    return Script(scenes=[Scene(name=f"s{number}", turns=each) for number, each in enumerate(scenes)])


def play_on(talk: Talk, *, speak: bool) -> list[tuple[str, int]]:
    """Plays until the script is over; a person says `go` whenever the model has ended its turn."""
    played: list[tuple[str, int]] = []
    for _ in range(300):
        if speak:
            talk.says("go")
        reply = talk.answers()
        if places([reply]) == [CLOSED]:
            return played
        if reply.message["content"][0]["text"] != talk.script.meanwhile:
            played += places([reply])
        speak = not _react(talk, reply)
    raise AssertionError("the script never ends")


def _react(talk: Talk, reply: Reply) -> bool:
    """What the CLI does with an answer; whether it asks again by itself."""
    made = talk.calls()
    agents = {call["id"]: f"agent{call['id'].rsplit('_', 1)[1]}" for call in made if call["name"] == "Agent"}
    brought = [
        result(call, LAUNCHED.format(agent=agents[call["id"]]) if call["id"] in agents else "ok")
        for call in made
    ]
    if brought:
        talk.messages.append({"role": "user", "content": brought})
    if agents:
        talk.answers()  # the model's turn ends while they work
    for call_id, agent in agents.items():
        talk.notified(agent, "done", call=call_id)
    return bool(made)


def copied(talk: Talk, messages: int, script: Script) -> Talk:
    """What a new process reads back from the disk: the first `messages` messages, and nothing else."""
    again = Talk(script)
    again.messages = copy.deepcopy(talk.messages[:messages])
    return again


@settings(max_examples=150, deadline=None)
@given(scripts(), st.data())
def test_a_conversation_that_is_cut_anywhere_goes_on_at_the_right_turn(
    script: Script, data: st.DataObject
) -> None:
    whole = Talk(script)
    played = play_on(whole, speak=True)
    cut = data.draw(st.integers(1, len(whole.messages)))

    resumed = copied(whole, cut, script)
    if any(block["type"] == "tool_use" for block in _blocks(resumed)):
        resumed.brings(KILLED)  # what the CLI puts in the place of a result that was never recorded
    for agent in _lost_agents(resumed):
        resumed.notified(agent, status="stopped")  # the CLI says so by itself, without the call's id
    resumed.says(RESUME)
    rest = play_on(resumed, speak=False)

    assert rest == played[len(played) - len(rest) :]
    assert len(played) - len(rest) in _finished_turns(whole, cut, len(played))


def _blocks(talk: Talk) -> list[dict[str, str]]:
    content = talk.messages[-1]["content"]
    return content if isinstance(content, list) else []


def _lost_agents(talk: Talk) -> set[str]:
    text = json.dumps(talk.messages, ensure_ascii=False)
    return set(re.findall(r"agentId: (\w+)", text)) - set(re.findall(r"<task-id>(\w+)<", text))


def _finished_turns(whole: Talk, cut: int, total: int) -> range:
    """How many turns had been played to the end when the conversation was cut: at least, at most, inclusive."""
    answered = [at for at, message in enumerate(whole.messages) if message["role"] == "assistant"]
    begun = sum(
        1
        for at in answered
        if at < cut
        and whole.messages[at]["content"][0]["text"] not in (whole.script.meanwhile, whole.script.closing)
    )
    return range(max(0, begun - 1), min(begun, total) + 1)


def test_the_words_of_a_resume_are_no_new_order() -> None:
    script = Script(
        scenes=[Scene(name="job", turns=[Turn(text="a", calls=[Call(tool="Bash")]), Turn(text="b")])]
    )
    talk = Talk(script)
    talk.says("go")
    talk.answers()
    again = copied(talk, 2, script)
    again.brings(KILLED)
    again.says(RESUME)

    assert places([again.answers()]) == [("job", 0)]
    assert json.dumps(again.messages)
