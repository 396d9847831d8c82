import json
from pathlib import Path
from typing import Any

from flower_protocol.workspaces import State
from flowerctl.operate.offline import status_from_files


def remembered(folder: Path, *records: Any) -> dict[str, str]:
    state = folder / "state" / "flower"
    state.mkdir(parents=True)
    (state / "registry.json").write_text(json.dumps({"version": 1, "workspaces": records}))
    return {"XDG_STATE_HOME": str(folder / "state"), "HOME": str(folder)}


def a_record(folder: Path, **more: Any) -> dict[str, Any]:
    return {"workspace": str(folder), "run_dir": str(folder / "runs"), "state": "dormant"} | more


def test_what_was_active_without_a_daemon_was_interrupted(tmp_path: Path) -> None:
    environment = remembered(tmp_path, a_record(tmp_path, state="asking", woke=3, step="干活"))

    found = status_from_files(environment)

    assert found.daemon is None
    assert [(each.state, each.woke, each.step) for each in found.workspaces] == [
        (State.INTERRUPTED, 3, "干活")
    ]


def test_the_cost_is_the_sum_of_the_manifest(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    rows = [{"cost_usd": 0.25}, {"cost_usd": 0.16}, {"cost_usd": None}, "odd"]
    (tmp_path / "runs" / "manifest.json").write_text(json.dumps(rows))

    (found,) = status_from_files(remembered(tmp_path, a_record(tmp_path))).workspaces

    assert found.cost_usd == 0.41


def test_unknown_fields_and_broken_records_are_passed_over(tmp_path: Path) -> None:
    environment = remembered(
        tmp_path,
        a_record(tmp_path, from_the_future=[1], options={"keep": True}),
        {"workspace": 7},
        "nonsense",
        a_record(tmp_path, state="a state of tomorrow"),
    )

    (found,) = status_from_files(environment).workspaces

    assert found.keep is True


def test_without_a_registry_nothing_is_known(tmp_path: Path) -> None:
    assert status_from_files({"HOME": str(tmp_path)}).workspaces == ()


def test_a_registry_that_cannot_be_read_counts_as_empty_and_stays(tmp_path: Path) -> None:
    environment = remembered(tmp_path)
    registry = tmp_path / "state" / "flower" / "registry.json"
    registry.write_text("{ no json")

    assert status_from_files(environment).workspaces == ()
    assert registry.read_text() == "{ no json"
