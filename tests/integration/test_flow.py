"""The whole flow of a bare ``flower`` on the real CLI, in stories: what is asked, set, done, judged, and woken again.

The models' parts are in ``scripts/``, one file a story.
"""

import asyncio
import subprocess
import sys
from pathlib import Path

from flower import HandoffPolicy
from flower.rehearsal import Rehearsal
from tests.support.flows import FlowFolder, story
from tests.support.processes import Spawned, eventually
from tests.support.runs import rows, script_environment, told


async def test_a_first_run_a_wake_with_words_and_a_wake_without(tmp_path: Path) -> None:
    with Rehearsal(story("first_and_wakes")) as model:
        here = FlowFolder(tmp_path, model)
        ctx = await here.wake("写个 md 转 html 的脚本", replies=["浏览器"])

        assert ctx.get("_failed_at") is None and here.asked == ["输出给谁看?"]
        assert here.steps() == [("确认需求", True), ("设定目标", True), ("干活", True), ("干活·判定#1", True)]
        assert "输出给浏览器看" in here.brief.read_text() and "里面有 h1" in here.goal.read_text()
        assert (here.workspace / "out.html").read_text() == "<h1>hello</h1>\n", "written and run for real"
        assert "跑通了" in ctx["干活"], "the worker's report has come home"
        assert list(here.sessions()) == ["确认需求", "设定目标", "干活"], "who judges is no step"
        work = here.sessions()["干活"]

        # A wake with words: the brief, the checks, and who does the work.
        before = here.brief.read_text()
        ctx = await here.wake("还要支持表格")

        assert ctx.get("_failed_at") is None, rows(here.run_dir)[-1]
        assert here.steps() == [("设定目标", True), ("干活", True), ("干活·判定#1", True)]
        assert here.brief.read_text() == before + "## 唤醒时追加\n还要支持表格\n"
        assert "里面有 table" in here.goal.read_text()
        [*_, last] = here.requests("coordinator")
        assert told(last).count("还要支持表格") == 1 and "里面有 table" in told(last)
        assert told(last).count("照这份需求做") == 1, "the same conversation"
        assert "里面有 table" in told(here.requests("judge")[0]), "who judges checks the new thing"
        assert "<table>" in (here.workspace / "out.html").read_text()

        # A wake without: nothing is added, set or done again.
        before_all = here.pages()
        ctx = await here.wake()

        assert ctx.get("_failed_at") is None and here.pages() == before_all
        assert here.steps() == [("干活", True), ("干活·判定#1", True)]
        assert len(here.requests("coordinator")) == 1 and len(here.requests("judge")) == 2
        assert not here.requests("worker")
        assert here.sessions()["干活"] == work


async def test_who_says_that_the_tests_pass_is_not_believed_until_they_do(tmp_path: Path) -> None:
    with Rehearsal(story("sent_back")) as model:
        here = FlowFolder(tmp_path, model).settle("check.sh 通过", "跑 check.sh,看到 OK")
        (here.workspace / "check.sh").write_text(
            'n=$(grep -c one lines.txt); [ "$n" -ge 3 ] && echo OK || { echo "FAILED $n of 3"; exit 1; }\n'
        )
        ctx = await here.wake("", judge_can_run=True)

        assert ctx.get("_failed_at") is None, rows(here.run_dir)[-1]
        assert here.steps() == [
            ("干活", False),
            ("干活·判定#1", True),
            ("干活#round2", False),
            ("干活·判定#2", True),
            ("干活#round3", True),
            ("干活·判定#3", True),
        ]
        sessions = {step: here.row(step)["session_id"] for step, _ in here.steps()}
        works = {session for step, session in sessions.items() if "判定" not in step}
        assert works == {here.sessions()["干活"]}, "one session did the work"
        assert len(set(sessions.values()) - works) == 3, "three pairs of fresh eyes"
        last = told(here.requests("coordinator")[-1])
        assert "FAILED 1 of 3" in last and "FAILED 2 of 3" in last, "it is told what the check itself said"
        assert last.count("目标还没达成,接着做") == 2
        judged = [told(each) for each in here.requests("judge")]
        assert not [text for text in judged if "都过了" in text or "可以判定达成" in text]


