"""A run that asks, from the agent's tool to two people's keyboards and back."""

import os
import subprocess
from pathlib import Path

import pytest

from flower.rehearsal import Call, Role, Scene, Script, Turn
from tests.support.household import COMMANDS, HouseholdFactory
from tests.support.processes import Spawned, wait_until
from tests.support.runs import BRIEF, told
from tests.unit.flowerctl.pretend import PretendDaemon, Pretending

pytestmark = pytest.mark.long

ANSWER = "你的回答 (回车=跳过,让它自己判断) >"
PATIENCE = 60.0


def asking(question: str, *options: str) -> Turn:
    given = {"question": question, "options": list(options)}
    return Turn(text="要先问一句", calls=[Call(tool="mcp__human__ask", input=given)])


def curious() -> Script:
    turns = [asking("用什么写?", "Python", "Go"), asking("要带样式吗?"), Turn(text=BRIEF)]
    return Script(
        roles={"clarifier": Role(thread="main", system="未知与假设")},
        scenes=[Scene(name="clarifier", role="clarifier", turns=turns)],
    )


def test_two_people_see_each_question_and_whoever_answers_first_answers_for_both(
    household: HouseholdFactory,
) -> None:
    home = household(curious())
    model, folder = home.model, home.folder()
    assert model is not None
    with home.terminal("--clarify-only", "写个脚本", folder=folder) as first:
        first.wait_for_screen(
            lambda text: "  ? 用什么写?\n     1) Python\n     2) Go\n" + ANSWER in text, PATIENCE
        )
        assert home.workspace(folder)["state"] == "asking"
        with home.terminal(folder=folder) as second:
            second.wait_for_screen(lambda text: "     2) Go\n" + ANSWER in text, PATIENCE)

            first.line("2")
            for each in (first, second):
                each.wait_for_screen(lambda text: "  + Go\n" in text, PATIENCE)
                each.wait_for_screen(lambda text: "  ? 要带样式吗?\n" + ANSWER in text, PATIENCE)

            second.line()
            assert first.wait(PATIENCE) == second.wait(PATIENCE) == 0, first.text()
        for each in (first, second):
            assert each.text().count("  . 已跳过") == each.text().count("  + Go") == 1
    heard = told(model.requests[-1])
    assert "Go" in heard and "对方跳过了这个问题" in heard
    assert "Go" in (folder / ".flower" / "notes" / "问答记录.md").read_text()


@pytest.mark.parametrize(
    ("flags", "seconds", "warned"),
    [([], 0.0, False), (["--timeout", "60"], 60.0, True), (["--timeout", "60", "--asks", "0"], 60.0, False)],
)
def test_a_run_that_waits_for_answers_where_nobody_can_give_them_says_so(
    flags: list[str], seconds: float, warned: bool, tmp_path: Path, spawned: Spawned
) -> None:
    socket = Path(os.environ["XDG_RUNTIME_DIR"]) / "flower" / "flowerd.sock"
    with Pretending(PretendDaemon(socket, tmp_path.resolve())) as pretend:
        client = spawned.start(
            [COMMANDS / "flower", "x", *flags],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_until(lambda: pretend.daemon.started, what="the start")
        pretend.do(pretend.daemon.end_run())
        _, complaints = client.communicate(timeout=20)

    assert pretend.daemon.started[0].options.timeout_s == seconds
    line = "! 标准输入不是终端,没人能回答提问。想让它自己判断就加 --timeout 0\n"
    assert complaints == (line if warned else "")


def test_a_question_in_a_pipe_is_decided_by_the_agent_at_once(household: HouseholdFactory) -> None:
    home = household(curious())
    folder = home.folder()

    ended = home.flower("--clarify-only", "写个脚本", folder=folder)

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("! 无人应答") == 2 and "? 用什么写?" in ended.stdout
    assert ended.stderr == ""
