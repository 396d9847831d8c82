"""Who works: an agent's definition, and what the CLI is told of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from flower.core import child

if TYPE_CHECKING:
    from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions

PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions"]

# A message is one line on the child's output; the SDK's own limit of 1 MiB ends the reader at the first larger one.
LARGEST_MESSAGE_BYTES = 64 * 1024 * 1024


_COMPACTION = {"auto": {}, "no_summary": {"DISABLE_AUTO_COMPACT": "1"}, "off": {"DISABLE_COMPACT": "1"}}


@dataclass(frozen=True)
class CompactPolicy:
    """What the CLI itself does when a context fills up.

    ``auto``: it sums up; ``no_summary``: it doesn't; ``off``: nor on demand. ``window``: the size, in tokens, that
    it is to assume (the CLI keeps it between 100,000 and 1,000,000). Raises `ValueError` for another mode.
    """

    mode: Literal["auto", "no_summary", "off"] = "auto"
    window: int | None = None

    def __post_init__(self) -> None:
        if self.mode not in _COMPACTION:
            raise ValueError(f"no compaction mode: {self.mode!r}; there are auto, no_summary and off")

    def env(self) -> dict[str, str]:
        """The environment that tells the CLI."""
        window = {} if self.window is None else {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(self.window)}
        return {**_COMPACTION[self.mode], **window}


@dataclass
class AgentSpec:
    """One role: its name, its rules, its tools.

    ``allowed_tools`` are the role's own tools, and exclusively: what is not named isn't there. Its workers'
    (``agents``) tools join the session, for a subagent gets no more than its session has; hooks keep the main
    thread's hands off them. ``delegate_only``: the main thread itself only looks and dispatches; ``glance``: it
    may run commands that only look. ``compact`` of None: no summing up while sessions hand over, else the CLI's
    own way. ``workbench``: a new session is told what lies on the workbench, if the run has one. ``model``,
    ``effort``, ``max_turns`` and ``max_budget_usd`` of None leave it to the CLI.
    """

    name: str
    instructions: str
    allowed_tools: list[str] = field(default_factory=lambda: ["Read", "Glob", "Grep"])
    disallowed_tools: list[str] = field(default_factory=list)
    model: str | None = None
    effort: str | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    permission_mode: PermissionMode = "default"
    agents: "dict[str, AgentDefinition] | None" = None
    mcp_servers: dict[str, Any] = field(default_factory=dict)
    hooks: dict[str, list[Any]] | None = None
    compact: CompactPolicy | None = None
    env: dict[str, str] = field(default_factory=dict)
    glance: bool = False
    workbench: bool = True
    delegate_only: bool = False

    def session_tools(self) -> list[str]:
        """Every built-in tool of the session, the role's own first, each once."""
        names = [*self.allowed_tools]
        for agent in (self.agents or {}).values():
            names += agent.tools or []
        return [name for name in dict.fromkeys(names) if not name.startswith("mcp__")]


def build_options(
    spec: AgentSpec,
    *,
    cwd: Path | str | None = None,
    session_store: Any = None,
    session_id: str | None = None,
    resume: str | None = None,
    fork: bool = False,
    resume_at: str | None = None,
    max_budget_usd: float | None = None,
    portable: bool = True,
    add_dirs: Sequence[Path | str] = (),
    hooks: Mapping[str, list[Any]] | None = None,
    environment: Mapping[str, str] | None = None,
    cli_path: Path | str | None = None,
    stderr: Any = None,
) -> "ClaudeAgentOptions":
    """The SDK's options for one child of this role.

    ``max_budget_usd``: what this child may spend, the spec's budget by default. ``portable``: no settings file of
    the user or the project takes part. With the launcher's ``environment`` (see `flower.core.tether`) it is the
    launcher that hands over the external MCP servers, which may hold tokens; else they are arguments. Raises
    `ValueError` for ``fork`` or ``resume_at`` without ``resume``: alone they would do nothing, in silence.
    """
    from claude_agent_sdk import ClaudeAgentOptions

    if resume is None and (fork or resume_at is not None):
        raise ValueError("fork and resume_at need a session to resume")
    allowed = list(dict.fromkeys([*spec.allowed_tools, *spec.session_tools()]))
    options: dict[str, Any] = {
        "system_prompt": {"type": "preset", "preset": "claude_code", "append": spec.instructions},
        "tools": spec.session_tools(),
        "allowed_tools": allowed,
        "disallowed_tools": spec.disallowed_tools,
        "permission_mode": spec.permission_mode,
        "setting_sources": [] if portable else ["project"],
        "mcp_servers": spec.mcp_servers,
        "env": {**(environment or {}), **spec.env},
        "max_buffer_size": LARGEST_MESSAGE_BYTES,
        "session_id": session_id,
        "resume": resume,
        "fork_session": fork,
        "resume_session_at": resume_at,
        "add_dirs": list(add_dirs),
        "hooks": dict(hooks or {}) or None,
        "stderr": stderr,
    }
    if child.PLAN in options["env"]:
        options["mcp_servers"], outside = _parted(spec.mcp_servers)
        options["env"][child.SERVERS] = json.dumps({"mcpServers": outside}) if outside else ""
    if session_store is not None:
        # Per entry, not per turn: a turn may last hours, and a kill in it must not lose it from the store.
        options |= {"session_store": session_store, "session_store_flush": "eager"}
    optional = {
        "cwd": cwd,
        "cli_path": cli_path,
        "model": spec.model,
        "effort": spec.effort,
        "max_turns": spec.max_turns,
        "max_budget_usd": spec.max_budget_usd if max_budget_usd is None else max_budget_usd,
        "agents": spec.agents,
    }
    options |= {name: value for name, value in optional.items() if value is not None}
    return ClaudeAgentOptions(**options)


def _parted(servers: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The MCP servers of this process, and all others."""
    own = {name: server for name, server in servers.items() if server.get("type") == "sdk"}
    return own, {name: server for name, server in servers.items() if name not in own}
