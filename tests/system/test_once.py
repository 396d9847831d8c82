"""``flower once`` as a person types it: the real CLI and real tools, a scripted model, no daemon."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from flower.rehearsal import Call, Scene, Script, Turn, Usage
from tests.support.household import COMMANDS, Household, HouseholdFactory
from tests.support.processes import alive, descendants, wait_until
from tests.support.runs import bash, play, rows, slow_once, told

pytestmark = pytest.mark.long

GO_ON = re.compile(r"接着说:flower once --resume ([0-9a-f-]{36}) \"…\"")
A_TURN = Usage(input=1000, output=2000)  # in tokens: worth several cents


def looking() -> Script:
    """An agent that looks at two things, and says what it has seen; asked again, it does the same."""
    glances = [
        Turn(text="我先看看", calls=[Call(tool="Glob", input={"pattern": "*"})], tokens=A_TURN),
        Turn(text="再读一个", calls=[Call(tool="Read", input={"file_path": "{cwd}/a.txt"})], tokens=A_TURN),
        Turn(text="里面写着 {result}", tokens=A_TURN),
    ]
    return Script(scenes=[Scene(name="look", role="main", again=True, turns=glances)])


def slow(folder: Path) -> Script:
    return play(Turn(text="慢慢来", calls=[slow_once(str(folder / "started"))]), Turn(text="到不了这里"))


def opened(household: HouseholdFactory, script: Callable[[Path], Script]) -> tuple[Household, Path]:
    folder = Path(os.environ["HOME"]) / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("你好")
    return household(script(folder)), folder


def last_row(folder: Path) -> dict[str, Any]:
    return rows(folder / "runs")[-1]


def started(home: Household, folder: Path, *arguments: str) -> "subprocess.Popen[Any]":
    """A call whose agent is in the middle of a slow command."""
    process = home.start("once", "-t", "Bash", *arguments, folder=folder)
    wait_until(lambda: (folder / "started").exists(), 30, what="the slow command to run")
    return process


def test_it_answers_is_gone_and_says_how_to_go_on(
    household: HouseholdFactory, terminal: Callable[..., Any]
) -> None:
    home, folder = opened(household, lambda _: looking())

    with home.terminal("once", "-v", "这里有什么", folder=folder) as screen:
        assert screen.wait(60) == 0
        shown = screen.text()

    assert "我先看看" in shown
    assert "* Read" in shown
    assert "里面写着 1 你好" in " ".join(shown.split())
    assert re.search(r"- 上下文 1\.0K · \d:\d\d", shown)
    [row] = rows(folder / "runs")
    spent, session = row["cost_usd"], row["session_id"]
    assert (row["step"], row["ok"]) == ("ad-hoc", True)
    assert re.search(rf"\+ 完成 \d 轮 · \${spent:.4f} · 用时 \d:\d\d", shown)
    assert spent > 0.01
    assert "总花费" not in shown and "==" not in shown
    assert GO_ON.search(shown.replace("\n", "")).group(1) == session  # type: ignore[union-attr]
    assert not (folder / "runs" / "lineage.json").exists()
    assert not list(Path(os.environ["XDG_RUNTIME_DIR"]).rglob("*.sock"))


def test_a_session_goes_on_with_a_budget_for_each_call_alone(household: HouseholdFactory) -> None:
    home, folder = opened(household, lambda _: looking())
    assert home.flower("once", "这里有什么", folder=folder).returncode == 0
    session, spent = last_row(folder)["session_id"], last_row(folder)["cost_usd"]

    again = home.flower("once", "--resume", session, "-b", f"{spent * 1.2}", "还有呢", folder=folder)
    copied = home.flower(
        "-v", "once", "--resume", session, "--fork", "-b", f"{spent / 2}", "换个说法", folder=folder
    )

    assert again.returncode == 0, again.stderr
    assert (copied.returncode, copied.stderr) == (1, f"${spent / 2:g} 花完了,停在了这里。\n")
    one, two, three = [row["session_id"] for row in rows(folder / "runs")]
    assert one == two == session != three
    assert GO_ON.search(copied.stdout).group(1) == three  # type: ignore[union-attr]
    assert home.model is not None
    assert all(words in told(home.model.requests[-1]) for words in ("这里有什么", "还有呢", "换个说法"))
    assert last_row(folder)["cost_usd"] == pytest.approx(spent * 2 / 3)


def test_the_agent_has_the_tools_it_was_given_and_no_others(household: HouseholdFactory) -> None:
    def attempts(folder: Path) -> Script:
        writes = [
            Call(tool="Write", input={"file_path": f"{folder}/{name}", "content": "x"})
            for name in ("b.txt", ".git/hooks/pre-commit")
        ]
        read = Call(tool="Read", input={"file_path": f"{folder}/a.txt"})
        return play(
            Turn(text="试试", calls=[bash("printenv ONLY_HERE > seen"), *writes, read]), Turn(text="好")
        )

    home, folder = opened(household, attempts)
    home.environment["ONLY_HERE"] = "这里"

    done = home.flower("once", "-t", "Write,Bash,Raed", "试试", folder=folder)

    assert done.returncode == 0
    assert "! 没有这样的工具:Raed" in done.stdout
    assert "No such tool available: Read" in done.stdout
    assert "requested permissions to edit" in done.stdout  # nobody is there to approve it
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt", "b.txt", "runs", "seen"]
    assert (folder / "seen").read_text() == "这里\n"


def test_ctrl_c_ends_it_in_order(household: HouseholdFactory) -> None:
    home, folder = opened(household, slow)
    with home.terminal("once", "-t", "Bash", "慢", folder=folder) as screen:
        wait_until(lambda: (folder / "started").exists(), 30, what="the slow command to run")
        below = descendants(screen.pid)
        screen.send("\x03")
        assert screen.wait(30) == 130
        shown = screen.text()

    assert len(below) > 3 and not any(map(alive, below))
    assert "! 这一轮被打断了" in shown
    assert "已停下。" in shown and "Traceback" not in shown
    assert last_row(folder)["error"] == "stopped-by-human"
    assert GO_ON.search(shown.replace("\n", "")).group(1) == last_row(folder)["session_id"]  # type: ignore[union-attr]


def test_a_second_ctrl_c_does_not_wait(household: HouseholdFactory) -> None:
    home, folder = opened(household, slow)
    process = started(home, folder, "慢")
    below = descendants(process.pid)

    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=30)

    assert process.returncode == 130
    assert "已停下。" in said and "Traceback" not in said
    wait_until(lambda: not any(map(alive, below)), 10, what="all below it to be gone")
    assert last_row(folder)["error"] in ("stopped-by-human", "killed-by-signal")


def test_an_agent_does_not_outlive_a_command_that_was_killed(household: HouseholdFactory) -> None:
    home, folder = opened(household, slow)
    process = started(home, folder, "只有我知道的话")
    below = descendants(process.pid)
    lines = [" ".join(psutil.Process(pid).cmdline()) for pid in below]
    assert home.model is not None
    asked = len(home.model.requests)

    process.kill()

    wait_until(lambda: not any(map(alive, below)), 10, what="all below it to be gone")
    assert len(lines) > 3 and not any("只有我知道的话" in line for line in lines)
    assert len(home.model.requests) == asked
    assert last_row(folder)["error"] == "killed-by-signal"


def test_a_session_in_use_is_refused_and_not_begun_anew(household: HouseholdFactory) -> None:
    home, folder = opened(household, slow)
    started(home, folder, "慢")
    [lock] = (folder / "runs" / "claude" / "leases").glob("*.owner")
    wait_until(lambda: home.model and len(home.model.requests) > 0)

    second = home.flower("once", "--resume", lock.stem, "再来", folder=folder)

    assert second.returncode == 1
    assert second.stdout == "" and lock.stem in second.stderr and second.stderr.count("\n") == 1


def test_a_process_of_the_agent_that_dies_is_said_in_one_line(household: HouseholdFactory) -> None:
    home, folder = opened(household, slow)
    process = started(home, folder, "慢", "--lang", "en")
    [host] = psutil.Process(process.pid).children()

    host.kill()
    said, _ = process.communicate(timeout=30)

    assert process.returncode == 1
    assert "the agent's process died (SIGKILL)." in said.splitlines()


def test_a_reader_that_has_seen_enough_ends_it_without_a_word(household: HouseholdFactory) -> None:
    home, folder = opened(household, slow)
    process = home.spawned.start(
        [COMMANDS / "flower", "once", "-t", "Bash", "慢"],
        env=home.environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until(lambda: (folder / "started").exists(), 30, what="the slow command to run")
    below = descendants(process.pid)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    process.send_signal(signal.SIGINT)  # there is something to say now

    assert process.wait(30) in (1, 130)
    assert process.stderr.read() in (b"", "已停下。\n".encode())
    wait_until(lambda: not any(map(alive, below)), 10, what="all below it to be gone")


def test_a_rehearsal_needs_nothing_and_json_has_an_event_a_line(household: HouseholdFactory) -> None:
    home = household()
    folder = home.folder()

    done = home.flower("--rehearse", "--lang=en", "once", "--json", "what is this", folder=folder)

    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [events[0]["kind"], events[-1]["kind"]] == ["run_started", "run_ended"]
    assert all(event["rehearsal"] for event in events)
    session = events[-1]["payload"]["session_id"]
    assert done.stderr == f'[rehearsal] go on with: flower once --rehearse --resume {session} "…"\n'
