"""Which turn comes next, and what stands in it: told from the request alone."""

from flower.rehearsal import Call, Role, Scene, Script, Turn, Usage
from tests.unit.rehearsal.talk import KILLED, LAUNCHED, Talk, places, result, words

BASH = Call(tool="Bash", input={"command": "true"})
AGENT = Call(tool="Agent", input={"subagent_type": "coder", "prompt": "do"})


def two_steps(closing: str = Script(scenes=[]).closing) -> Script:
    turns = [Turn(text="first", calls=[BASH]), Turn(text="second", calls=[BASH]), Turn(text="the end")]
    return Script(scenes=[Scene(name="job", turns=turns)], closing=closing)


def dispatching() -> Script:
    turns = [Turn(text="I send one", calls=[AGENT]), Turn(text="he says: {result}")]
    return Script(scenes=[Scene(name="job", turns=turns)], meanwhile="he is on it")


def test_turns_follow_each_other_as_their_calls_bring_results() -> None:
    talk = Talk(two_steps())

    replies = talk.plays("go")

    assert places(replies) == [("job", 0), ("job", 1), ("job", 2)]
    assert [words(reply) for reply in replies] == ["first", "second", "the end"]


def test_a_call_stops_the_turn_for_tools_and_words_alone_end_it() -> None:
    replies = Talk(two_steps()).plays("go")

    assert [reply.message["stop_reason"] for reply in replies] == ["tool_use", "tool_use", "end_turn"]


def test_when_all_is_played_a_short_sentence_closes() -> None:
    talk = Talk(two_steps(closing="that was all"))
    talk.plays("go")

    assert [words(reply) for reply in talk.plays("more?")] == ["that was all"]


def test_the_closing_sentence_is_chinese_by_default() -> None:
    talk = Talk(two_steps())
    talk.plays("go")

    assert [words(reply) for reply in talk.plays("more?")] == ["该做的都做完了。"]


def test_a_call_that_was_killed_is_made_again() -> None:
    talk = Talk(two_steps())
    talk.says("go")
    talk.answers()
    talk.brings()
    talk.answers()
    talk.brings(KILLED)
    talk.messages.append({"role": "assistant", "content": "No response requested."})
    talk.says("上一轮在中途被打断,没有跑完。")

    assert places([talk.answers()]) == [("job", 1)]


def test_a_call_that_a_person_broke_off_is_made_again() -> None:
    talk = Talk(two_steps())
    talk.says("go")
    talk.answers()
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    stopped = {"type": "text", "text": "[Request interrupted by user for tool use]"}
    talk.messages.append({"role": "user", "content": [result(talk.calls()[0], refused), stopped]})
    talk.says("go on")

    assert places([talk.answers()]) == [("job", 0)]


def test_results_that_a_store_put_in_place_of_lost_ones_are_none() -> None:
    for lost in ("[上一轮在此处被中断,该工具结果未产生]", "[这一步被打断了,没有结果。需要的话重做。]"):
        talk = Talk(two_steps())
        talk.says("go")
        talk.answers()
        talk.brings(lost)
        talk.says("go on")

        assert places([talk.answers()]) == [("job", 0)]


def test_an_error_is_a_result() -> None:
    talk = Talk(two_steps())
    talk.says("go")
    talk.answers()
    talk.brings("PreToolUse:Bash hook error: 协调者不直接使用 Bash")

    assert places([talk.answers()]) == [("job", 1)]


def test_a_turn_waits_until_all_its_calls_have_brought_something() -> None:
    turns = [Turn(calls=[BASH, BASH]), Turn(text="the end")]
    talk = Talk(Script(scenes=[Scene(name="job", turns=turns)]))
    talk.says("go")
    talk.answers()
    one, other = talk.calls()
    talk.messages.append({"role": "user", "content": [result(one, "ok"), result(other, KILLED)]})
    talk.says("go on")

    assert places([talk.answers()]) == [("job", 0)]
    talk.brings()
    assert places([talk.answers()]) == [("job", 1)]


def test_results_of_an_earlier_try_do_not_count_for_the_next_one() -> None:
    turns = [Turn(calls=[BASH, BASH]), Turn(text="the end")]
    talk = Talk(Script(scenes=[Scene(name="job", turns=turns)]))
    talk.says("go")
    for _ in range(3):
        assert places([talk.answers()]) == [("job", 0)]
        one, other = talk.calls()
        talk.messages.append({"role": "user", "content": [result(one, "ok"), result(other, KILLED)]})
        talk.says("go on")


