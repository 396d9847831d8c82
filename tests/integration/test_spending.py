"""What each run spent, over resumes, copies, retries and kills: each request is paid for in one row, and once."""

from pathlib import Path

import pytest

from flower import Resilience, Runtime, StepResult
from flower.rehearsal import Fault, Rehearsal, Turn
from flower.rehearsal.script import Usage
from tests.support.runs import bash, environment, handy, play, rows, stored, told

TOKENS = Usage(input=1000, output=1000)


class Purse:
    """A folder whose model reports the same tokens for each answer."""

    def __init__(self, folder: Path, model: Rehearsal) -> None:
        self.run_dir = folder / "r"
        self.runtime = Runtime(
            workspace=folder / "w",
            run_dir=self.run_dir,
            environment=environment(model, CLAUDE_CODE_MAX_RETRIES="0"),
            resilience=Resilience(base_delay=0.1, max_delay=0.1),
        )

    async def run(self, words: str, resume: StepResult | None = None, *, fork: bool = False) -> StepResult:
        session = resume.session_id if resume is not None else None
        result = await self.runtime.run(handy(), words, resume=session, fork=fork)
        assert result.ok, result
        return result


async def test_a_copy_of_a_session_leaves_it_as_it_was_and_pays_for_itself_alone(tmp_path: Path) -> None:
    with Rehearsal(play(Turn(text="fine", tokens=TOKENS), again=True)) as model:
        purse = Purse(tmp_path, model)
        first = await purse.run("in the beginning")
        before = stored(purse.run_dir, str(first.session_id))

        copy = await purse.run("in the copy", first, fork=True)

        assert copy.session_id != first.session_id
        assert stored(purse.run_dir, str(first.session_id)) == before
        assert "in the beginning" in told(model.requests[-1]) and "in the copy" in told(model.requests[-1])
        again = await purse.run("in the first one", first)
        further = await purse.run("in the copy again", copy)
        assert again.session_id == first.session_id and further.session_id == copy.session_id
        assert "in the copy" not in told(model.requests[-2])
        assert "in the first one" not in told(model.requests[-1]) and "in the copy" in told(
            model.requests[-1]
        )
        purse.runtime.close()

    costs = [row["cost_usd"] for row in rows(purse.run_dir)]
    assert costs[0] > 0 and costs == [pytest.approx(costs[0])] * 4
    assert purse.runtime.total_cost() == pytest.approx(4 * costs[0])


async def test_a_row_pays_for_each_of_its_attempts_once_and_for_nobody_elses(tmp_path: Path) -> None:
    script = play(
        Turn(text="one", tokens=TOKENS, calls=[bash("echo 1")]),
        Turn(text="two", tokens=TOKENS, calls=[bash("echo 2")], faults=[Fault(status=500, times=2)]),
        Turn(text="fine", tokens=TOKENS),
        again=True,
    )
    with Rehearsal(script) as model:
        purse = Purse(tmp_path, model)
        first = await purse.run("go")
        second = await purse.run("go", first)
        purse.runtime.close()

    assert (first.attempts, second.attempts) == (3, 1)
    answered = [request for request in model.requests if request.status == 200 and request.tools]
    assert len(answered) == 6
    assert first.cost_usd == pytest.approx(second.cost_usd), "three answers each"
