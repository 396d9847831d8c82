"""What a budget is for: one step over all its attempts, or a whole run over all its steps; and how it ends."""

from pathlib import Path

import pytest
from claude_agent_sdk import AgentDefinition

from flower import AgentSpec, Resilience, Runtime
from flower.rehearsal import Call, Fault, Rehearsal, Scene, Script, Turn
from flower.rehearsal.script import Usage
from tests.support.runs import bash, environment, handy, play, stored

ANSWER = Usage(input=1000, output=1000)
HELPER = AgentDefinition(description="d", prompt="p", tools=["Bash"])
SEND = Call(tool="Agent", input={"subagent_type": "helper", "description": "p", "prompt": "do"})
DELEGATED = Script(
    scenes=[
        Scene(
            name="m", role="main", turns=[Turn(text="send", calls=[SEND], tokens=ANSWER), Turn(text="end")]
        ),
        Scene(
            name="w",
            role="worker",
            turns=[*[Turn(calls=[bash(f"echo {n}")], tokens=ANSWER) for n in range(15)], Turn(text="worked")],
        ),
    ]
)


def runtime_at(folder: Path, model: Rehearsal, budget: float | None = None) -> Runtime:
    return Runtime(
        workspace=folder / "w",
        run_dir=folder / "r",
        environment=environment(model, CLAUDE_CODE_MAX_RETRIES="0"),
        resilience=Resilience(base_delay=0.1, max_delay=0.1),
        max_budget_usd=budget,
    )


async def test_a_budget_that_a_subagent_used_up_is_no_success_and_all_of_it_is_in_the_row(
    tmp_path: Path,
) -> None:
    spec = AgentSpec(
        name="head",
        instructions="x",
        allowed_tools=["Bash", "Agent"],
        permission_mode="acceptEdits",
        agents={"helper": HELPER},
        max_budget_usd=0.10,
    )
    with Rehearsal(DELEGATED) as model:
        runtime = runtime_at(tmp_path, model)
        result = await runtime.run(spec, "go")
        runtime.close()

    assert not result.ok and result.attempts == 1
    assert result.error is not None and "budget" in result.error
    costs = [
        entry["totalCostUSD"]
        for entry in stored(tmp_path / "r", str(result.session_id))
        if entry["type"] == "cost-state"
    ]
    assert result.cost_usd == pytest.approx(costs[-1])


async def test_a_steps_budget_is_for_all_its_attempts_together(tmp_path: Path) -> None:
    work = [Turn(text="work", calls=[bash("echo x")], tokens=ANSWER) for _ in range(3)]
    cut = Turn(text="more", faults=[Fault(status=500)], calls=[bash("echo y")], tokens=ANSWER)
    with Rehearsal(play(*work, cut, *work, Turn(text="fine"))) as model:
        one_answer = 0.024
        spec = handy()
        spec.max_budget_usd = 5 * one_answer - 0.001
        runtime = runtime_at(tmp_path, model)
        result = await runtime.run(spec, "go")
        runtime.close()

    assert not result.ok and result.error is not None and "budget" in result.error
    assert result.attempts == 2
    assert spec.max_budget_usd <= result.cost_usd <= spec.max_budget_usd + one_answer


async def test_a_runs_budget_is_for_all_its_steps_together_and_nothing_begins_without_money(
    tmp_path: Path,
) -> None:
    with Rehearsal(play(Turn(text="fine", tokens=ANSWER), again=True)) as model:
        runtime = runtime_at(tmp_path, model, budget=0.04)
        results = [await runtime.run(handy(), f"step {number}") for number in range(3)]
        left = runtime.budget_left()
        runtime.close()

        # The answer that crosses the line is the last, and a step that ends with it does not end well.
        assert [result.ok for result in results] == [True, False, False]
        assert left is not None and left <= 0
        assert results[2].error is not None and "budget" in results[2].error
        assert not any("step 2" in str(request.messages) for request in model.requests)