def test_the_calls_of_one_answer_may_come_back_in_several_messages() -> None:
    turns = [Turn(calls=[BASH, BASH]), Turn(text="the end")]
    talk = Talk(Script(scenes=[Scene(name="job", turns=turns)]))
    talk.says("go")
    talk.answers()
    calls = talk.calls()
    talk.messages.pop()
    for call in calls:
        talk.messages.append({"role": "assistant", "content": [call]})
        talk.messages.append({"role": "user", "content": [result(call, "ok")]})

    assert places([talk.answers()]) == [("job", 1)]


def test_an_answer_of_which_only_the_first_call_was_kept_is_given_again() -> None:
    turns = [Turn(calls=[BASH, BASH]), Turn(text="the end")]
    talk = Talk(Script(scenes=[Scene(name="job", turns=turns)]))
    talk.says("go")
    talk.answers()
    call = talk.calls()[0]
    talk.messages[-1] = {"role": "assistant", "content": [call]}
    talk.brings()

    assert places([talk.answers()]) == [("job", 0)]


def test_while_an_agent_works_the_turn_ends_and_its_report_goes_on() -> None:
    talk = Talk(dispatching())
    talk.says("go")
    talk.answers()
    talk.launches("a1")

    assert words(talk.answers()) == "he is on it"
    talk.notified("a1", "it works", call="whatever")
    assert words(talk.answers()) == "he says: it works"


def test_a_report_that_stands_in_a_system_message_counts_too() -> None:
    talk = Talk(dispatching())
    talk.says("go")
    talk.answers()
    call = talk.calls()[0]["id"]
    talk.launches("a1")
    talk.answers()
    talk.says("how far is he?")
    talk.notified("a1", "it works", call=call)
    talk.messages[-1]["role"] = "system"

    assert words(talk.answers()) == "he says: it works"


def test_an_agent_that_reports_at_once_needs_no_waiting() -> None:
    handed_back = (
        "[Subagent hand-back] The text below is the final report of a subagent this session delegated to. "
        "The report follows:\n  it works\n  really\nagentId: a1\n<usage>subagent_tokens: 5</usage>"
    )
    talk = Talk(dispatching())

    assert [words(reply) for reply in talk.plays("go", handed_back)] == [
        "I send one",
        "he says: it works\nreally",
    ]


def test_words_while_an_agent_works_do_not_send_another_one() -> None:
    talk = Talk(dispatching())
    talk.says("go")
    talk.answers()
    talk.launches("a1")
    talk.answers()
    talk.says("hurry")

    assert words(talk.answers()) == "he is on it"


def test_an_agent_that_was_stopped_is_sent_again() -> None:
    for status in ("stopped", "killed"):
        talk = Talk(dispatching())
        talk.says("go")
        talk.answers()
        talk.launches("a1")
        talk.answers()
        talk.notified("a1", status=status)
        talk.says("go on")

        assert places([talk.answers()]) == [("job", 0)]
        talk.launches("a2")
        assert words(talk.answers()) == "he is on it"
        talk.notified("a2", "now it works")
        assert words(talk.answers()) == "he says: now it works"


def test_two_agents_are_waited_for() -> None:
    turns = [Turn(calls=[AGENT, AGENT]), Turn(text="{result}")]
    talk = Talk(Script(scenes=[Scene(name="job", turns=turns)], meanwhile="wait"))
    talk.says("go")
    talk.answers()
    one, other = talk.calls()
    launched = [result(one, LAUNCHED.format(agent="a1")), result(other, LAUNCHED.format(agent="a2"))]
    talk.messages.append({"role": "user", "content": launched})

    assert words(talk.answers()) == "wait"
    talk.notified("a2", "two")
    assert words(talk.answers()) == "wait"
    talk.notified("a1", "one")
    assert words(talk.answers()) == "one\ntwo"


def test_an_agent_that_failed_has_reported() -> None:
    talk = Talk(dispatching())
    talk.says("go")
    talk.answers()
    talk.launches("a1")
    talk.answers()
    talk.notified("a1", status="failed")

    assert words(talk.answers()) == "he says: Agent finished"


def test_a_turn_with_words_for_the_meantime_uses_them() -> None:
    turns = [Turn(calls=[AGENT], meanwhile="my own words"), Turn(text="the end")]
    talk = Talk(Script(scenes=[Scene(name="job", turns=turns)]))
    talk.says("go")
    talk.answers()
    talk.launches("a1")

    assert words(talk.answers()) == "my own words"


