"""Folders that flower knows from earlier days: what a registry and their manifests say of them."""

import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from flower.core.manifest import Manifest, new_run_id
from flower.core.result import StepResult
from flower_protocol.paths import state_dir
from flower_protocol.runs import RunOptions
from flowerd.registry import NAME, VERSION, Record
from tests.support.household import Household

WAKES = 3
STEPS = ("澄清", "目标", "干活")


def make_known(household: Household, count: int) -> None:
    """Make ``count`` used folders in the home, and the registry that lists them. Before any daemon is there."""
    records = [_used(household.folder(f"project-{number:03}"), number) for number in range(count)]
    state = state_dir(household.environment)
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    content = {"version": VERSION, "workspaces": records}
    (state / NAME).write_bytes(msgspec.json.format(msgspec.json.encode(content)))


def check_known(status: Mapping[str, object], count: int) -> None:
    """Raises `ValueError` unless ``status`` tells of all folders and of what their manifests add up to."""
    workspaces = status["workspaces"]
    costs = [each.get("cost_usd") for each in workspaces] if isinstance(workspaces, list) else []
    if costs != [round(0.25 * WAKES * len(STEPS), 4)] * count:
        raise ValueError(f"{len(costs)} of {count} workspaces, with costs {sorted(set(map(str, costs)))}")


def _used(folder: Path, number: int) -> Record:
    now = time.time()
    (folder / "runs").mkdir()
    for wake in range(WAKES):
        Manifest(folder / "runs", new_run_id()).write([_row(step, now - 3600 * wake) for step in STEPS])
    return Record(
        workspace=str(folder),
        run_dir=str(folder / "runs"),
        woke=WAKES,
        step=STEPS[-1],
        index=len(STEPS),
        total=len(STEPS),
        session_id=f"6d2f7448-081d-4be8-9530-{number:012}",
        context=80_200,
        window=200_000,
        checks=5,
        options=RunOptions(),
        started_at=now - 3600,
        updated_at=now - 60,
        generation="20260101-000000-abcdef",
    )


def _row(step: str, ended_at: float) -> StepResult:
    return StepResult(
        step=step,
        session_id="6d2f7448-081d-4be8-9530-1f141e448cb4",
        ok=True,
        cost_usd=0.25,
        num_turns=12,
        text="做完了:脚本能跑,样例转出来看过。\n" * 20,
        started_at=ended_at - 600,
        ended_at=ended_at,
        context=80_200,
    )
