from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flower_protocol.events import EventRecord
from flowerctl.attach.render import render
from flowerctl.attach.view import View, advance
from flowerctl.language import Texts
from flowerctl.width import columns

KINDS = [
    "text",
    "thinking",
    "prompt",
    "tool_call",
    "tool_result",
    "task",
    "system",
    "reset",
    "result",
    "error",
    "unknown",
    "retry",
    "step",
    "handoff",
    "ask",
    "run_started",
    "run_ended",
    "remark",
    "interrupted",
    "resumed",
    "notice",
    "something_newer",
]


def an_event(kind: str, text: str = "", *, tool: str = "", at: float = 0.0, **payload: Any) -> EventRecord:
    return EventRecord(seq=1, at=at, kind=kind, text=text, tool=tool, payload=payload)


def shown(event: EventRecord, **view: Any) -> list[str]:
    given_view = View(**{"texts": Texts("zh"), "width": 80} | view)
    return [line.text for line in render(event, given_view)]


def in_a_row(*events: EventRecord) -> list[str]:
    view, lines = View(texts=Texts("zh"), width=80), []
    for event in events:
        lines += [line.text for line in render(event, view)]
        view = advance(view, event)
    return lines


def test_a_step_that_goes_on_is_one_rule_with_its_wake() -> None:
    step = an_event("step", "干活", index=3, total=3, resumed=True, woke=3)

    assert shown(step) == ["== 干活 ==============================  3/3  <- 接上次 · 第 3 次唤醒"]


def test_a_first_step_has_no_note() -> None:
    assert shown(an_event("step", "确认需求", index=1, total=3)) == [
        "== 确认需求 ==========================  1/3"
    ]


def test_a_narrow_step_puts_its_note_on_a_line_of_its_own() -> None:
    lines = shown(an_event("step", "干活", index=3, total=3, resumed=True, woke=3), width=40)

    assert lines[1] == "  <- 接上次 · 第 3 次唤醒"
    assert all(columns(line) <= 40 for line in lines)


def test_a_dispatch_names_the_role_and_the_errand() -> None:
    call = an_event("tool_call", tool="Agent", input={"subagent_type": "coder", "description": "写转换脚本"})

    assert shown(call) == ["  > 派人 coder 写转换脚本"]


def test_tool_calls_are_one_line_and_subagents_stand_behind_a_gutter() -> None:
    assert shown(an_event("tool_call", "a\nb", tool="Bash")) == ["  * Bash a b"]
    assert shown(an_event("tool_call", "ls", tool="Bash", subagent=True)) == ["  | * Bash ls"]
    assert len(shown(an_event("tool_call", "x" * 500, tool="Bash"))) == 1


def test_only_verbose_shows_what_subagents_say_and_what_tools_gave_back() -> None:
    quiet = [
        an_event("text", "hello", subagent=True),
        an_event("thinking", "hm", subagent=True),
        an_event("prompt", "do it"),
        an_event("tool_result", "fine", is_error=False),
    ]

    assert [shown(event) for event in quiet] == [[], [], [], []]
    assert all(shown(event, verbose=True) for event in quiet)


def test_a_failing_tool_result_is_shown_always() -> None:
    assert shown(an_event("tool_result", "no such file", is_error=True, subagent=True)) == [
        "  | x no such file"
    ]


def test_the_level_follows_a_text_of_the_main_thread_once_it_has_changed() -> None:
    said = an_event("text", "好了", at=764.0, context=36800)

    view = {"spent": 0.94, "started_at": 0.0}
    assert shown(said, **view)[-1] == "  - 上下文 36.8K · 累计 $0.94 · 12:44"
    assert shown(said, level=36800, **view) == ["  好了"]


def test_the_end_of_a_turn_says_what_it_took() -> None:
    view = advance(View(texts=Texts("zh"), width=80), an_event("run_started", at=0.0))
    ended = an_event("result", session_id="s", cost_usd=0.53, num_turns=9, at=362.0)

    assert [line.text for line in render(ended, view)] == ["  + 完成 9 轮 · $0.53 · 用时 6:02"]


def test_a_question_lists_its_options_and_what_is_left_to_ask() -> None:
    question = an_event("ask", "要哪种?", id="q1", options=["大的", "小的"], state="asked", remaining=2)

    assert shown(question) == ["  ? 要哪种?", "     1) 大的", "     2) 小的", "     (还能问 2 次)"]


def test_an_unlimited_number_of_questions_is_not_mentioned() -> None:
    assert shown(an_event("ask", "?", state="asked", remaining=-1)) == ["  ? ?"]


def test_outcomes_of_questions_have_their_own_words() -> None:
    assert shown(an_event("ask", state="answered", answer="大的")) == ["  + 大的"]
    assert shown(an_event("ask", state="timeout")) == [
        "  ! 无人应答 —— 它会自己判断,把假设记进「未知与假设」"
    ]
    assert shown(an_event("ask", state="over_budget")) == ["  ! 提问额度用完"]
    assert shown(an_event("ask", state="declined")) == ["  . 已跳过"]


