"""Those who do the work of the ready-made flow: who leads, whom he can send, and what each of them is told."""

from flower.core.agent import AgentSpec
from flower.core.human import HumanChannel
from flower.core.roles import coordinator, worker
from flower.core.words import Words

_CODER = Words(
    """\
你来动手。先看清现状再改;每改一处就验证一处,不要攒到最后一起试。
做完的标准是你亲眼看到它跑通,不是代码看起来对。""",
    """\
You do the work. See how things stand before you change them; verify each change as you make it, don't save
that for the end. It is done when you have seen it run, not when the code looks right.""",
)
CODER_PROMPT = _CODER.zh

_IN_A_TREE = Words(
    """\
你在一棵自己的 git worktree 里,只改这里的文件。做完、验证过就提交到当前分支,「产出」里写上分支名。""",
    """\
You are in a git worktree of your own: change files here only. When it is done and verified, commit to the
current branch, and name the branch under Output.""",
)

_MERGER = Words(
    """\
把指定的分支合并进工作目录现在的分支。有冲突就两边的意思都保住;合完把该跑的验证再跑一遍。
验证过了才删用完的 worktree 和分支;没合进来的一个也不要删。""",
    """\
Merge the branches you are given into the branch that the working folder is on. In a conflict keep what both
sides meant; verify once more after merging. Delete a worktree and its branch only when that is done, and
never one that isn't merged.""",
)

_BRING_HOME = Words(
    """\
- 每个 coder 在自己的 git worktree 里干活:从最近一次提交分出来,没提交的东西他看不到,他改的也不会自己回到
  工作目录。派活时让他提交并回报分支名;报告核对过了,就派 merger 把分支合进工作目录。判定只看工作目录。""",
    """\
- Each coder works in a git worktree of his own, made from the last commit: he doesn't see what isn't committed,
  and what he changes doesn't come back by itself. Tell him to commit and to report the branch; when you have
  checked the report, send merger to merge it into the working folder. Only the working folder is judged.""",
)

_CODER_ABOUT = Words(
    "写代码、改代码、跑命令、做验证的人。一次派一件说得清的活。",
    "Writes and changes code, runs commands, verifies. Give him one well-defined piece of work at a time.",
)
_MERGER_ABOUT = Words(
    "把 coder 的分支合并进工作目录的人。一次只派一个。",
    "Merges the coders' branches into the working folder. Send one at a time.",
)


def lead_of(
    channel: HumanChannel, instructions: str, worker_prompt: str | None, *, isolate: bool, language: str
) -> AgentSpec:
    """The coordinator with its workers. ``isolate``: each coder gets a git worktree, and a merger brings it home."""
    about, prompt = _CODER_ABOUT.spoken(language), worker_prompt or _CODER.spoken(language)
    if not isolate:
        crew = {"coder": worker(about, prompt, language=language)}
    else:
        # The CLI lets nobody who has a tree of his own touch the shared one with git: it takes somebody who has none.
        prompt = f"{prompt}\n{_IN_A_TREE.spoken(language)}"
        merger = worker(_MERGER_ABOUT.spoken(language), _MERGER.spoken(language), language=language)
        crew = {"coder": worker(about, prompt, isolate=True, language=language), "merger": merger}
        instructions = f"{_BRING_HOME.spoken(language)}\n{instructions}"
    return coordinator("协调者", instructions, crew, channel=channel, language=language)
