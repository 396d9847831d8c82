"""The roles of the ready-made flow: what each may use, under which rules.

``language`` (zh or en) is that of the rules; None for what this process's ``FLOWER_LANG`` says.
"""

import logging
import os
from typing import TYPE_CHECKING, Any

from flower.core import rules
from flower.core.agent import AgentSpec, CompactPolicy, PermissionMode
from flower.core.guards import isolated
from flower.core.human_tools import ASK_TOOL, INBOX_TOOL
from flower.core.rules import (
    CLARIFIER_RULES,
    COORDINATOR_RULES,
    JUDGE_RULES,
    ORACLE_RULES,
    WORKER_RULES,
)
from flower.core.words import Words, language_of

if TYPE_CHECKING:
    from claude_agent_sdk import AgentDefinition

    from flower.core.human import HumanChannel

__all__ = [
    "CLARIFIER_RULES",
    "COORDINATOR_RULES",
    "COORDINATOR_TOOLS",
    "JUDGE_RULES",
    "ORACLE_RULES",
    "WEB_TOOLS",
    "WORKER_RULES",
    "WORKER_TOOLS",
    "clarify",
    "coordinator",
    "judge",
    "oracle",
    "worker",
]

logger = logging.getLogger(__name__)

COORDINATOR_TOOLS = ["Agent", "TodoWrite", "Read"]
WEB_TOOLS = ["WebFetch", "WebSearch"]
WORKER_TOOLS = ["Read", "Write", "Edit", "Bash", "Glob", "Grep", *WEB_TOOLS]
LOOKING_TOOLS = ["Read", "Glob", "Grep"]


def coordinator(
    name: str,
    instructions: str,
    workers: "dict[str, AgentDefinition]",
    *,
    channel: "HumanChannel | None" = None,
    can_read: bool = True,
    glance: bool = True,
    model: str | None = None,
    effort: str | None = None,
    max_turns: int | None = None,
    max_budget_usd: float | None = None,
    permission_mode: PermissionMode = "acceptEdits",
    compact: CompactPolicy | None = None,
    hooks: dict[str, list[Any]] | None = None,
    env: dict[str, str] | None = None,
    language: str | None = None,
) -> AgentSpec:
    """A role that looks and dispatches, and has no hands.

    ``channel``: it may ask the person and look into its inbox. ``can_read``: it may read files itself.
    ``glance``: it may run commands that only look.
    """
    tools = [tool for tool in COORDINATOR_TOOLS if can_read or tool != "Read"]
    if glance:
        tools.append("Bash")
    if channel is not None:
        tools += [ASK_TOOL, INBOX_TOOL]
    web = {tool for agent in workers.values() for tool in agent.tools or ()} & set(WEB_TOOLS)
    return AgentSpec(
        name=name,
        instructions=_rules(rules.COORDINATOR, instructions, language),
        # A worker's call of a tool that its session doesn't hold would wait for an approval that nobody can give.
        allowed_tools=[*tools, *(tool for tool in WEB_TOOLS if tool in web)],
        model=model,
        effort=effort,
        max_turns=max_turns,
        max_budget_usd=max_budget_usd,
        permission_mode=permission_mode,
        agents=workers,
        mcp_servers={} if channel is None else channel.mcp_servers(),
        compact=compact,
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
    effort: Any = None,
    max_turns: int | None = None,
    permission_mode: PermissionMode | None = None,
    skills: list[str] | None = None,
    discipline: bool = True,
    isolate: bool = False,
    language: str | None = None,
) -> "AgentDefinition":
    """Someone who does the work: an agent that a coordinator can dispatch.

    ``discipline`` adds the rules of reporting to ``prompt``. ``tools`` of None are all of `WORKER_TOOLS`.
    ``isolate`` gives each one that is dispatched a working tree of its own (`flower.isolated`).
    """
    from claude_agent_sdk import AgentDefinition

    agent = AgentDefinition(
        description=description,
        prompt=f"{prompt}\n\n{_spoken(rules.WORKER, language)}" if discipline else prompt,
        tools=list(WORKER_TOOLS if tools is None else tools),
        model=model,
        effort=effort,
        maxTurns=max_turns,
        permissionMode=permission_mode,
        skills=skills,
    )
    return isolated(agent, isolate)


def clarify(
    name: str,
    channel: "HumanChannel",
    *,
    instructions: str = "",
    can_read: bool = True,
    model: str | None = None,
    effort: str | None = None,
    max_turns: int | None = None,
    max_budget_usd: float | None = None,
    language: str | None = None,
) -> AgentSpec:
    """A role that asks the person until the request is clear, and writes down what was settled. It has no hands.

    ``can_read``: it may look at files and the web, so that it needn't ask what stands there.
    """
    if max_turns is not None:
        logger.warning("%s may take %d turns: it can't ask as often as it needs to", name, max_turns)
    return AgentSpec(
        name=name,
        instructions=_rules(rules.CLARIFIER, instructions, language),
        allowed_tools=[ASK_TOOL, *([*LOOKING_TOOLS, *WEB_TOOLS] if can_read else [])],
        model=model,
        effort=effort,
        max_turns=max_turns,
        max_budget_usd=max_budget_usd,
        mcp_servers=channel.mcp_servers(inbox=False),
        workbench=False,
    )


def judge(
    name: str,
    channel: "HumanChannel",
    *,
    instructions: str = "",
    can_run: bool = False,
    model: str | None = None,
    effort: str | None = None,
    max_turns: int | None = None,
    max_budget_usd: float | None = None,
    language: str | None = None,
) -> AgentSpec:
    """A role that looks at what others made, and believes nothing else. ``can_run``: it may run commands."""
    return AgentSpec(
        name=name,
        instructions=_rules(rules.JUDGE, instructions, language),
        allowed_tools=[ASK_TOOL, *LOOKING_TOOLS, *(["Bash"] if can_run else [])],
        model=model,
        effort=effort,
        max_turns=max_turns,
        max_budget_usd=max_budget_usd,
        mcp_servers=channel.mcp_servers(inbox=False),
        workbench=False,
    )


def oracle(
    name: str = "旁路问答",
    *,
    instructions: str = "",
    model: str | None = None,
    effort: str | None = None,
    max_turns: int | None = 12,
    max_budget_usd: float | None = 0.5,
    language: str | None = None,
) -> AgentSpec:
    """A role that answers questions about a run beside it, and only reads."""
    return AgentSpec(
        name=name,
        instructions=_rules(rules.ORACLE, instructions, language),
        allowed_tools=list(LOOKING_TOOLS),
        model=model,
        effort=effort,
        max_turns=max_turns,
        max_budget_usd=max_budget_usd,
    )


def _rules(rules: Words, instructions: str, language: str | None) -> str:
    return f"{_spoken(rules, language)}\n{instructions}".strip()


def _spoken(words: Words, language: str | None) -> str:
    return words.spoken(language or language_of(os.environ))
