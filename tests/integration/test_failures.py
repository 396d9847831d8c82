"""The model answers with errors: what is tried again, what is not, and what the next request shows of it (nothing)."""

import asyncio
from pathlib import Path

import pytest

from flower import Event, Resilience, Runtime, StepResult
from flower.rehearsal import Fault, Rehearsal, Script, Turn
from tests.support.processes import eventually
from tests.support.runs import bash, environment, handy, play, slow_once, told

QUICK = Resilience(base_delay=0.2, max_delay=0.5, probe_interval=0.2, max_offline_wait=30)
FEW_RETRIES = {"CLAUDE_CODE_MAX_RETRIES": "0"}  # the CLI's own: ours are what is tried here


async def outcome(folder: Path, model: Rehearsal) -> tuple[StepResult, list[Event]]:
    events: list[Event] = []
    runtime = Runtime(
        workspace=folder / "work",
        run_dir=folder / "runs",
        environment=environment(model, **FEW_RETRIES),
        resilience=QUICK,
    )
    try:
        return await runtime.run(handy(), "do the work", on_event=events.append), events
    finally:
        runtime.close()


def failing_once(fault: Fault) -> Script:
    return play(
        Turn(text="first", calls=[bash("echo one > one.txt")]),
        Turn(text="second", faults=[fault], calls=[bash("echo two > two.txt")]),
        Turn(text="all done"),
    )


@pytest.mark.parametrize("fault", [Fault(status=529), Fault(status=500)], ids=lambda fault: str(fault.status))
async def test_a_passing_failure_is_waited_out_in_the_same_session(tmp_path: Path, fault: Fault) -> None:
    with Rehearsal(failing_once(fault)) as model:
        result, events = await outcome(tmp_path, model)

        assert result.ok and result.attempts == 2 and result.resumed, result
        assert (tmp_path / "work" / "two.txt").exists()
        assert [event.kind for event in events].count("retry") >= 1
        last = told(model.requests[-1])
        assert "上一轮在中途被打断" in last and "do the work" in last
        assert "API Error" not in last and "529" not in last


async def test_an_outage_in_the_middle_of_a_turn_is_waited_out(tmp_path: Path) -> None:
    script = play(
        Turn(text="first", calls=[slow_once("started.txt", seconds=3)]),
        Turn(text="second", calls=[bash("echo two > two.txt")]),
        Turn(text="all done"),
    )
    with Rehearsal(script) as model:
        running = asyncio.create_task(outcome(tmp_path, model))
        await eventually((tmp_path / "work" / "started.txt").exists, timeout=30)

        model.offline()
        await asyncio.sleep(6)
        assert not running.done()
        model.online()
        result, events = await running

        assert result.ok and result.attempts == 2 and result.resumed, result
        lines = [event.text for event in events if event.kind == "retry"]
        assert any("不可达,等待恢复(最多" in line for line in lines) and any(
            "恢复,继续" in line for line in lines
        )
        assert "API Error" not in told(model.requests[-1]) and "ECONN" not in told(model.requests[-1])


@pytest.mark.parametrize("hint", [{}, {"x-should-retry": ""}], ids=["told not to retry", "left to retry"])
async def test_a_refused_login_is_said_at_once_and_not_retried(tmp_path: Path, hint: dict[str, str]) -> None:
    refused = Fault(status=401, forever=True, headers=hint)
    with Rehearsal(play(Turn(text="never", faults=[refused]))) as model:
        result, _ = await outcome(tmp_path, model)

        assert not result.ok and result.attempts == 1
        assert result.duration_s < 20, "the CLI itself would try for minutes"
        assert result.error is not None and ("401" in result.error or "API key" in result.error)
        assert len(model.requests) <= 3


async def test_what_was_spent_is_counted_once_over_attempts_and_runs(tmp_path: Path) -> None:
    with Rehearsal(failing_once(Fault(status=500))) as model:
        first, events = await outcome(tmp_path, model)
        runtime = Runtime(
            workspace=tmp_path / "work", run_dir=tmp_path / "runs", environment=environment(model)
        )
        assert first.session_id is not None
        second = await runtime.run(handy(), "again", resume=first.session_id)
        total = max(
            entry["totalCostUSD"]
            for entry in runtime.store.entries(
                {"project_key": runtime.project_key, "session_id": first.session_id}
            )
            if entry.get("type") == "cost-state"
        )
        runtime.close()

    told_by_events = sum(event.payload["cost_usd"] for event in events if event.kind == "result")
    assert told_by_events == pytest.approx(first.cost_usd)
    assert first.cost_usd + second.cost_usd == pytest.approx(total)
