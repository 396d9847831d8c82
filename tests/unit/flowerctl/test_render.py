from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flower_protocol.events import EventRecord
from flowerctl.attach.render import render
from flowerctl.attach.view import View, advance
from flowerctl.language import Texts
from flowerctl.output import Line, Style
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
    "aside",
    "judge",
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


def test_a_file_in_the_workspace_is_named_as_seen_from_there() -> None:
    def read(path: str) -> EventRecord:
        return an_event("tool_call", path, tool="Read", input={"file_path": path})

    assert shown(read("/w/proj/a/b.py"), workspace="/w/proj") == ["  * Read a/b.py"]
    assert shown(read("/etc/hosts"), workspace="/w/proj") == ["  * Read /etc/hosts"]
    command = an_event("tool_call", "/w/proj/x.sh", tool="Bash", input={"command": "/w/proj/x.sh"})
    assert shown(command, workspace="/w/proj") == ["  * Bash /w/proj/x.sh"]


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
    wrapped = "<tool_use_error>no such tool</tool_use_error>"
    assert shown(an_event("tool_result", wrapped, is_error=True)) == ["  x no such tool"]


def test_a_call_that_a_person_broke_off_is_no_failure() -> None:
    words = "The user doesn't want to proceed with this tool use. The tool use was rejected"
    broken_off, failed = (an_event("tool_result", text, is_error=True) for text in (words, "no such file"))

    assert in_a_row(an_event("interrupted", who="me"), broken_off, failed)[1:] == ["  x no such file"]
    assert shown(broken_off) != []


def test_who_watches_is_told_that_a_run_is_held_and_what_ends_that() -> None:
    assert shown(an_event("interrupted", who="ann")) == ["  ! 这一轮被打断了。谁说句话,它就接着跑"]
    assert shown(an_event("interrupted")) == ["  ! 这一轮被打断了"]


def test_a_turn_that_is_broken_off_for_a_handoff_is_no_failure() -> None:
    writing = an_event("handoff", "…", phase="writing", **LEVELS)
    done = an_event("handoff", phase="done", degraded=False, path="", sections={}, **LEVELS)
    ended = an_event("result", "error_during_execution", is_error=True, error="stop_reason=tool_use")

    assert in_a_row(writing, ended) == in_a_row(writing)
    assert in_a_row(writing, done, ended)[-1] == "  x 这一轮没跑完:stop_reason=tool_use"


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


def test_a_question_that_never_stood_on_the_screen_comes_with_its_outcome() -> None:
    settled = an_event("ask", "要哪种?", id="q1", options=["大的"], state="timeout")
    asked = an_event("ask", "要哪种?", id="q1", options=["大的"], state="asked", remaining=-1)

    assert shown(settled)[:2] == ["  ? 要哪种?", "     1) 大的"]
    assert in_a_row(asked, settled).count("  ? 要哪种?") == 1


def test_a_long_option_is_wrapped_under_its_words() -> None:
    question = an_event("ask", "要哪种?", id="q1", options=["选 " * 30], state="asked")

    assert all(line.startswith("        选") for line in shown(question, width=40)[2:])


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


LEVELS = {"step": "干活", "context": 152000, "window": 200000}


def test_a_session_that_is_nearly_full_says_how_much_is_left() -> None:
    about = LEVELS | {"phase": "near", "at": 150000, "context": 130000}
    near = EventRecord(seq=1, at=0.0, kind="handoff", payload=about)

    assert shown(near) == ["# 上下文 130.0K/200K · 还有约 20K 到换代"]


