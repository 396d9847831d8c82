"""How a goal comes about: what the one who sets it is told, and what happens once it stands."""

from pathlib import Path

from flower.core.documents import Brief, Goal
from flower.core.events import Event
from flower.core.words import Words
from flower.workflow.base import Ctx
from flower.workflow.frozen import freeze, language_in, tell

GOAL_KEY = "_goal"
FORMER_KEY = "_goal_before"  # the goal of a brief that was replaced in this run

SETTER = Words(
    "你这一次的任务:把需求变成一份判定清单。",
    "Your task this time: make a list of checks (判定清单) of the request.",
)

_NO_BRIEF = Words("(没有确认书)", "(there is no brief)")

_PROMPT = Words(
    """\
下面是需求确认书。把它变成一份判定清单:以后每一轮活干完,会有一个没参与的人拿着它逐条去看。

{brief}
{current}
先看环境再写:工作区里有什么,这台机器上有什么工具,哪些东西在这里根本跑不起来。

- 每一条都要当场能验:"跑什么,看到什么","打开哪个文件,里面有什么"。一条一行。
- 判定的人和你有一样的工具:你手上没有的,他也没有。不能跑命令的话,就写成打开哪个产出、里面有什么。
- 有几种做砸的可能就写几条。装上能跑的小活三五条就够,不要凑数。
- 边界(不做什么)和过程(怎么做的)都不是条目。工作台 .flower/ 和 runs/ 里的东西不拿来当条目。
- 人后来追加的话也要算进去;和前面冲突时,以后来的为准。
- 在这个环境里验不了的照样写下来,行尾标上 [此环境无法验证:原因]。

最后一条回复只有这两段,标题照抄,不要放进代码块:

# 目标
(一两句话)

# 判定清单
- (一条一行)""",
    """\
Here is the brief. Make a list of checks of it: after each round of work somebody who had no part in it will take
this list and go and look, one check after another.

{brief}
{current}
Look at the environment before you write: what is in the workspace, which tools this machine has, and what can't
run here at all.

- Each check can be made on the spot: "run what, see what", "open which file, what is in it". One check a line.
- Who judges holds the same tools as you: what you don't have, he doesn't either. If you can't run commands, write
  which product to open and what is in it.
- As many checks as there are ways to fail. Three to five will do for a small thing that only has to install and
  run; don't pad.
- Boundaries (what is not to be done) and the way it was done are no checks. Nor is anything in the workbench
  .flower/ or in runs/.
- What the person added later counts too; where it contradicts what stood before, the later words hold.
- What can't be verified in this environment is written down all the same, with [此环境无法验证:reason] at the end
  of its line. Copy that mark as it is.

Your last reply holds these two sections only (目标: the goal; 判定清单: the list of checks). Copy the headings as they
are, and use no code block:

# 目标
(one or two sentences)

# 判定清单
- (one check a line)""",
)

_CURRENT = Words(
    """
需求有了变化,所以要重推。现在的清单是这份,可能有人亲手改过,仍然成立的条目照留:

{goal}
""",
    """
The request has changed, so the list is made anew. This is the present one; a person may have edited it. Keep the
checks that still hold:

{goal}
""",
)

_UNVERIFIABLE = Words(
    "目标里有 {count}/{total} 条在这个环境里验不了 —— 判定时它们必然过不去,会停下来问你。\n"
    "现在改 {path} 还来得及:\n{items}",
    "{count} of the goal's {total} checks can't be verified here (验不了): they are bound to fail, and you will be "
    "asked then.\nThere is still time to change {path}:\n{items}",
)


def setting_prompt(brief: str | None, current: Goal | None, language: str) -> str:
    """What the one who sets the goal is told; ``current`` is the goal that is to be set anew."""
    again = "" if current is None else _CURRENT.spoken(language).format(goal=current.prompt_block())
    return _PROMPT.spoken(language).format(brief=brief or _NO_BRIEF.spoken(language), current=again)


def is_outdated(goal_path: Path, brief_path: Path | None) -> bool:
    """Whether the person has added to the brief since the goal was set.

    By the files' times, so that it is known after a kill as well: words that are in the brief alone would never
    be judged. A brief without additions never outdates a goal, whatever became of its time in a copy.
    """
    brief = None if brief_path is None else Brief.load(brief_path)
    if brief is None or not brief.additions or brief_path is None:
        return False
    try:
        return brief_path.stat().st_mtime_ns > goal_path.stat().st_mtime_ns
    except OSError:
        return False


def pour(goal: Goal, path: Path, ctx: Ctx) -> None:
    """Freeze the goal, give it to the steps that follow, and tell the person what can't be verified."""
    keep(goal, path, ctx)
    if goal.unverifiable:
        _warn(goal, path, ctx)


def keep(goal: Goal, path: Path, ctx: Ctx) -> None:
    """Freeze the goal and give it to the steps that follow. One that couldn't be written has no path."""
    if not freeze(goal, path, ctx):
        goal.path = None
    ctx[GOAL_KEY] = goal


def _warn(goal: Goal, path: Path, ctx: Ctx) -> None:
    text = _UNVERIFIABLE.spoken(language_in(ctx)).format(
        count=len(goal.unverifiable),
        total=len(goal.checks),
        path=_shown(path, ctx),
        items="\n".join(f"  · {check}" for check in goal.unverifiable),
    )
    about = {"unverifiable": goal.unverifiable, "total": len(goal.checks), "path": str(path)}
    tell(ctx, Event("task", text, payload=about))


def _shown(path: Path, ctx: Ctx) -> str:
    workspace = getattr(ctx.get("_runtime"), "workspace", None)
    if workspace is None or not path.is_relative_to(workspace):
        return str(path)
    return str(path.relative_to(workspace))