def test_a_scene_that_names_the_prompt_comes_before_one_that_does_not() -> None:
    script = Script(
        scenes=[
            Scene(name="any", turns=[Turn(text="anything")]),
            Scene(name="colour", prompt="red|blue", turns=[Turn(text="a colour")]),
        ]
    )
    talk = Talk(script)

    assert [words(reply) for reply in talk.plays("make it blue")] == ["a colour"]
    assert [words(reply) for reply in talk.plays("make it blue")] == ["anything"]


def test_what_was_asked_for_meanwhile_follows_the_last_words_in_the_same_breath() -> None:
    script = Script(
        scenes=[
            Scene(
                name="colour", prompt="blue", turns=[Turn(text="now blue", calls=[BASH]), Turn(text="it is")]
            ),
            Scene(name="job", turns=[Turn(text="work", calls=[BASH]), Turn(text="worked")]),
        ]
    )
    talk = Talk(script)
    talk.says("go")
    talk.answers()
    remark = (
        "The user sent a new message while you were working:\nmake it blue\n\n"
        "This is how Claude Code surfaces messages the user sends mid-turn — within the running turn."
    )
    content = [result(talk.calls()[0], "ok"), {"type": "text", "text": remark}]
    talk.messages.append({"role": "user", "content": content})

    joined = talk.answers()
    talk.brings()

    assert words(joined) == "worked\nnow blue"
    assert joined.message["stop_reason"] == "tool_use"
    assert words(talk.answers()) == "it is"


def test_a_scene_that_is_playing_goes_on_although_another_is_asked_for() -> None:
    script = Script(
        scenes=[
            Scene(name="colour", prompt="blue", turns=[Turn(text="now blue")]),
            Scene(name="job", turns=[Turn(calls=[BASH]), Turn(calls=[BASH]), Turn(text="worked")]),
        ]
    )
    talk = Talk(script)
    talk.says("go")
    talk.answers()
    talk.brings()
    talk.says("make it blue")

    assert places([talk.answers()]) == [("job", 1)]


def test_a_scene_that_cuts_in_does_not_wait_and_the_other_goes_on_afterwards() -> None:
    script = Script(
        scenes=[
            Scene(name="note", prompt="write a note", cuts_in=True, turns=[Turn(text="noted")]),
            Scene(name="job", turns=[Turn(calls=[BASH]), Turn(calls=[BASH]), Turn(text="worked")]),
        ]
    )
    talk = Talk(script)
    talk.says("go")
    talk.answers()
    talk.brings()

    assert places(talk.plays("write a note")) == [("note", 0)]
    assert places(talk.plays("go on")) == [("job", 1), ("job", 2)]


def test_after_an_interrupt_the_words_of_the_person_come_first_and_the_rest_later() -> None:
    script = Script(
        scenes=[
            Scene(
                name="colour", prompt="blue", turns=[Turn(text="now blue", calls=[BASH]), Turn(text="it is")]
            ),
            Scene(name="job", turns=[Turn(calls=[BASH]), Turn(text="worked")]),
        ]
    )
    talk = Talk(script)
    talk.says("go")
    talk.answers()
    talk.brings("[Request interrupted by user for tool use]")

    assert places(talk.plays("make it blue")) == [("colour", 0), ("colour", 1)]
    assert places(talk.plays("go on")) == [("job", 0), ("job", 1)]


def test_a_question_that_was_open_at_a_kill_is_asked_again() -> None:
    script = Script(scenes=[Scene(name="job", turns=[Turn(calls=[BASH]), Turn(text="{result}")])])
    talk = Talk(script)
    talk.says("go")
    talk.answers()
    talk.brings(
        "The tool call was interrupted before a result was received. It may or may not have completed on the "
        "server \u2014 verify before assuming it succeeded, and retry if needed."
    )

    assert places(talk.plays("go on", "tomorrow")) == [("job", 0), ("job", 1)]


def test_a_scene_that_was_asked_for_goes_on_although_the_words_of_a_resume_are_others() -> None:
    turns = [Turn(calls=[BASH]), Turn(calls=[BASH]), Turn(text="it is")]
    script = Script(
        scenes=[
            Scene(name="any", turns=[Turn(text="anything")]),
            Scene(name="colour", prompt="blue", turns=turns),
        ]
    )
    talk = Talk(script)
    talk.says("make it blue")
    talk.answers()
    talk.brings()
    talk.answers()
    talk.brings(KILLED)

    assert places(talk.plays("上一轮在中途被打断,没有跑完。")) == [("colour", 1), ("colour", 2)]


