"""Those who do the work of the ready-made flow: who leads, whom he can send, and what each of them is told."""

from flower.core.agent import AgentSpec
from flower.core.human import HumanChannel
from flower.core.roles import coordinator, worker

CODER_PROMPT = """\
你来动手。先看清现状再改;每改一处就验证一处,不要攒到最后一起试。
做完的标准是你亲眼看到它跑通,不是代码看起来对。"""

_IN_A_TREE = """\
你在一棵自己的 git worktree 里,只改这里的文件。做完、验证过就提交到当前分支,「产出」里写上分支名。"""

_MERGER_PROMPT = """\
把指定的分支合并进工作目录现在的分支。有冲突就两边的意思都保住;合完把该跑的验证再跑一遍。
验证过了才删用完的 worktree 和分支;没合进来的一个也不要删。"""

_BRING_HOME = """\
- 每个 coder 在自己的 git worktree 里干活:从最近一次提交分出来,没提交的东西他看不到,他改的也不会自己回到
  工作目录。派活时让他提交并回报分支名;报告核对过了,就派 merger 把分支合进工作目录。判定只看工作目录。"""


def lead_of(
    channel: HumanChannel, instructions: str, worker_prompt: str | None, *, isolate: bool
) -> AgentSpec:
    """The coordinator with its workers. ``isolate``: each coder gets a git worktree, and a merger brings it home."""
    about = "写代码、改代码、跑命令、做验证的人。一次派一件说得清的活。"
    prompt = worker_prompt or CODER_PROMPT
    if not isolate:
        return coordinator("协调者", instructions, {"coder": worker(about, prompt)}, channel=channel)
    # The CLI lets nobody who has a tree of his own touch the shared one with git: it takes somebody who has none.
    crew = {
        "coder": worker(about, f"{prompt}\n{_IN_A_TREE}", isolate=True),
        "merger": worker("把 coder 的分支合并进工作目录的人。一次只派一个。", _MERGER_PROMPT),
    }
    return coordinator("协调者", f"{_BRING_HOME}\n{instructions}", crew, channel=channel)
