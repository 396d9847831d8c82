"""What a journal tells of a person's words: which count already, and which reached nobody."""

import json
from typing import Any

from flowerd.remarks import said


def _line(kind: str, text: str = "", **payload: Any) -> bytes:
    event = {"seq": 1, "at": 1.0, "kind": kind, "text": text, "tool": "", "payload": payload}
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


STARTED = _line("run_started", "go", ask="go", unheard=[])
SPEAKS = _line("text", "hm", subagent=False)
RESULT = _line("tool_result", "ok", subagent=False)


def _remark(text: str) -> bytes:
    return _line("remark", text, id=f"id of {text}")


def test_every_remark_that_is_kept_counts() -> None:
    found = said([STARTED, _remark("a"), SPEAKS, _line("run_ended", outcome="done"), STARTED, _remark("b")])

    assert found.ids == {"id of a", "id of b"}


def test_after_a_cut_a_remark_counts_as_heard_once_the_model_spoke_past_a_tool_boundary() -> None:
    lines = [STARTED, SPEAKS, _remark("heard"), RESULT, SPEAKS, _remark("too late"), RESULT]

    assert said(lines).unheard == ("too late",)


def test_what_subagents_do_says_nothing_of_the_main_thread() -> None:
    lines = [STARTED, SPEAKS, _remark("a"), _line("tool_result", subagent=True), _line("text", subagent=True)]

    assert said(lines).unheard == ("a",)


def test_the_end_of_a_turn_is_a_boundary_too() -> None:
    lines = [STARTED, SPEAKS, _remark("a"), _line("result", "success"), SPEAKS]

    assert said(lines).unheard == ()


def test_a_request_that_the_model_never_answered_is_unheard() -> None:
    assert said([STARTED]).unheard == ("go",)
    assert said([STARTED, SPEAKS]).unheard == ()


def test_what_a_cut_run_had_been_told_again_is_told_once_more() -> None:
    lines = [_line("run_started", ask=None, unheard=["from before"])]

    assert said(lines).unheard == ("from before",)


def test_a_run_that_ended_in_good_order_says_itself_what_it_left_unheard() -> None:
    lines = [STARTED, _remark("a"), _line("run_ended", outcome="stopped", unheard=["a"])]

    assert said(lines).unheard == ("a",)
    assert said([*lines[:2], _line("run_ended", outcome="done", unheard=[])]).unheard == ()


def test_a_run_that_the_daemon_took_with_it_is_read_like_a_cut_one() -> None:
    lines = [STARTED, SPEAKS, _remark("a"), _line("run_ended", outcome="interrupted", unheard=[])]

    assert said(lines).unheard == ("a",)


def test_a_line_that_is_no_event_is_passed_over() -> None:
    assert said([STARTED, b'{"kind":"remark"\n', SPEAKS]).unheard == ()
