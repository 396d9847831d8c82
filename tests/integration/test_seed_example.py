"""The example of the seed page runs as it is written, twice, in a script without a daemon."""

import subprocess
import sys
from pathlib import Path

from flower.rehearsal import Call, Rehearsal, Turn
from tests.support.runs import lineage, play, rows, script_environment, stored, told

EXAMPLE = """\
import asyncio

from flower import AgentSpec, Runtime, Step, Workflow

terse = AgentSpec(
    name="terse",
    instructions="回答极简,一行以内,不解释不寒暄。",
    allowed_tools=["Read", "Glob"],
    max_turns=4,
)


async def main() -> None:
    wf = Workflow([Step("取词", terse, "读 seed.txt,只回文件里那个词。")])   # continuous 默认 True
    rt = Runtime(workspace=".", run_dir="runs")
    try:
        ctx = await wf.run(rt)
    finally:
        rt.close()
    print(ctx["_woke"])                  # 第几次唤醒,第一次跑是 1
    print(ctx["_sessions"])              # {"取词": "<session_id>"}


asyncio.run(main())
"""


def test_the_second_run_continues_the_first(tmp_path: Path) -> None:
    (tmp_path / "seed.txt").write_text("蒲公英\n")
    (tmp_path / "example.py").write_text(EXAMPLE)
    reading = Turn(calls=[Call(tool="Read", input={"file_path": str(tmp_path / "seed.txt")})])

    with Rehearsal(play(reading, Turn(text="蒲公英"), again=True)) as model:
        outputs = [
            subprocess.run(
                [sys.executable, "example.py"],
                cwd=tmp_path,
                env=script_environment(model),
                capture_output=True,
                text=True,
                timeout=60,
            )
            for _ in range(2)
        ]
        asked = told(model.requests[-1])

    assert [output.stderr for output in outputs] == ["", ""]
    first, second = (output.stdout.splitlines() for output in outputs)
    assert (first[0], second[0]) == ("1", "2")
    assert first[1] == second[1]
    session = lineage(tmp_path / "runs")["steps"]["取词"]
    assert first[1] == str({"取词": session})
    assert asked.count("读 seed.txt") == 2 and "蒲公英" in asked
    assert [(row["step"], row["ok"], row["session_id"]) for row in rows(tmp_path / "runs")] == [
        ("取词", True, session)
    ] * 2
    assert stored(tmp_path / "runs", session)