async def test_what_is_out_of_reach_is_for_the_person_to_decide_and_stops_with_nobody_there(
    tmp_path: Path,
) -> None:
    with Rehearsal(story("out_of_reach")) as model:
        here = FlowFolder(tmp_path, model).settle("双击能打开", "双击打开")
        ctx = await here.wake("", timeout_s=0.2, replies=None)

        assert ctx["_failed_at"] == "干活"
        assert here.steps() == [("干活", False), ("干活·判定#1", True)], "no further round is paid for"
        assert here.row("干活")["error"] == "目标被判为无法达成,无人应答:没有 macOS"

        replies = ["你判断错了,继续做", "修改目标", "Linux 上能开就行", "接受这个结果,就这样往下走"]
        ctx = await here.wake("", replies=replies)

        assert ctx.get("_failed_at") is None, rows(here.run_dir)[-1]
        assert [step for step, _ in here.steps() if "判定" not in step] == [
            "干活",
            "干活#round2",
            "干活#round3",
        ]
        what_now = "目标被判为**无法达成**:没有 macOS\n怎么办?"
        assert here.asked == [what_now, what_now, "目标改成什么? 说清楚怎样算做完。", what_now]
        first, second, third = here.requests("coordinator")
        assert "接着上次的活继续" in first.prompt
        assert "判断有误" in second.prompt and "目标由人改了" in third.prompt
        assert "Linux 上能开就行" in third.prompt
        assert "(已修改)Linux 上能开就行" in here.goal.read_text()
        assert "Linux 上能开就行" in here.brief.read_text()
        assert "Linux 上能开就行" in told(here.requests("judge")[-1])


async def test_a_context_that_is_full_twice_is_handed_over_twice_and_a_wake_goes_on_with_the_last(
    tmp_path: Path,
) -> None:
    small = HandoffPolicy(window=200_000)
    with Rehearsal(story("two_handoffs")) as model:
        here = FlowFolder(tmp_path, model).settle("parts.txt 里有三件", "打开 parts.txt,里面有三件")
        ctx = await here.wake("", handoff=small)

        assert ctx.get("_failed_at") is None, here.row("干活")
        phases = [event.payload["phase"] for event in here.events if event.kind == "handoff"]
        assert phases == ["writing", "done"] * 2
        assert (here.workspace / "parts.txt").read_text().split() == ["one", "two", "three"]
        work = here.row("干活")
        assert len(work["retired"]) == 2 and work["attempts"] == 1
        assert here.sessions()["干活"] == work["session_id"] not in work["retired"]
        assert here.steps() == [("干活", True), ("干活·判定#1", True)]
        assert "三件一起派" in (here.notes / "交接-干活.md").read_text()
        assert len(list((here.notes / "archive" / "交接").iterdir())) == 1
        successor = next(each for each in here.requests("coordinator") if "你在接手一段" in told(each))
        assert "走不通的路" in told(successor) and "照这份需求做" not in told(successor)

        ctx = await here.wake("", handoff=small)

        assert ctx.get("_failed_at") is None, rows(here.run_dir)[-1]
        assert here.sessions()["干活"] == work["session_id"]
        [woken] = here.requests("coordinator")
        assert "你在接手一段" in told(woken), "the last successor's conversation"


async def test_a_remark_reaches_the_agent_at_once_is_kept_joins_the_checks_and_is_judged(
    tmp_path: Path,
) -> None:
    with Rehearsal(story("remark")) as model:
        here = FlowFolder(tmp_path, model).settle("page.html 有 title", "打开 page.html,里面有 title")

        async def speak() -> None:
            await eventually(lambda: here.requests("coordinator"), timeout=60)
            assert here.runtime is not None and here.flow is not None
            assert here.runtime.say("标题要居中") and here.flow.channel.amend("标题要居中")
            # Nothing tells from outside when the words have reached the CLI; the look is a real command after that.
            await asyncio.sleep(0.2)
            model.release("the look")

        ctx = await here.wake("", meanwhile=speak)

        assert ctx.get("_failed_at") is None, rows(here.run_dir)[-1]
        after_the_look = here.requests("coordinator")[1]
        assert "标题要居中" in after_the_look.prompt, "it is told beside its next result"
        assert here.brief.read_text().endswith("## 运行中补充\n标题要居中\n")
        assert here.steps() == [("干活", True), ("干活·定目标#1", True), ("干活·判定#1", True)]
        assert "标题是 center" in here.goal.read_text()
        assert "标题是 center" in told(here.requests("judge")[0])
        assert (here.workspace / "page.html").read_text() == "title\ncenter\n"


async def test_a_coordinator_has_no_hands_but_eyes_and_two_that_it_sends_work_at_once(tmp_path: Path) -> None:
    with Rehearsal(story("two_workers")) as model:
        here = FlowFolder(tmp_path, model).settle("两边都有", "看一眼")
        ctx = await here.wake("", goal=False)

        assert ctx.get("_failed_at") is None and here.steps() == [("干活", True)]
        tried, looked = here.requests("coordinator")[1:3]
        assert told(tried).count("协调者不直接使用 Bash") == told(tried).count("协调者不直接使用 Write") == 1
        assert not (here.workspace / "mine.txt").exists() and not (here.workspace / "own.txt").exists()
        assert told(looked).count("协调者不直接使用") == 2, "looking is allowed"
        written = {path.name for path in here.workspace.glob("*.txt")}
        assert written == {"left.txt", "right.txt", "late.txt"}
        assert "左边做完,看到了:right" in ctx["干活"] and "右边做完" in ctx["干活"]


