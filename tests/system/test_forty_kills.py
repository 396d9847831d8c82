"""A script's process is killed outright forty times, at any moment: its runs end as if nothing had happened."""

import os
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.support.lives import Lives, moments
from tests.support.processes import Spawned

RUNS, KILLS, AT_ONCE = 5, 8, 4


@pytest.mark.long
def test_forty_kills_at_any_moment_lose_nothing_double_nothing_and_change_nothing(
    tmp_path: Path, spawned: Spawned
) -> None:
    seed = os.environ.get("KILLS_SEED") or str(random.randrange(1 << 32))
    print(f"KILLS_SEED={seed} makes the same moments")  # shown when the test fails
    with ExitStack() as stack, ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [stack.enter_context(closing(Lives(tmp_path / f"run{n}", spawned))) for n in range(RUNS)]
        undisturbed = stack.enter_context(closing(Lives(tmp_path / "undisturbed", spawned)))
        ends = [pool.submit(undisturbed.end_well)]
        ends += [pool.submit(live_on, run, random.Random(f"{seed}/{n}")) for n, run in enumerate(runs)]

        for end in ends:
            end.result()

        for run in runs:
            run.check(undisturbed)


def live_on(run: Lives, chance: random.Random) -> None:
    for moment in moments(chance, KILLS):
        run.live(moment)
    run.end_well()