def test_a_handoff_shows_what_is_left_behind_and_where_it_lies() -> None:
    sections = {
        "doing": "- 写转换器\n- 第二行",
        "decided": "纯 Python",
        "deadends": "正则套正则",
        "next": "\n转 sample.md",
        "scene": "md2html.py",
    }
    path = "/home/ann/proj/.flower/notes/交接-干活.md"
    writing = an_event("handoff", "…", phase="writing", **LEVELS)
    done = an_event("handoff", "…", phase="done", degraded=False, path=path, sections=sections, **LEVELS)

    assert shown(writing) == ["# 上下文 152.0K/200K —— 写交接准备换代"]
    assert shown(done, home=Path("/home/ann")) == [
        "  - 现在在做  写转换器",
        "  - 已定的事  纯 Python",
        "  - 走不通的  正则套正则",
        "  - 下一步    转 sample.md",
        "<- 交接写在 ~/proj/.flower/notes/交接-干活.md",
        "<- 新会话接手,上下文从 152.0K 重新开始",
    ]


def test_a_makeshift_handoff_is_one_red_line() -> None:
    view = View(texts=Texts("zh"), width=80)
    done = an_event("handoff", phase="done", degraded=True, path="", sections={"doing": "…"}, **LEVELS)

    first, last = render(done, view)

    assert first == Line("  x 交接没写成,用了降级版本 —— 接手的人会自己去现场看", Style.BAD)
    assert last.text.startswith("<- 新会话接手")


def test_checks_that_cannot_be_verified_are_listed_while_the_goal_may_be_changed() -> None:
    checks = ["双击打开 [此环境无法验证:没有 macOS]", "装一遍 [此环境无法验证:没有 Windows]"]
    path = "/home/ann/proj/.flower/notes/目标.md"
    warning = an_event("task", "…", unverifiable=checks, total=15, path=path)

    assert shown(warning, workspace="/home/ann/proj", width=110) == [
        "  # 目标里有 2/15 条在这个环境里验不了 —— 判定时它们必然过不去,会停下来问你。",
        "    现在改 .flower/notes/目标.md 还来得及:",
        "      · 双击打开 [此环境无法验证:没有 macOS]",
        "      · 装一遍 [此环境无法验证:没有 Windows]",
    ]


def test_a_side_answer_stands_apart_with_its_cost() -> None:
    answer = an_event("aside", "在写转换器。", id="a", who="me", question="在干嘛", ok=True, cost_usd=0.0123)

    assert shown(answer, me="me") == ["# 旁路", "  在写转换器。", "  ($0.0123,没有打扰正在跑的运行)"]
    assert shown(answer, me="ann")[1] == "  me 问:在干嘛"


def test_a_side_question_that_failed_is_one_line() -> None:
    failed = an_event("aside", "TimeoutError: 太久", ok=False, who="me", question="在干嘛")

    assert shown(failed) == ["# 旁路问答失败:TimeoutError: 太久"]


def test_money_is_precise_where_one_turn_is_all() -> None:
    ended = an_event("result", cost_usd=0.53, num_turns=1, is_error=False)

    assert shown(ended, precise=True) == ["  + 完成 1 轮 · $0.5300 · 用时 0:00"]


VERDICT = "# 结论\n未达成\n\n# 理由\n没有 OK\n\n# 未通过\n- 跑 check.sh,看到 OK"
RULED = {
    "phase": "ruled",
    "round": 1,
    "state": "not_yet",
    "reason": "没有 OK",
    "failed": ["跑 check.sh,看到 OK"],
}
RULED_LINES = ["  ! 第 1 轮判定:未达成", "    没有 OK", "    - 跑 check.sh,看到 OK"]


def of_judge(kind: str, text: str = "", **payload: Any) -> EventRecord:
    return an_event(kind, text, judge=True, subagent=False, **payload)


