"""The marks of an outer agent session are known, a person's own settings are not among them."""

import pytest

from flower.core.session_marks import is_session_mark


@pytest.mark.parametrize(
    "name",
    [
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_CODE_HOST_AUTH_ENV_VAR",
        "CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_SESSION_ACCESS_TOKEN",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_REMOTE",
        "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
        "CLAUDE_PID",
    ],
)
def test_a_mark_of_an_outer_session_is_known(name: str) -> None:
    assert is_session_mark(name)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "IS_SANDBOX",
        "HTTPS_PROXY",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_CUSTOM_HEADERS",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_EFFORT_LEVEL",
        "CLAUDE_CODE_SUBAGENT_MODEL",
        "CLAUDE_CODE_MAX_RETRIES",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    ],
)
def test_a_persons_own_setting_is_none(name: str) -> None:
    assert not is_session_mark(name)
