"""Which variables belong to the agent session that this process was started from: `is_session_mark`."""


def is_session_mark(name: str) -> bool:
    """Whether a child must not inherit the variable, since it speaks of an agent session that isn't the child's.

    People start flower in a terminal that a coding agent opened. A child that inherits these believes itself part
    of that session: it asks a host that isn't there for its credentials, talks to an editor that isn't its own, or
    reads file descriptors that mean something else here.
    """
    return name in _SESSION_MARKS or name.startswith(_SESSION_MARK_PREFIXES)


# What the CLI sets for the commands it runs, and what hosts set for the CLI they run. Settings that a person may
# have chosen (CLAUDE_CONFIG_DIR, CLAUDE_CODE_MAX_OUTPUT_TOKENS, ...) are not among them.
_SESSION_MARKS = frozenset(
    (
        "AI_AGENT",
        "CLAUDECODE",
        "CLAUDE_AGENT_SDK_DERIVED_CLIENT_APP",
        "CLAUDE_AGENT_SDK_VERSION",
        "CLAUDE_CODE_ACTION",
        "CLAUDE_CODE_AGENT",
        "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
        "CLAUDE_CODE_CHILD_NOTES_DIR",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_CONTAINER_ID",
        "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_ENTRYPOINT_ON_REQUESTS",
        "CLAUDE_CODE_GATEWAY_TOKEN_FILE_DESCRIPTOR",
        "CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS",
        "CLAUDE_CODE_MESSAGING_SOCKET",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
        "CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST",
        "CLAUDE_CODE_RESUME_FROM_SESSION",
        "CLAUDE_CODE_SDK_READS_SESSION_STATE",
        "CLAUDE_CODE_SPAWNED_BY_SERVER",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_CODE_STARTER_MAY_HOLD_CONNECTOR_FILE",
        "CLAUDE_CODE_TASK_LIST_ID",
        "CLAUDE_CODE_TEAMMATE_COMMAND",
        "CLAUDE_CODE_TMUX_SESSION",
        "CLAUDE_CODE_TOOL_USE_ID",
        "CLAUDE_CODE_WEBSOCKET_AUTH_FILE_DESCRIPTOR",
        "CLAUDE_EFFORT",
        "CLAUDE_PID",
        "CLAUDE_SESSION_ID",
    )
)
_SESSION_MARK_PREFIXES = (
    "CLAUDE_BG_",
    "CLAUDE_BRIDGE_",
    "CLAUDE_CODE_BRIDGE_",
    "CLAUDE_CODE_HOST_",
    "CLAUDE_CODE_REMOTE",
    "CLAUDE_CODE_RUNNER_",
    "CLAUDE_CODE_SDK_HAS_",
    "CLAUDE_CODE_SESSION_",
    "CLAUDE_CODE_WORKER_",
    "CLAUDE_RUNNER_",
)
