from pathlib import Path

import pytest

from flower_protocol.workspaces import Place, State, WorkspaceStatus
from flowerctl.hints import Failed
from flowerctl.language import Texts
from flowerctl.operate.which import meant


def known(folder: Path, run_dir: str = "runs", state: State = State.DORMANT) -> WorkspaceStatus:
    return WorkspaceStatus(workspace=str(folder), run_dir=str(folder / run_dir), state=state)


def place(folder: Path, run_dir: str = "runs") -> Place:
    return Place(workspace=str(folder), run_dir=str(folder / run_dir))


def test_the_current_folder_is_meant_when_nothing_is_said(tmp_path: Path) -> None:
    assert meant(None, [], tmp_path, Texts()) == place(tmp_path)
    assert meant(None, [known(tmp_path, "other")], tmp_path, Texts()) == place(tmp_path, "other")


def test_a_unique_part_of_a_path_is_enough(tmp_path: Path) -> None:
    first, second = known(tmp_path / "explore" / "alpha"), known(tmp_path / "explore" / "beta")

    assert meant("alp", [first, second], tmp_path, Texts()) == place(tmp_path / "explore" / "alpha")


def test_a_part_of_several_paths_is_refused_with_their_names(tmp_path: Path) -> None:
    both = [known(tmp_path / "explore" / "alpha"), known(tmp_path / "explore" / "beta")]

    with pytest.raises(Failed, match=r"alpha.*beta"):
        meant("explore", both, tmp_path, Texts())


def test_a_path_wins_over_a_part_of_one(tmp_path: Path) -> None:
    both = [known(tmp_path / "a"), known(tmp_path / "ab")]

    assert meant(str(tmp_path / "a"), both, tmp_path, Texts()) == place(tmp_path / "a")


def test_of_several_run_dirs_the_one_that_runs_is_meant(tmp_path: Path) -> None:
    both = [known(tmp_path), known(tmp_path, "other", State.RUNNING)]

    assert meant(None, both, tmp_path, Texts()) == place(tmp_path, "other")


def test_what_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="nowhere"):
        meant("nowhere", [], tmp_path, Texts())
