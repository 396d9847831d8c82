"""A long run that everything happens to ends where one ends that nothing happened to.

``FLOWER_LONG_ROUNDS=60`` makes it that long, by hand: each round a turn of work and a judge.
"""

import os
import random
import time
from pathlib import Path

import pytest

from tests.support.long_work import REMARKS, REQUEST, LongRun, Plan
from tests.support.processes import Spawned

pytestmark = pytest.mark.long

ROUNDS = int(os.environ.get("FLOWER_LONG_ROUNDS", "3"))
# `full` are the parts at whose report the coordinator's context is full: once a round, or in every fifth.
PLAN = (
    Plan(rounds=ROUNDS, size=12, each=4, full=r"part \d*(8|20|32)\b")
    if ROUNDS < 10
    else Plan(rounds=ROUNDS, size=2, each=2, full=r"part \d*0\b")
)
# For sixty rounds, twenty kills and ten outages.
TROUBLES = ["kill"] * max(3, ROUNDS // 3) + ["offline"] * max(1, ROUNDS // 6) + ["interrupt"] * len(REMARKS)


def undisturbed(run: LongRun) -> None:
    run.begin(REQUEST)
    run.until(1)
    for remark in REMARKS:
        run.order("say", remark)
    run.end()


def troubled(run: LongRun, chance: random.Random) -> None:
    """Everything that may happen, in the order and at the parts that the chance picks."""
    troubles = chance.sample(TROUBLES, len(TROUBLES))
    moments = sorted(chance.sample(range(1, run.plan.total - 1), len(troubles)))
    remarks = list(REMARKS)
    run.begin(REQUEST)
    for parts, trouble in zip(moments, troubles, strict=True):
        run.until(parts)
        time.sleep(chance.uniform(0, 0.3))
        if trouble == "kill":
            run.kill()
            run.begin()
        elif trouble == "offline":
            run.model.offline()
            time.sleep(chance.uniform(1, 3))
            run.model.online()
        else:
            run.order("interrupt", remarks.pop(0))
    run.end()


def test_a_long_run_ends_where_an_undisturbed_one_does(tmp_path: Path, spawned: Spawned) -> None:
    seed = random.SystemRandom().randrange(1_000_000)
    calm, stormy = (LongRun(tmp_path / name, PLAN, spawned) for name in ("calm", "stormy"))
    try:
        undisturbed(calm)
        troubled(stormy, random.Random(seed))
        for run in (calm, stormy):
            run.check()
            print(f"seed {seed}: {run.told()}")
        assert calm.turns() >= 60 and calm.handoffs() >= 3
        assert calm.count(r"干活·判定#\d+") == ROUNDS
        assert calm.state() == stormy.state(), f"seed {seed}"
    finally:
        calm.close()
        stormy.close()