def test_a_scene_that_cuts_in_ends_its_turn_although_the_other_was_asked_for() -> None:
    script = Script(
        scenes=[
            Scene(name="note", prompt="note", cuts_in=True, turns=[Turn(text="noted")]),
            Scene(
                name="colour",
                prompt="blue",
                turns=[Turn(calls=[BASH]), Turn(calls=[BASH]), Turn(text="it is")],
            ),
        ]
    )
    talk = Talk(script)
    talk.says("make it blue")
    talk.answers()
    talk.brings()
    talk.says("write a note on it")

    noted = talk.answers()

    assert (words(noted), noted.message["stop_reason"]) == ("noted", "end_turn")
    assert places(talk.plays("go on")) == [("colour", 1), ("colour", 2)]


def test_an_interrupt_in_the_middle_of_words_repeats_them() -> None:
    talk = Talk(two_steps())
    talk.says("go")
    talk.answers()
    talk.brings()
    talk.messages.append({"role": "assistant", "content": [{"type": "text", "text": "sec"}]})
    talk.messages.append({"role": "user", "content": "[Request interrupted by user]"})
    talk.says("go on")

    assert places([talk.answers()]) == [("job", 1)]


def test_again_means_once_for_each_time_a_person_speaks() -> None:
    scene = Scene(name="look", again=True, turns=[Turn(text="I look", calls=[BASH]), Turn(text="all there")])
    talk = Talk(Script(scenes=[scene]))

    first, second = talk.plays("go on"), talk.plays("go on")

    assert places(first) == places(second) == [("look", 0), ("look", 1)]


def test_a_turn_is_left_out_when_the_last_result_does_not_ask_for_it() -> None:
    turns = [
        Turn(calls=[BASH]),
        Turn(when="missing", text="write", calls=[BASH]),
        Turn(unless="missing", text="keep", calls=[BASH]),
        Turn(text="the end"),
    ]
    script = Script(scenes=[Scene(name="job", turns=turns)])

    assert places(Talk(script).plays("go", "it is missing"))[1] == ("job", 1)
    assert places(Talk(script).plays("go", "it is there"))[1] == ("job", 2)


def test_a_turn_is_played_as_many_times_as_it_says() -> None:
    turns = [Turn(text="round {round}", calls=[BASH], times=3), Turn(text="the end")]
    talk = Talk(Script(scenes=[Scene(name="job", turns=turns)]))

    assert [words(reply) for reply in talk.plays("go")] == ["round 0", "round 1", "round 2", "the end"]


def test_the_folder_and_the_prompt_are_filled_in_and_other_braces_stay() -> None:
    call = Call(
        tool="Write", input={"file_path": "{cwd}/a", "lines": ["{prompt}", {"deep": "{cwd}"}], "n": 3}
    )
    turns = [Turn(text="in {cwd}: {nothing} {}", calls=[call])]
    talk = Talk(Script(scenes=[Scene(name="job", turns=turns)]), cwd="/some/工作 区")
    talk.says("go")

    reply = talk.answers()

    assert words(reply) == "in /some/工作 区: {nothing} {}"
    assert talk.calls()[0]["input"] == {
        "file_path": "/some/工作 区/a",
        "lines": ["go", {"deep": "/some/工作 区"}],
        "n": 3,
    }


def test_as_much_text_as_is_asked_for_is_made() -> None:
    talk = Talk(
        Script(scenes=[Scene(name="job", turns=[Turn(text="{fill:100000}")])], closing="that was all")
    )

    first, second = talk.plays("go"), talk.plays("more")

    assert len(words(first[0]).encode()) == 100_000
    assert [words(reply) for reply in second] == ["that was all"]


def test_same_words_in_two_scenes_belong_to_the_one_on_stage() -> None:
    script = Script(
        scenes=[
            Scene(name="one", turns=[Turn(text="same"), Turn(text="after one")]),
            Scene(name="two", turns=[Turn(text="same"), Turn(text="after two")]),
        ]
    )
    talk = Talk(script)

    spoken = [words(talk.plays("go")[0]) for _ in range(4)]

    assert spoken == ["same", "after one", "same", "after two"]


def test_an_optional_call_is_left_out_when_the_tool_is_not_offered() -> None:
    turns = [Turn(calls=[Call(tool="TodoWrite", optional=True), BASH]), Turn(text="the end")]
    script = Script(scenes=[Scene(name="job", turns=turns)])
    with_it, without = Talk(script), Talk(script, tools=["Bash"])
    for talk in (with_it, without):
        talk.says("go")
        talk.answers()

    assert [call["name"] for call in with_it.calls()] == ["TodoWrite", "Bash"]
    assert [call["name"] for call in without.calls()] == ["Bash"]
    without.brings()
    assert places([without.answers()]) == [("job", 1)]


