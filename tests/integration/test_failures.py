"""The model answers with errors: what is tried again, what is not, and what the next request shows of it (nothing)."""

import asyncio
import json
import sqlite3
import time
from pathlib import Path
from typing import Literal

import pytest

from flower import Event, Resilience, Runtime, StepResult
from flower.rehearsal import Fault, Rehearsal, Script, Turn
from tests.support.processes import eventually
from tests.support.runs import bash, environment, handy, play, slow_once, told

QUICK = Resilience(base_delay=0.2, max_delay=0.5, probe_interval=0.2, max_offline_wait=120)
FEW_RETRIES = {"CLAUDE_CODE_MAX_RETRIES": "0"}  # the CLI's own: ours are what is tried here


async def outcome(
    folder: Path,
    model: Rehearsal,
    events: list[Event] | None = None,
    resilience: Resilience = QUICK,
    **settings: str,
) -> tuple[StepResult, list[Event]]:
    events = [] if events is None else events
    runtime = Runtime(
        workspace=folder / "work",
        run_dir=folder / "runs",
        environment=environment(model, **settings),
        resilience=resilience,
    )
    try:
        return await runtime.run(handy(), "do the work", on_event=events.append), events
    finally:
        runtime.close()


def waits(events: list[Event]) -> list[object]:
    return [event.payload["waiting"] for event in events if event.kind == "retry"]


def failing_once(fault: Fault) -> Script:
    return play(
        Turn(text="first", calls=[bash("echo one > one.txt")]),
        Turn(text="second", faults=[fault], calls=[bash("echo two > two.txt")]),
        Turn(text="all done"),
    )


@pytest.mark.parametrize(("status", "attempts"), [(500, 2), (529, 1)])
async def test_a_passing_failure_is_waited_out_in_the_same_session_and_overload_is_no_attempt(
    tmp_path: Path, status: Literal[500, 529], attempts: int
) -> None:
    with Rehearsal(failing_once(Fault(status=status))) as model:
        result, events = await outcome(tmp_path, model, **FEW_RETRIES)

        assert result.ok and result.attempts == attempts and result.resumed, result
        assert (tmp_path / "work" / "two.txt").exists()
        assert [event.kind for event in events].count("retry") >= 1
        last = told(model.requests[-1])
        assert "上一轮在中途被打断" in last and "do the work" in last


@pytest.mark.parametrize("left", ["the flag", "the model's name"])
async def test_an_error_with_one_of_its_two_marks_is_not_told_to_the_model_either(
    tmp_path: Path, left: str
) -> None:
    # With both marks the CLI leaves it out by itself. Others have written transcripts with either of them.
    with Rehearsal(failing_once(Fault(status=500))) as model:
        first, _ = await outcome(tmp_path, model, resilience=Resilience(enabled=False), **FEW_RETRIES)
        assert not first.ok and first.session_id is not None and first.error is not None
        leave_one_mark(tmp_path / "runs" / "sessions.db", left)

        runtime = Runtime(
            workspace=tmp_path / "work", run_dir=tmp_path / "runs", environment=environment(model)
        )
        second = await runtime.run(handy(), "go on", resume=first.session_id)
        runtime.close()

        assert second.ok, second
        last = told(model.requests[-1])
        assert "echo one" in last and "go on" in last and "API Error" not in last


def leave_one_mark(database: Path, left: str) -> None:
    """Leave one mark alone on the error that is in the store."""
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT rowid, payload FROM entries").fetchall()
        [(row, entry)] = [
            (row, entry) for row, text in rows if (entry := json.loads(text)).get("isApiErrorMessage")
        ]
        assert entry["message"]["model"] == "<synthetic>" and "API Error" in json.dumps(entry)
        if left == "the flag":
            entry["message"]["model"] = "claude-sonnet-4-5"
        else:
            del entry["isApiErrorMessage"]
        connection.execute("UPDATE entries SET payload = ? WHERE rowid = ?", (json.dumps(entry), row))
    connection.close()


@pytest.mark.parametrize(
    ("seconds", "cli_retries"),
    # Where the CLI gives up at once, its own report ends the turn; where it tries for three minutes, the watch does.
    [(6, FEW_RETRIES), pytest.param(60, {}, marks=pytest.mark.long)],
)
async def test_an_outage_in_the_middle_of_a_turn_is_told_at_once_and_waited_out(
    tmp_path: Path, seconds: float, cli_retries: dict[str, str]
) -> None:
    script = play(
        Turn(text="first", calls=[slow_once("started.txt", seconds=3)]),
        Turn(text="second", calls=[bash("echo two > two.txt")]),
        Turn(text="all done"),
    )
    with Rehearsal(script) as model:
        events: list[Event] = []
        running = asyncio.create_task(outcome(tmp_path, model, events, **cli_retries))
        await eventually((tmp_path / "work" / "started.txt").exists, timeout=30)

        model.offline()
        closed = time.monotonic()
        await eventually(lambda: "network" in waits(events), timeout=30)
        await asyncio.sleep(max(0.0, closed + seconds - time.monotonic()))
        assert not running.done()
        model.online()
        result, _ = await running

        assert result.ok and result.attempts == 2 and result.resumed, result
        lines = [event.text for event in events if event.kind == "retry"]
        assert "不可达,等待恢复(最多" in lines[0] and "恢复,继续" in lines[1], lines
        assert waits(events) == ["network", None]
        last = told(model.requests[-1])
        assert "API Error" not in last and "ECONN" not in last and "unreachable" not in last
        assert (tmp_path / "work" / "two.txt").exists()


