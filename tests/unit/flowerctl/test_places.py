"""Where a run works and where it is kept."""

from pathlib import Path

from flower_protocol.workspaces import Place
from flowerctl.language import Texts
from flowerctl.places import of_two_trees


def test_a_run_that_is_kept_elsewhere_than_it_works_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    place = Place(workspace=str(tmp_path / "there"), run_dir=str(tmp_path / "runs"))

    assert of_two_trees("there", place, tmp_path, Texts("zh")).endswith("想放在一起就加 -r there/runs")
    assert of_two_trees(".", place, tmp_path / "there", Texts("zh")) == ""


def test_of_a_folder_that_is_not_there_nothing_else_is_said(tmp_path: Path) -> None:
    place = Place(workspace=str(tmp_path / "nope"), run_dir=str(tmp_path / "runs"))

    assert of_two_trees("nope", place, tmp_path, Texts("zh")) == ""