def test_thinking_comes_first_and_is_signed() -> None:
    talk = Talk(Script(scenes=[Scene(name="job", turns=[Turn(thinking="hm", text="so")])]))
    talk.says("go")

    thought, said = talk.answers().message["content"]

    assert (thought["type"], thought["thinking"], bool(thought["signature"])) == ("thinking", "hm", True)
    assert said == {"type": "text", "text": "so"}


def test_tokens_are_reported_as_the_script_says() -> None:
    tokens = Usage(input=10, output=20, cache_read=150_000, cache_creation=3_000)
    talk = Talk(Script(scenes=[Scene(name="job", turns=[Turn(text="so", tokens=tokens)])]))
    talk.says("go")

    assert talk.answers().message["usage"] == {
        "input_tokens": 10,
        "output_tokens": 20,
        "cache_read_input_tokens": 150_000,
        "cache_creation_input_tokens": 3_000,
    }


def test_tokens_that_are_not_given_stay_modest() -> None:
    for reply in Talk(two_steps()).plays("go"):
        usage = reply.message["usage"]
        assert 2000 <= usage["input_tokens"] <= 5000
        assert 0 < usage["output_tokens"] < 1000


def test_workers_and_the_main_thread_have_scenes_of_their_own() -> None:
    script = Script(
        scenes=[
            Scene(name="boss", role="main", turns=[Turn(text="I lead")]),
            Scene(name="hand", role="worker", turns=[Turn(text="I work")]),
        ]
    )
    by_header = Talk(script, agent="a1")
    by_prompt = Talk(script, system="x-anthropic-billing-header: cc_is_subagent=true;")

    assert [words(reply) for reply in Talk(script).plays("go")] == ["I lead"]
    assert [words(reply) for reply in by_header.plays("do")] == ["I work"]
    assert [words(reply) for reply in by_prompt.plays("do")] == ["I work"]


def test_a_role_is_known_by_its_instructions_and_its_tools() -> None:
    script = Script(
        roles={
            "leader": Role(thread="main", tools=["Agent"]),
            "judge": Role(thread="main", without=["Agent"], system="verdict"),
        },
        scenes=[
            Scene(name="lead", role="leader", turns=[Turn(text="I lead")]),
            Scene(name="judge", role="judge", turns=[Turn(text="I judge")]),
        ],
    )
    judge = Talk(script, tools=["Read"], system="give a verdict")
    stranger = Talk(script, tools=["Read"], system="say something")

    assert [(reply.role, words(reply)) for reply in Talk(script).plays("go")] == [("leader", "I lead")]
    assert [(reply.role, words(reply)) for reply in judge.plays("go")] == [("judge", "I judge")]
    assert [(reply.role, words(reply)) for reply in stranger.plays("go")] == [("main", script.closing)]


def test_a_request_for_a_title_gets_one_and_no_scene_is_played() -> None:
    talk = Talk(two_steps(), tools=[])
    talk.says("<session>\ngo\n</session>")
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}

    reply = talk.answers(output_config={"format": {"type": "json_schema", "schema": schema}})

    assert (reply.role, words(reply)) == ("side", '{"title": "排练"}')


def test_a_probe_without_tools_gets_a_harmless_word() -> None:
    talk = Talk(two_steps(), tools=[])
    talk.says("hi")

    reply = talk.answers()

    assert (reply.role, reply.message["stop_reason"]) == ("side", "end_turn")


def test_a_role_may_claim_the_requests_without_tools() -> None:
    script = Script(
        roles={"titles": Role(side=True, system="naming")},
        scenes=[Scene(name="title", role="titles", turns=[Turn(text="a title")])],
    )
    talk = Talk(script, tools=[], system="You are naming a session")

    assert [words(reply) for reply in talk.plays("go")] == ["a title"]


def test_after_a_summary_the_script_goes_on_where_it_was() -> None:
    script = Script(
        scenes=[
            Scene(name="before", prompt="before", turns=[Turn(text="done before")]),
            Scene(name="job", turns=[Turn(text="a", calls=[BASH]), Turn(text="{cwd}", calls=[BASH])]),
        ]
    )
    talk = Talk(script, cwd="/some/where")
    talk.plays("before")
    talk.says("go")
    talk.answers()
    talk.brings()
    talk.says("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is to create a summary.")
    summary = talk.answers()

    after = Talk(script, cwd="")
    continued = "This session is being continued from a previous conversation that ran out of context.\n\n"
    after.messages.append({"role": "user", "content": continued + words(summary)})
    after.says("before, and go on")

    assert summary.role == "side"
    assert words(summary).startswith("<analysis>")
    assert (places([after.answers()]), words(after.answers())) == ([("job", 1)], "/some/where")