async def test_two_workers_change_the_same_file_each_in_a_tree_of_its_own(tmp_path: Path) -> None:
    with Rehearsal(story("worktrees")) as model:
        here = FlowFolder(tmp_path, model)
        git(here.workspace, "init", "-q", "-b", "main")
        git(here.workspace, "config", "user.name", "a")
        git(here.workspace, "config", "user.email", "a@example.org")
        (here.workspace / "README").write_text("a project\n")
        git(here.workspace, "add", "-A")
        git(here.workspace, "commit", "-q", "-m", "first")
        here.notes = tmp_path / ".flower-work" / "notes"
        here.brief, here.goal = here.notes / "需求.md", here.notes / "目标.md"
        here.settle("两种问候都在", "看一眼")
        ctx = await here.wake("", isolate=True, goal=False)

        assert ctx.get("_failed_at") is None, rows(here.run_dir)[-1]
        trees = {
            folder.name: (folder / "greeting.txt").read_text()
            for folder in (here.workspace / ".claude" / "worktrees").iterdir()
        }
        assert sorted(trees.values()) == ["hello\n", "你好\n"]
        home = subprocess.run(
            ["git", "-C", str(here.workspace), "log", "--format=%s"],
            capture_output=True,
            check=True,
            text=True,
        )
        assert set(home.stdout.split()) == {"first", "english", "chinese", "both"}, "brought home"
        assert (here.workspace / "greeting.txt").read_text() == "hello\n"
        assert not (here.workspace / ".flower").exists(), "the workbench is beside the workspace"


async def test_a_budget_for_the_whole_run_ends_it_in_the_middle_and_a_new_one_lets_it_go_on(
    tmp_path: Path,
) -> None:
    with Rehearsal(story("budget")) as model:
        here = FlowFolder(tmp_path, model).settle("两件都有", "看一眼")
        ctx = await here.wake("", budget=0.10)

        assert ctx["_failed_at"] == "干活"
        row = here.row("干活")
        assert "budget" in row["error"].lower() and not row["ok"]
        session = here.sessions()["干活"]

        ctx = await here.wake("", budget=10.0)

        assert ctx.get("_failed_at") is None, rows(here.run_dir)[-1]
        assert here.steps() == [("干活", True), ("干活·判定#1", True)]
        assert here.sessions()["干活"] == session
        assert (here.workspace / "parts.txt").read_text() == "first\nsecond\n"


KILLED = """
import asyncio, os, threading, time
from flower import Runtime, starter_flow

flow = starter_flow("做一个小工具", workspace="work", run_dir="runs")

def person():
    while True:
        for ask in flow.channel.pending():
            flow.channel.answer(ask.id, {"q1": "Python", "q2": "给我妈"}[ask.id])
        time.sleep(0.02)

threading.Thread(target=person, daemon=True).start()

async def main():
    await flow.run(Runtime(workspace="work", run_dir="runs", workbench=flow.workbench, trim=True))

asyncio.run(main())
"""


async def test_a_clarifier_that_was_killed_after_two_questions_asks_only_the_third(
    tmp_path: Path, spawned: Spawned
) -> None:
    (tmp_path / "owner.py").write_text(KILLED)
    with Rehearsal(story("killed_clarifier")) as model:
        owner = spawned.start([sys.executable, "owner.py"], cwd=tmp_path, env=script_environment(model))
        await asyncio.to_thread(
            model.wait_for, lambda each: each.role == "clarifier" and each.turn == 2, timeout=60
        )
        owner.kill()
        owner.wait()
        model.release("the third question")

        here = FlowFolder(tmp_path, model)
        ctx = await here.wake(replies=["明天"], goal=False)

        assert ctx.get("_failed_at") is None, rows(here.run_dir)[-1]
        assert here.asked == ["什么时候要?"]
        assert here.steps() == [("确认需求", True), ("干活", True)]
        assert "明天要" in here.brief.read_text() and "唤醒时追加" not in here.brief.read_text()
        page = (here.notes / "问答记录.md").read_text()
        assert [page.count(each) for each in ("什么语言?", "给谁用?", "什么时候要?")] == [1, 1, 1]
        [first, *_] = here.requests("clarifier")
        assert "做一个小工具" in told(first) and "给我妈" in told(first), "one conversation"


def git(folder: Path, *arguments: str) -> None:
    folder.mkdir(exist_ok=True)
    subprocess.run(["git", "-C", str(folder), *arguments], check=True)