def test_the_end_of_a_run_names_its_cost_and_its_manifest() -> None:
    ended = an_event("run_ended", outcome="done", cost_usd=1.2345)

    assert shown(ended, manifest="/abs/runs/manifest.json", width=110) == [
        "总花费 $1.2345 · 清单 /abs/runs/manifest.json"
    ]


def test_a_run_that_spent_nothing_says_so() -> None:
    assert shown(an_event("run_ended", ok=True, cost_usd=0, manifest="/m"))[-1] == "总花费 $0 · 清单 /m"


def test_a_run_that_failed_says_why() -> None:
    failed = an_event("run_ended", outcome="failed", error="凭证被拒", cost_usd=0)

    assert shown(failed)[0] == "  x 没有跑成:凭证被拒"


def test_refused_credentials_are_said_once_at_the_end_with_what_to_do() -> None:
    told = an_event("retry", "凭证被拒,先停在这里。", waiting="login")
    ended = an_event("run_ended", outcome="login", error="401 invalid x-api-key", cost_usd=0)

    assert shown(told) == []
    assert "".join(line.strip() for line in shown(ended, width=200)[:1]) == (
        "x 凭证被拒了(401 invalid x-api-key)。重新登录或者换好 key,它就自己接着跑;也可以再敲一次 flower。"
    )


def test_a_wait_is_one_line_when_it_begins_and_one_when_it_ends() -> None:
    tries = [an_event("retry", attempt=n, max_retries=10, delay_s=4, status=None) for n in range(1, 4)]
    events = [
        an_event("retry", "a:443 不可达,等待恢复", waiting="network"),
        *tries,
        an_event("retry", "a:443 恢复,继续", waiting=None),
        tries[0],
    ]

    assert in_a_row(*events) == [
        "  ~ a:443 不可达,等待恢复",
        "  ~ a:443 恢复,继续",
        "  ~ 第 1/10 次重试,4 秒后(0)",
    ]


def test_a_try_that_fails_during_a_wait_is_no_news() -> None:
    overload = an_event("retry", "服务端忙不过来", waiting="overload")
    failed = (an_event("error", "API Error: 529"), an_event("result", is_error=True, error="API Error: 529"))

    assert in_a_row(overload, *failed, *failed) == ["  ~ 服务端忙不过来"]


def test_what_a_turn_failed_of_is_said_once() -> None:
    said, failed = (
        an_event("error", "API Error: 400"),
        an_event("result", is_error=True, error="API Error: 400"),
    )

    assert in_a_row(said, failed) == ["  x API Error: 400"]
    assert in_a_row(said, failed, failed)[1:] == ["  x 这一轮没跑完:API Error: 400"]


def test_words_that_reached_nobody_are_shown_at_the_end() -> None:
    lines = shown(an_event("run_ended", outcome="stopped", unheard=["支持代码块"]))

    assert any("支持代码块" in line for line in lines)


def test_a_remark_names_who_said_it() -> None:
    assert shown(an_event("remark", "快点", who="ann@pts/3")) == ["  + ann@pts/3 说:快点"]


def test_a_notice_speaks_the_persons_language() -> None:
    notice = an_event("notice", "写不进去", zh="写不进去", en="cannot write")

    assert shown(notice) == ["  ! 写不进去"]
    assert shown(notice, texts=Texts("en")) == ["  ! cannot write"]


def test_an_unknown_kind_is_shown_by_its_text() -> None:
    assert shown(an_event("something_newer", "news")) == ["  - news"]
    assert shown(an_event("something_newer")) == []


def test_a_paragraph_is_wrapped_under_its_icon() -> None:
    lines = shown(an_event("thinking", "想 " * 60), width=40)

    assert lines[0].startswith("  ~ 想")
    assert all(line.startswith("    想") for line in lines[1:])


VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=80))
PAYLOADS = st.dictionaries(
    st.sampled_from(
        [
            "subagent",
            "context",
            "input",
            "options",
            "state",
            "answer",
            "remaining",
            "is_error",
            "error",
            "outcome",
            "who",
            "cost_usd",
            "index",
            "total",
            "resumed",
            "woke",
            "num_turns",
            "unheard",
            "kind",
            "phase",
            "session_id",
        ]
    ),
    st.one_of(VALUES, st.lists(VALUES, max_size=3), st.dictionaries(st.text(max_size=5), VALUES, max_size=2)),
    max_size=6,
)


@given(
    st.sampled_from(KINDS),
    st.text(max_size=300),
    st.text(max_size=30),
    PAYLOADS,
    st.integers(min_value=40, max_value=110),
    st.booleans(),
)
def test_whatever_comes_no_line_is_too_long_or_commands_the_terminal(
    kind: str, text: str, tool: str, payload: dict[str, Any], width: int, verbose: bool
) -> None:
    event = EventRecord(seq=1, at=1.0, kind=kind, text=text, tool=tool, payload=payload)

    for line in shown(event, width=width, verbose=verbose):
        assert columns(line) <= width
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in line)