@pytest.mark.parametrize("hint", [{}, {"x-should-retry": ""}], ids=["told not to retry", "left to retry"])
async def test_a_refused_login_is_said_at_once_and_not_retried(tmp_path: Path, hint: dict[str, str]) -> None:
    refused = Fault(status=401, forever=True, headers=hint)
    with Rehearsal(play(Turn(text="never", faults=[refused]))) as model:
        result, events = await outcome(tmp_path, model)

        assert not result.ok and result.attempts == 1
        assert result.duration_s < 20, "the CLI itself would try for minutes"
        assert result.error is not None and ("401" in result.error or "API key" in result.error)
        assert len(model.requests) <= 3
        assert waits(events) == ["login"]


async def test_overload_that_the_cli_itself_tries_again_is_told_while_it_lasts(tmp_path: Path) -> None:
    with Rehearsal(failing_once(Fault(status=529, times=2))) as model:
        result, events = await outcome(tmp_path, model)

        assert result.ok and result.attempts == 1 and not result.resumed, result
        assert waits(events) == ["overload", None]


async def test_a_usage_limit_is_waited_for_until_it_resets(tmp_path: Path) -> None:
    refused = Fault(status=429, message="usage limit reached, resets in 50 minutes", forever=True)
    with Rehearsal(play(Turn(text="never", faults=[refused]))) as model:
        events: list[Event] = []
        running = asyncio.create_task(outcome(tmp_path, model, events, **FEW_RETRIES))
        await eventually(lambda: "limit" in waits(events), timeout=30)
        (limit,) = [event for event in events if event.kind == "retry"]
        assert time.time() + 40 * 60 < limit.payload["until"] < time.time() + 60 * 60
        requests = len(model.requests)
        await asyncio.sleep(2)  # several of this policy's pauses
        assert len(model.requests) == requests, "nothing is asked before the reset"
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


async def test_a_remark_that_the_dying_child_never_heard_is_said_to_the_next(tmp_path: Path) -> None:
    script = play(Turn(text="first", calls=[slow_once("started.txt", seconds=60)]), Turn(text="all done"))
    with Rehearsal(script) as model:
        runtime = Runtime(
            workspace=tmp_path / "work",
            run_dir=tmp_path / "runs",
            environment=environment(model),
            resilience=QUICK,
        )
        running = asyncio.create_task(runtime.run(handy(), "do the work"))
        await eventually((tmp_path / "work" / "started.txt").exists, timeout=30)
        assert runtime.say("mind the gap")
        await asyncio.sleep(0.5)
        runtime.terminate()
        result = await running
        runtime.close()

        assert result.ok and result.attempts == 2, result
        assert told(model.requests[-1]).count("mind the gap") == 1


async def test_what_was_spent_is_counted_once_over_attempts_and_runs(tmp_path: Path) -> None:
    with Rehearsal(failing_once(Fault(status=500))) as model:
        first, events = await outcome(tmp_path, model, **FEW_RETRIES)
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


SIGNATURE = "messages.1.content.0: Invalid `signature` in `thinking` block"


async def test_thinking_that_the_api_refuses_is_left_out_and_the_session_goes_on(tmp_path: Path) -> None:
    # The CLI itself tries once more without it, in its memory alone; what it is fed back is ours to mend.
    refused = Fault(status=400, message=SIGNATURE, times=2)
    script = play(
        Turn(text="first", thinking="a signed thought", calls=[bash("echo one > one.txt")]),
        Turn(text="second", faults=[refused], calls=[bash("echo two > two.txt")]),
        Turn(text="all done"),
    )
    with Rehearsal(script) as model:
        result, _ = await outcome(tmp_path, model)

        assert result.ok and result.attempts == 2 and result.resumed and not result.retired, result
        before, after = (told(request) for request in (model.requests[1], model.requests[-1]))
        assert "a signed thought" in before and "a signed thought" not in after
        assert "echo one" in after and "API Error" not in after


async def test_a_session_that_is_refused_even_without_its_thinking_hands_over(tmp_path: Path) -> None:
    refused = Fault(status=400, message=SIGNATURE, times=2)
    script = play(
        Turn(text="first", calls=[bash("echo one > one.txt")]),
        Turn(text="second", faults=[refused], calls=[bash("echo two > two.txt")]),
        Turn(text="all done"),
        again=True,
    )
    with Rehearsal(script) as model:
        result, _ = await outcome(tmp_path, model)

    assert result.ok and len(result.retired) == 1, result
    assert any(error.startswith("交接降级(") for error in result.errors)
