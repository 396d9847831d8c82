"""The roles of the ready-made flow: their rules, their tools.

The rules are what the model reads. They are kept short: each sentence is there because something went wrong
without it.
"""

from typing import TYPE_CHECKING, Any

from flower.core.agent import AgentSpec, PermissionMode

if TYPE_CHECKING:
    from claude_agent_sdk import AgentDefinition

COORDINATOR_TOOLS = ["Agent", "TodoWrite", "Read"]
WEB_TOOLS = ["WebFetch", "WebSearch"]
WORKER_TOOLS = ["Read", "Write", "Edit", "Bash", "Glob", "Grep", *WEB_TOOLS]

COORDINATOR_RULES = """\
你是协调者。你像一个用编码 agent 干活的人那样工作:把事情拆开,派给别人,读他们的报告,作决定。你自己不动手。

- 不写文件,不改代码,不跑测试。这些都用 Agent 派人去做,哪怕只有一行。
- Bash 只许看一眼(git status、ls、cat 之类)。看到的东西很快会过期,要紧的结论自己记下来。
- 派活时只说这件活特有的东西:目标、怎样算做完、相关的路径。他看不到你知道的一切,该交代的约定要写进去:
  长的输出写进文件,只回路径和结论。
- 报告回来先核对:结论有没有证据,有没有"没验证"的部分。不够就再派一次,说清缺什么。
- 都做完了,用几句话说清:做成了什么,东西在哪,怎么用,还有什么没验证。"""

WORKER_RULES = """\
回话只有四段,总共不超过三十行:
- 结论:做成了没有。
- 证据:你跑了什么,看到了什么。
- 产出:文件路径,每个一行。
- 没验证:哪些没试过,为什么。
不要贴文件全文、命令输出、日志和 diff,长的东西写进文件,给路径。不要讲试错的经过。"""


def coordinator(
    name: str,
    instructions: str,
    workers: "dict[str, AgentDefinition]",
    *,
    can_read: bool = True,
    glance: bool = True,
    model: str | None = None,
    effort: str | None = None,
    max_turns: int | None = None,
    max_budget_usd: float | None = None,
    permission_mode: PermissionMode = "acceptEdits",
    hooks: dict[str, list[Any]] | None = None,
    env: dict[str, str] | None = None,
) -> AgentSpec:
    """A role that looks and dispatches, and has no hands.

    ``can_read``: it may read files itself. ``glance``: it may run commands that only look.
    """
    tools = [tool for tool in COORDINATOR_TOOLS if can_read or tool != "Read"]
    if glance:
        tools.append("Bash")
    web = {tool for agent in workers.values() for tool in agent.tools or ()} & set(WEB_TOOLS)
    return AgentSpec(
        name=name,
        instructions=f"{COORDINATOR_RULES}\n{instructions}".strip(),
        # A worker's call of a tool that its session doesn't hold would wait for an approval that nobody can give.
        allowed_tools=[*tools, *(tool for tool in WEB_TOOLS if tool in web)],
        model=model,
        effort=effort,
        max_turns=max_turns,
        max_budget_usd=max_budget_usd,
        permission_mode=permission_mode,
        agents=workers,
        hooks=hooks,
        env=env or {},
        glance=glance,
        delegate_only=True,
    )


def worker(
    description: str,
    prompt: str,
    *,
    tools: list[str] | None = None,
    model: str | None = "inherit",
    max_turns: int | None = None,
    discipline: bool = True,
) -> "AgentDefinition":
    """Someone who does the work: an agent that a coordinator can dispatch.

    ``discipline`` adds the rules of reporting to ``prompt``. ``tools`` of None are all of `WORKER_TOOLS`.
    """
    from claude_agent_sdk import AgentDefinition

    return AgentDefinition(
        description=description,
        prompt=f"{prompt}\n\n{WORKER_RULES}" if discipline else prompt,
        tools=list(WORKER_TOOLS if tools is None else tools),
        model=model,
        maxTurns=max_turns,
    )
