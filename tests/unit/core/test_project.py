"""The key of a workspace is the SDK's, without the SDK."""

from pathlib import Path

import pytest
from claude_agent_sdk import project_key_for_directory

from flower.core.project import project_key


@pytest.mark.parametrize("name", ["a_b", "a.b", "项目", "é", "é", "x" * 150, "x y", "深" * 60, "z" * 250])
def test_it_is_the_sdks_key(tmp_path: Path, name: str) -> None:
    assert project_key(tmp_path / name) == project_key_for_directory(tmp_path / name)


def test_it_follows_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert project_key(tmp_path / "link") == project_key(tmp_path / "real")
