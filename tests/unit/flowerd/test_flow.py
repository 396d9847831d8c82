"""What a run is made of: each flag arrives where it takes effect, or is refused before anything changes."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flower.core.handoff import HandoffPolicy
from flower.core.lineage import Lineage
from flower_protocol.runs import LEAST_WINDOW, RunOptions, StartRun
from flower_protocol.workspaces import Place
from flowerd.flow import Flow, opened
from flowerd.refusal import Refused
from tests.support.runs import settle

Open = Callable[..., Flow]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    folder = tmp_path / "work"
    folder.mkdir()
    return Place(workspace=str(folder), run_dir=str(folder / "runs"))


@pytest.fixture
def open_flow(place: Place) -> Iterator[Open]:
    """Opens with these options, and closes in the end."""
    flows = []

    def open_one(unheard: tuple[str, ...] = (), ask: str | None = "do it", **options: Any) -> Flow:
        request = StartRun(
            place=place, ask=ask, options=RunOptions(**options), environment=_environment(), language="en"
        )
        flows.append(opened(place, request, unheard, probe=None))
        return flows[-1]

    yield open_one
    for flow in flows:
        flow.close()


def _environment() -> dict[str, str]:
    return {**os.environ, "ANTHROPIC_API_KEY": "made-up", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}


def test_the_least_window_lets_a_session_do_something_before_it_hands_over() -> None:
    told_at_first = 34_000  # a coordinator's prompts and tools

    assert HandoffPolicy(window=LEAST_WINDOW).at >= told_at_first + 15_000


def test_without_flags_it_is_the_flow_of_the_contract(open_flow: Open) -> None:
    flow = open_flow()
    runtime, channel, steps = flow.runtime, flow.workflow.channel, flow.workflow.steps

    assert [step.name for step in steps] == ["确认需求", "设定目标", "干活"]
    assert (steps[-1].retries, channel.max_asks, channel.timeout_s) == (2, None, 1800.0)
    assert (runtime.handoff.enabled, runtime.handoff.window, runtime.max_budget_usd) == (True, None, None)
    assert runtime.store.policy.enabled
    assert runtime.workbench is flow.workflow.workbench and runtime.language == "en"
    assert runtime.workbench.index_path.exists()


def test_every_flag_arrives(open_flow: Open) -> None:
    flow = open_flow(
        rounds=5,
        judge_can_run=True,
        asks=2,
        timeout_s=None,
        window=123_456,
        handoff=False,
        trim=False,
        budget_usd=1.5,
    )
    runtime, channel, steps = flow.runtime, flow.workflow.channel, flow.workflow.steps

    assert (steps[-1].retries, channel.max_asks, channel.timeout_s) == (4, 2, None)
    assert "Bash" in (steps[1].spec.allowed_tools or [])
    assert (runtime.handoff.enabled, runtime.handoff.window, runtime.max_budget_usd) == (False, 123_456, 1.5)
    assert not runtime.store.policy.enabled


@pytest.mark.parametrize(
    ("options", "steps"),
    [({"goal": False}, ["确认需求", "干活"]), ({"clarify_only": True}, ["确认需求"])],
)
def test_steps_are_left_out_on_demand(open_flow: Open, options: dict[str, Any], steps: list[str]) -> None:
    assert [step.name for step in open_flow(**options).workflow.steps] == steps


def test_an_isolated_run_has_its_workbench_beside_the_folder(open_flow: Open, place: Place) -> None:
    git = ["git", "-C", place.workspace, "-c", "user.name=x", "-c", "user.email=x@x"]
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run([*git, *command], check=True)

    flow = open_flow(isolate=True)

    assert flow.runtime.workbench is not None and flow.runtime.workbench.external


@pytest.mark.parametrize(
    ("options", "code"), [({"isolate": True}, "no-worktrees"), ({"clarify_only": True}, "already-clarified")]
)
def test_a_flag_that_can_not_take_effect_here_is_refused_and_nothing_is_noted(
    open_flow: Open, place: Place, options: dict[str, Any], code: str
) -> None:
    settle(Path(place.workspace))

    with pytest.raises(Refused) as refused:
        open_flow(("said before",), **options)

    assert refused.value.failure.code == code
    assert Lineage.open(place.run_dir, place.workspace).words == []


def test_missing_credentials_are_said_in_the_language_of_the_request(place: Place) -> None:
    bare = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}

    with pytest.raises(Refused) as refused:
        opened(place, StartRun(place=place, ask="x", environment=bare, language="en"), (), probe=None)

    assert refused.value.failure.values["text"].startswith("No credentials")
    assert not Path(place.run_dir).exists()


def test_words_that_reached_nobody_are_enough_to_go_on_with(open_flow: Open, place: Place) -> None:
    open_flow(("said before", "and this"), ask=None)

    assert Lineage.open(place.run_dir, place.workspace).words == ["said before", "and this"]
