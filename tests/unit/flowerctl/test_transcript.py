from typing import Any

from flower_protocol.events import EventRecord
from flowerctl.attach.transcript import Transcript
from flowerctl.language import Texts


def event(seq: int, kind: str, text: str = "", **payload: Any) -> EventRecord:
    return EventRecord(seq=seq, at=float(seq), kind=kind, text=text, payload=payload)


def transcript(**options: Any) -> Transcript:
    return Transcript(Texts("zh"), window_columns=lambda: 80, **options)


def texts(lines: Any) -> list[str]:
    return [line.text for line in lines]


def test_a_turn_that_a_person_broke_off_is_no_failure() -> None:
    broken_off = [
        event(1, "interrupted", who="me"),
        event(2, "result", "error_during_execution", is_error=True),
    ]

    assert texts(transcript().events(broken_off, live=True, own={1})) == []


def test_a_notice_that_was_told_before_the_run_is_not_shown_again() -> None:
    shown = transcript()
    told = shown.notices(["lineage.json 读不懂"])
    before = shown.events([event(1, "notice", "lineage.json 读不懂")], live=False)
    same, other, later = (
        event(2, "notice", "lineage.json 读不懂"),
        event(3, "notice", "别的"),
        event(4, "notice", "lineage.json 读不懂"),
    )

    assert texts(told) == ["! lineage.json 读不懂"] and len(before) == 1
    assert texts(shown.events([same, other, later], live=True)) == ["  ! 别的", "  ! lineage.json 读不懂"]


def test_a_turn_that_failed_by_itself_is_said() -> None:
    failed = [event(1, "result", "error_max_turns", is_error=True)]

    assert texts(transcript().events(failed, live=True)) == ["  x 这一轮没跑完:error_max_turns"]


def test_a_rehearsal_is_recognised_without_the_flag() -> None:
    shown = transcript().events(
        [event(1, "run_started", rehearse=True), event(2, "text", "一\n二")], live=True
    )

    assert texts(shown) == ["[排练]   一", "[排练]   二"]


def test_a_real_run_is_not_called_a_rehearsal_because_somebody_typed_the_flag() -> None:
    shown = transcript(rehearsing=True).events(
        [event(1, "run_started", rehearse=False), event(2, "text", "一")], live=True
    )

    assert texts(shown) == ["  一"]


def test_the_mark_of_a_rehearsal_is_within_the_width() -> None:
    lines = transcript(rehearsing=True).events([event(1, "text", "字" * 100)], live=True)

    assert max(len(line.text) + line.text.count("字") for line in lines) <= 80


def test_the_sum_is_shown_beside_what_happens_now_not_beside_the_past() -> None:
    said = [event(1, "text", "一", context=1000)]
    now, past = transcript(), transcript()
    for each in (now, past):
        each.spent(0.94)

    assert "累计 $0.94" in texts(now.events(said, live=True))[-1]
    assert "累计" not in texts(past.events(said, live=False))[-1]


def test_a_command_to_copy_is_never_broken() -> None:
    assert len(transcript().whole("接上去:cd " + "/long" * 40)) == 1


def test_what_a_judge_said_before_the_run_broke_off_is_not_lost() -> None:
    ended = [
        event(1, "text", "我先看看", judge=True, subagent=False),
        event(2, "run_ended", outcome="stopped", cost_usd=0.0),
    ]

    assert texts(transcript().events(ended, live=True))[0] == "  我先看看"