def test_a_round_is_judged_sent_back_and_judged_again() -> None:
    lines = in_a_row(
        an_event("step", "干活", index=3, total=3),
        an_event("text", "写好了", context=2000),
        an_event("judge", phase="begins", round=1),
        of_judge("text", "我去看。", context=9000),
        of_judge("tool_call", "sh check.sh"),
        of_judge("text", VERDICT, context=9500),
        an_event("judge", **RULED),
        an_event("judge", phase="sent_back", round=2),
        an_event("text", "补好了", context=2000),
        an_event("judge", phase="begins", round=2),
        an_event("judge", phase="ruled", round=2, state="achieved", reason="看到了", failed=[]),
    )

    assert lines == [
        "== 干活 ==============================  3/3",
        "  写好了",
        "  - 上下文 2.0K",
        "  # 第 1 轮做完了,交给判定者看",
        "  我去看。",
        "  * sh check.sh",
        *RULED_LINES,
        "  <- 打回去接着做 · 第 2 轮",
        "  补好了",
        "  # 第 2 轮做完了,交给判定者看",
        "  + 第 2 轮判定:达成",
        "    看到了",
    ]


def test_rounds_are_told_in_english_too() -> None:
    english = {"texts": Texts("en")}
    ruled = an_event(
        "judge", phase="ruled", round=3, state="unreachable", reason="no macOS", failed=["open it"]
    )

    assert shown(ruled, **english) == [
        "  x round 3 was judged: out of reach",
        "    no macOS",
        "    - open it",
    ]
    assert shown(an_event("judge", phase="sent_back", round=2), **english) == ["  <- sent back · round 2"]


def test_who_comes_in_the_middle_of_a_judgement_sees_the_verdict_once() -> None:
    before_its_words = in_a_row(of_judge("text", VERDICT), of_judge("result"), an_event("judge", **RULED))
    after_them = in_a_row(an_event("judge", **RULED))

    assert [line for line in before_its_words if "完成" not in line] == after_them == RULED_LINES


def test_a_verdict_that_was_overruled_is_shown_as_it_counts() -> None:
    done = "# 结论\n达成\n# 理由\n看到了\n# 未通过\n无"
    late = {
        "phase": "ruled",
        "round": 1,
        "state": "not_yet",
        "reason": "人刚才又说了\n- 要红的",
        "failed": [],
    }

    assert in_a_row(of_judge("text", done), an_event("judge", **late)) == [
        "  ! 第 1 轮判定:未达成",
        "    人刚才又说了",
        "    - 要红的",
    ]


def test_of_an_unclear_verdict_and_of_none_at_all_the_judges_own_words_are_shown() -> None:
    unclear = an_event("judge", phase="ruled", round=1, state="", reason="没给出明确结论", failed=[])

    assert in_a_row(of_judge("text", "应该可以吧"), unclear) == [
        "  应该可以吧",
        "  ! 第 1 轮判定:不明确",
        "    没给出明确结论",
    ]
    assert in_a_row(of_judge("text", "我先看看"), an_event("run_ended", ok=True))[0] == "  我先看看"


def test_checks_that_were_made_anew_are_listed_instead_of_the_words_they_came_in() -> None:
    anew = an_event("judge", phase="anew", round=1, checks=["跑 x", "有高亮"])

    assert in_a_row(of_judge("text", "# 目标\nx\n# 判定清单\n- 跑 x\n- 有高亮"), anew) == [
        "  # 判定清单重推好了,共 2 条:",
        "    - 跑 x",
        "    - 有高亮",
    ]


def test_verbosely_a_judges_words_are_shown_as_they_come() -> None:
    assert shown(of_judge("text", "我去看。", context=9000), verbose=True) == ["  我去看。"]


VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=80))
PHASES = st.sampled_from(["begins", "anew", "ruled", "sent_back", "achieved", "near", "done"])
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
            "id",
            "ok",
            "question",
            "subtype",
            "sections",
            "degraded",
            "unverifiable",
            "at",
            "judge",
            "round",
            "reason",
            "failed",
            "checks",
        ]
    ),
    st.one_of(
        VALUES, PHASES, st.lists(VALUES, max_size=3), st.dictionaries(st.text(max_size=5), VALUES, max_size=2)
    ),
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
