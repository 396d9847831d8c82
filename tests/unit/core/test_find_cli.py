"""Which Claude Code is started, and what is said when there is none."""

from pathlib import Path

import pytest

from flower import Runtime
from flower.core.tether import find_cli
from flowerd.prerequisites import refusal_of

CREDENTIALS = {"ANTHROPIC_API_KEY": "made-up", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o700)
    return path


@pytest.mark.parametrize("named", ["{folder}/bin/mine", "bin/mine", "./bin/mine", "mine"])
def test_a_path_or_a_name_leads_to_another(tmp_path: Path, named: str) -> None:
    mine = executable(tmp_path / "bin" / "mine")
    environment = {"PWD": str(tmp_path), "PATH": str(tmp_path / "bin")}

    found = find_cli({**environment, "FLOWER_CLI": named.format(folder=tmp_path)})

    assert found.samefile(mine) and found.is_absolute()


def test_without_a_name_it_is_the_one_that_comes_along() -> None:
    assert find_cli({}).parent.name == "_bundled" and find_cli({"FLOWER_CLI": ""}) == find_cli({})


@pytest.mark.parametrize("kind", ["missing", "a folder", "no program"])
def test_one_that_cannot_be_started_is_refused_when_the_run_is_made_and_the_daemon_says_no_cli(
    tmp_path: Path, kind: str
) -> None:
    named = tmp_path / "claude"
    if kind == "a folder":
        named.mkdir()
    elif kind == "no program":
        named.write_text("#!/bin/sh\n")

    with pytest.raises(FileNotFoundError) as raised:
        Runtime(
            workspace=tmp_path,
            run_dir=tmp_path / "runs",
            environment={**CREDENTIALS, "FLOWER_CLI": str(named), "FLOWER_LANG": "en"},
        )

    assert str(raised.value) == (
        f"FLOWER_CLI names {named}, which isn't there or can't be executed. Correct it, or unset it."
    )
    refused = refusal_of(raised.value, str(tmp_path / "runs"))
    assert refused.failure.code == "no-cli" and refused.failure.values["text"] == str(raised.value)
