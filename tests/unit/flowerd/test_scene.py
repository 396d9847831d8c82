"""What somebody who looks into a side question is told of the run."""

from flowerd.scene import CHARACTERS, EVENTS, scene_of
from flowerd.wire import Draft, line


def scene(*drafts: Draft) -> list[str]:
    return scene_of([line(seq, 1.0, draft) for seq, draft in enumerate(drafts, start=1)]).splitlines()


def test_each_event_is_one_short_line() -> None:
    told = scene(
        Draft("tool_call", "ls\n-la", "Bash", {"subagent": True}),
        Draft("text", "x" * 900),
        Draft("aside", "一半"),
    )

    assert told == ["- [subagent tool_call] Bash ls -la", f"- [text] {'x' * CHARACTERS}", "- [aside] 一半"]


def test_neither_thinking_nor_prompts_are_told_and_the_last_ones_win() -> None:
    told = scene(*(Draft(kind, f"{n}") for n in range(EVENTS + 5) for kind in ("text", "thinking", "prompt")))

    assert told == [f"- [text] {n}" for n in range(5, EVENTS + 5)]
