"""The network goes, a limit is met, credentials are refused: what a person sees meanwhile, and how it goes on."""

import os
import re
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from flower.rehearsal import Fault, Script, Turn
from tests.support.household import Household, HouseholdFactory
from tests.support.processes import wait_until
from tests.support.runs import bash, crew, lineage, rows, told

pytestmark = pytest.mark.long

PATIENCE = 40.0


def with_turn(script: Script, name: str, **changes: Any) -> Script:
    """The script, but for the first turn of the scene of that name."""
    [scene] = [each for each in script.scenes if each.name == name]
    scene.turns[0] = msgspec.structs.replace(scene.turns[0], **changes)
    return script


def row_of(home: Household, folder: Path) -> str:
    """The folder's line in the table of ``flowerctl status``."""
    return next(line for line in home.flowerctl("status").stdout.splitlines() if folder.name in line)


def test_an_outage_is_told_within_seconds_and_the_run_ends_well_once_it_is_over(
    household: HouseholdFactory,
) -> None:
    script = crew(Turn(text="working", calls=[bash("echo one > one.txt")]))
    home = household(with_turn(script, "lead", hold="in mid-turn"))
    model, folder = home.model, home.folder()
    assert model is not None
    with home.terminal("写个 md 转 html 的脚本", folder=folder) as screen:
        model.wait_for(lambda request: request.role == "coordinator", PATIENCE)

        gone_at = time.monotonic()
        model.offline()
        screen.wait_for_screen(lambda text: "~ 断网了,等它回来 · 已等 " in text, PATIENCE)
        print(f"an outage was told after {time.monotonic() - gone_at:.1f} s; the promise is 5 s")
        assert home.workspace(folder)["state"] == "offline"
        assert "断网" in row_of(home, folder)
        screen.line("顺便加个测试")
        screen.read_until(r"\+ 收到", timeout=10)

        model.release("in mid-turn")
        model.online()
        assert screen.wait(90) == 0, screen.text()
        shown = screen.text()
    assert (folder / "one.txt").exists() and (folder / "three.txt").exists()
    assert "已等" not in shown, "the line goes away with the outage"
    assert len(re.findall("不可达", shown)) == len(re.findall("恢复,继续", shown)) == 1
    assert any("顺便加个测试" in told(each) for each in model.requests if each.role == "coordinator")
    assert home.workspace(folder)["state"] == "dormant"


def test_a_usage_limit_says_until_when_and_takes_a_stop(household: HouseholdFactory) -> None:
    limit = Fault(
        status=429,
        message="You've hit your session limit · resets in 3 hours",
        headers={"x-should-retry": "false"},
        forever=True,
    )
    home = household(with_turn(crew(Turn(text="worked")), "lead", faults=[limit]))
    home.environment["FLOWER_LANG"] = "en"
    folder = home.folder()
    with home.terminal("make an md to html script", folder=folder) as screen:
        screen.wait_for_screen(lambda text: "~ usage limit reached, waiting until " in text, PATIENCE)
        found = home.workspace(folder)
        assert found["state"] == "limited"
        assert 2.9 * 3600 < found["until"] - time.time() < 3 * 3600
        resets = time.strftime("%H:%M", time.localtime(found["until"]))
        assert re.search(rf"waiting until (\d\d-\d\d )?{resets} · 2:5\d:\d\d left", screen.text())
        assert re.search(rf"limited until (\d\d-\d\d )?{resets}", row_of(home, folder))

        screen.line("/stop")
        assert screen.wait(30) in (0, 1), screen.text()
    assert home.workspace(folder)["state"] == "dormant"


def test_refused_credentials_are_said_at_once_and_another_key_lets_the_run_go_on(
    household: HouseholdFactory,
) -> None:
    refused = Fault(status=401, headers={"x-should-retry": ""})  # as a gateway does
    script = crew(Turn(text="working", calls=[bash("echo one > one.txt")]))
    home = household(with_turn(script, "clarifier", faults=[refused]))
    model, folder = home.model, home.folder()
    assert model is not None
    del home.environment["ANTHROPIC_API_KEY"]
    keys = Path(os.environ["XDG_CONFIG_HOME"]) / "flower" / ".env"
    keys.parent.mkdir(parents=True)
    keys.write_text(f"ANTHROPIC_AUTH_TOKEN={model.key}\n")

    ended = home.flower("写个 md 转 html 的脚本", folder=folder)

    assert ended.returncode == 1
    assert ended.stderr.count("凭证被拒了") == 1 and "Traceback" not in ended.stderr
    assert len(model.requests) == 1
    parked = home.workspace(folder)
    assert parked["state"] == "login" and "401" in parked["error"]
    sessions = lineage(folder / "runs")["steps"]

    keys.write_text(f"ANTHROPIC_API_KEY={model.key}\n")

    home.wait_for_state(folder, "dormant", "failed", timeout=60)
    wait_until((folder / "three.txt").exists, what="the work to be done")
    assert sessions and sessions.items() <= lineage(folder / "runs")["steps"].items()
    first, *rest = [row["ok"] for row in rows(folder / "runs")]
    assert not first and rest and all(rest)
    assert "写个 md 转 html 的脚本" in told(model.requests[1])
    assert model.key not in (folder / "runs" / "manifest.json").read_text()
