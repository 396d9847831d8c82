"""Results of commands that only look go stale."""

import copy

from flower.stores.expire import EphemeralPolicy, expire
from tests.unit.stores.transcripts import Entry, Transcript, blocks, call, result, words


def looks(*commands: str, answer: str = "clean") -> Transcript:
    transcript = Transcript()
    for number, command in enumerate(commands):
        transcript.says(f"a{number}", call(f"t{number}", command))
        transcript.results(f"r{number}", result(f"t{number}", answer))
    return transcript


def answers(entries: list[Entry]) -> list[str]:
    return [block["content"] for block in blocks(entries, "tool_result")]


def test_all_but_the_last_looks_expire() -> None:
    transcript = looks(*["git status"] * 6)
    before = copy.deepcopy(transcript.entries)

    entries, expired = expire(transcript.entries, EphemeralPolicy(keep_recent=2))

    assert expired == 4
    assert answers(entries)[4:] == ["clean", "clean"]
    assert answers(entries)[0] == "[`git status` 的结果已过期(第 5 轮前),当前状态可能已变。需要请重新执行]"
    assert answers(entries)[3] == "[`git status` 的结果已过期(第 2 轮前),当前状态可能已变。需要请重新执行]"
    assert transcript.entries == before


def test_what_a_command_did_does_not_expire() -> None:
    transcript = looks("make", "git commit -m x", "git status && rm x", "pytest -q")

    assert expire(transcript.entries, EphemeralPolicy(keep_recent=0)) == (transcript.entries, 0)


def test_only_shell_commands_expire() -> None:
    transcript = Transcript()
    transcript.says("a", call("t", "git status", name="Read"), {**call("u"), "input": None}, call("v"))
    transcript.results("r", result("t"), result("u"), result("v"))

    assert expire(transcript.entries, EphemeralPolicy(keep_recent=0)) == (transcript.entries, 0)


def test_a_long_look_is_left_to_trimming() -> None:
    transcript = looks("cat big.txt", "cat small.txt", answer="x" * 2001)
    transcript.entries[3]["message"]["content"][0]["content"] = "x" * 2000

    entries, expired = expire(transcript.entries, EphemeralPolicy(keep_recent=0))

    assert expired == 1
    assert answers(entries)[0] == "x" * 2001


def test_refused_and_interrupted_looks_are_left_to_pruning() -> None:
    transcript = Transcript()
    transcript.says("a", call("t", "git status"), call("u", "git status"))
    transcript.denied("r", "t")
    transcript.results("s", result("u", "[Request interrupted by user]", is_error=True))

    assert expire(transcript.entries, EphemeralPolicy(keep_recent=0)) == (transcript.entries, 0)


def test_a_list_of_texts_expires_and_stays_a_list_but_an_image_stays() -> None:
    image = [words("see"), {"type": "image", "source": {}}]
    transcript = Transcript()
    transcript.says("a", call("t", "ls"), call("u", "ls"))
    transcript.results("r", result("t", [words("one"), words("two")]), result("u", image))

    entries, expired = expire(transcript.entries, EphemeralPolicy(keep_recent=0))

    assert expired == 1
    assert blocks(entries, "tool_result")[0]["content"][0]["text"].startswith("[`ls` 的结果已过期")
    assert blocks(entries, "tool_result")[1]["content"] == image


def test_the_age_counts_the_models_messages_not_their_parts() -> None:
    transcript = looks("git status")
    for part in range(3):
        transcript.says(f"b{part}", words(), message="one message")

    entries, _ = expire(transcript.entries, EphemeralPolicy(keep_recent=0))

    assert "第 1 轮前" in answers(entries)[0]


def test_a_command_of_a_page_is_cut_to_a_line() -> None:
    entries, _ = expire(looks("ls " + "file \\\n" * 200).entries, EphemeralPolicy(keep_recent=0))

    assert len(answers(entries)[0]) < 300
    assert "\n" not in answers(entries)[0]


def test_a_command_with_braces_is_shown_as_it_is() -> None:
    entries, _ = expire(looks("cat {cmd} {0}").entries, EphemeralPolicy(keep_recent=0))

    assert answers(entries)[0].startswith("[`cat {cmd} {0}` 的结果已过期")


def test_the_defaults_are_as_they_were_promised() -> None:
    assert EphemeralPolicy() == EphemeralPolicy(
        enabled=True,
        keep_recent=6,
        max_chars=2000,
        text="[{cmd} 的结果已过期(第 {age} 轮前),当前状态可能已变。需要请重新执行]",
    )
