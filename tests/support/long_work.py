"""Long work in countable parts, for the whole flow: its script, who owns it, and what stands at its end.

Each part is a file, made by whichever worker comes first; a round of work is over with its last part, and the judge
sends the work back until the last round's is there.
"""

import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flower.core.documents import Brief, Goal
from flower.rehearsal import Call, Rehearsal, Scene, Script, Turn
from flower.rehearsal.script import Usage
from tests.support.leftovers import anybody_in, blocks, stored_transcripts, written_transcripts
from tests.support.processes import Spawned, wait_until
from tests.support.runs import (
    ACHIEVED,
    ROLES,
    agreeable,
    assert_each_once,
    bash,
    lineage,
    rows,
    script_environment,
)

PATIENCE = 120.0
REQUEST = "做很多件,一件一个文件"
REMARKS = ("编号从 1 开始", "一件都不要漏")
FULL = Usage(input=160_000)
DOCUMENT = "## 现在在做什么\n一件一件往下做\n## 下一步\n看一眼 parts,派下一件\n## 现场\nparts"

# Orders come as lines; a remark and an interrupt are added to the brief before the agent hears them.
OWNER = """
import asyncio, sys, threading
from pathlib import Path

from flower import HandoffPolicy, Resilience, Runtime, starter_flow

flow = starter_flow(" ".join(sys.argv[1:]), workspace="work", run_dir="runs", rounds=1000, timeout_s=30)
runtime = Runtime(
    workspace="work",
    run_dir="runs",
    workbench=flow.workbench,
    trim=True,
    handoff=HandoffPolicy(window=200_000),
    resilience=Resilience(base_delay=0.2, max_delay=1, probe_interval=0.5),
)

def listen():
    for line in sys.stdin:
        order, words = line.strip().split(" ", 1)
        flow.channel.amend(words)
        {"say": runtime.say, "interrupt": runtime.interrupt}[order](words)

async def main():
    try:
        ctx = await flow.run(runtime)
        return ctx.get("_failed_at") or "well"
    finally:
        flow.channel.close()
        runtime.close()

threading.Thread(target=listen, daemon=True).start()
Path("over.txt").write_text(asyncio.run(main()))
"""

# The file is the effect, made whole or not at all, so a part can be made once only, whoever is killed at it.
STEP = """
mkdir -p parts
n=1
while [ $n -le {total} ]; do
  [ -e parts/$n ] || {{ (set -C; echo "part $n" > parts/$n) 2> /dev/null && break; }}
  n=$((n + 1))
done
if [ $n -ge {total} ]; then echo "ALL DONE $n"; elif [ $((n % {size})) -eq 0 ]; then echo "part $n STAGE"
else echo "part $n"; fi | tee last
"""


@dataclass(frozen=True)
class Plan:
    """``rounds`` of ``size`` parts, done by workers that do ``each`` of them; ``full``: who hands over then."""

    rounds: int
    size: int
    each: int
    full: str

    @property
    def total(self) -> int:
        return self.rounds * self.size

    def script(self) -> Script:
        over = r"STAGE|ALL DONE"
        look = Turn(text="看看到哪了。", calls=[bash("cat last")], when=self.full, tokens=FULL)
        end = Turn(text="这一轮做完了。")
        dispatch = Turn(text="派下一批。", calls=[_DISPATCH], unless=over)
        leads = [
            Turn(text="看一眼。", calls=[bash("ls")]),
            *[dispatch] * 2,
            look,
            *[dispatch] * (self.size // self.each + 2),
            end,
        ]
        takes_over = [
            Turn(text="看看到哪了。", calls=[bash("cat last")]),
            *[dispatch] * (self.size // self.each + 2),
            end,
        ]
        step = bash("sh step.sh")
        works = [Turn(text="做。", calls=[step]), *[Turn(calls=[step], unless=over)] * (self.each - 1)]
        judges = [
            Turn(text="看最后一件。", calls=[_read(f"parts/{self.total}")]),
            Turn(
                text="# 结论\n未达成\n# 理由\n最后一件还没有\n# 未通过\n- 最后一件",
                unless=f"part {self.total}",
            ),
            Turn(text=ACHIEVED, when=f"part {self.total}"),
        ]
        hands_over = "^停一下手里的活"
        others = [scene for scene in agreeable() if scene.role != "judge"]
        return Script(
            roles=ROLES,
            scenes=[
                _scene("hands-over", "coordinator", Turn(text=DOCUMENT), prompt=hands_over, cuts_in=True),
                _scene("takes-over", "coordinator", *takes_over, prompt="你在接手一段"),
                _scene("leads", "coordinator", *leads),
                _scene("works", "worker", *works, Turn(text="结论:{result}")),
                _scene("judges", "judge", *judges),
                *others,
            ],
        )


class LongRun:
    """One folder, one endpoint, and the owner of the run, which may be another process each time."""

    def __init__(self, folder: Path, plan: Plan, spawned: Spawned) -> None:
        self.folder, self.plan = folder, plan
        self.workspace, self.run_dir = folder / "work", folder / "runs"
        self.notes = self.workspace / ".flower" / "notes"
        self.model = Rehearsal(plan.script()).start()
        self.deaths: list[dict[str, list[dict[str, Any]]]] = []
        self._spawned = spawned
        self._owner: subprocess.Popen[Any] | None = None
        self._began_at = self._ended_at = 0.0
        self.workspace.mkdir(parents=True)
        (folder / "owner.py").write_text(OWNER)
        (self.workspace / "step.sh").write_text(STEP.format(total=plan.total, size=plan.size))

    def begin(self, words: str = "") -> None:
        """Another owner, who goes on with what is there."""
        self._began_at = self._began_at or time.monotonic()
        with (self.folder / "stderr.txt").open("ab") as complaints:
            self._owner = self._spawned.start(
                [sys.executable, "owner.py", words],
                cwd=self.folder,
                env=script_environment(self.model),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                text=True,
            )

    def until(self, parts: int) -> None:
        """Wait until so many parts are made."""
        wait_until(lambda: self.made() >= parts or self._is_over(), PATIENCE, what=f"{parts} parts")

    def order(self, order: str, words: str) -> None:
        """``say`` or ``interrupt``; returns when the words are in the brief, and so on their way."""
        assert self._owner is not None and self._owner.stdin is not None
        self._owner.stdin.write(f"{order} {words}\n")
        self._owner.stdin.flush()
        wait_until(lambda: words in self.brief(), PATIENCE, what=f"{words} in the brief")

    def kill(self) -> None:
        """End the owner outright, wait until nobody of it lives, and look at what is left."""
        assert self._owner is not None
        self._owner.kill()
        self._owner.wait()
        wait_until(lambda: not anybody_in(self.folder), PATIENCE, what="everybody to be dead")
        self.deaths.append(written_transcripts(self.run_dir))

    def end(self) -> None:
        """Wait until the run has ended well."""
        assert self._owner is not None
        wait_until(self._is_over, timeout=PATIENCE + 30 * self.plan.rounds, what="the end of the run")
        self._ended_at = time.monotonic()
        assert self._owner.wait() == 0 and (self.folder / "over.txt").read_text() == "well", rows(
            self.run_dir
        )[-1]

    def close(self) -> None:
        self.model.close()

    # How things stand

    def made(self) -> int:
        parts = self.workspace / "parts"
        return len(list(parts.iterdir())) if parts.exists() else 0

    def brief(self) -> str:
        path = self.notes / "需求.md"
        return path.read_text() if path.exists() else ""

    def state(self) -> dict[str, Any]:
        """What must be the same at the end, whatever happened on the way."""
        brief, goal = Brief.load(self.notes / "需求.md"), Goal.load(self.notes / "目标.md")
        assert brief is not None and goal is not None
        return {
            "files": sorted(path.name for path in self.workspace.iterdir()),
            "parts": {path.name: path.read_text() for path in (self.workspace / "parts").iterdir()},
            "brief": brief.prompt_block(),
            "goal": goal.prompt_block(),
            "steps": sorted(lineage(self.run_dir)["steps"]),
        }

    def count(self, pattern: str) -> int:
        """How many of the manifest's rows are of a step that fits."""
        return sum(re.fullmatch(pattern, row["step"]) is not None for row in rows(self.run_dir))

    def check(self) -> None:
        """What must hold of what is kept: nothing is lost, nothing is there twice, and each part was made for once."""
        kept = stored_transcripts(self.run_dir)
        for transcripts in [*self.deaths, written_transcripts(self.run_dir)]:
            for name, written in transcripts.items():
                assert_each_once(written, kept.get(name, []))
        assert set(lineage(self.run_dir)["steps"].values()) <= kept.keys(), "every step's session lives"
        assert "words" not in lineage(self.run_dir) and "handoffs" not in lineage(self.run_dir)
        for row in rows(self.run_dir):
            assert row["step"] and row["session_id"] in kept and row["started_at"] <= row["ended_at"], row
            assert row["ok"] == (row["error"] is None), row
        reported = Counter(
            number
            for name, entries in kept.items()
            if "/subagents/" in name
            for block in blocks(entries, "tool_result")
            for number in re.findall(r"^(?:part|ALL DONE) (\d+)", str(block["content"]))
            if int(number) <= self.plan.total
        )
        assert not [number for number, times in reported.items() if times > 1], reported
        assert set(reported) <= {path.name for path in (self.workspace / "parts").iterdir()}, reported

    def handoffs(self) -> int:
        """How often a session gave way to the next, as far as steps have ended."""
        return sum(len(row["retired"]) for row in rows(self.run_dir))

    def told(self) -> str:
        """What happened, in a line."""
        took = self._ended_at - self._began_at
        judged = self.count(r"干活·判定#\d+")
        return (
            f"{took:.0f} s, {self.turns()} turns of work, {judged} judges, {self.handoffs()} handoffs, "
            f"{len(self.deaths)} kills"
        )

    def turns(self) -> int:
        """How often the model has answered in the work itself."""
        return sum(map(len, self._answers().values()))

    def _answers(self) -> dict[str, set[str]]:
        kept = stored_transcripts(self.run_dir)
        work = {row["session_id"] for row in rows(self.run_dir) if re.match(r"干活(#|$)", row["step"])}
        retired = {each for row in rows(self.run_dir) for each in row["retired"]}
        return {
            name: {str(entry["message"].get("id")) for entry in entries if entry["type"] == "assistant"}
            for name, entries in kept.items()
            if name.partition("/")[0] in work | retired
        }

    def _is_over(self) -> bool:
        return self._owner is not None and self._owner.poll() is not None


_DISPATCH = Call(
    tool="Agent", input={"subagent_type": "coder", "description": "下一批", "prompt": "做下一批。"}
)


def _read(name: str) -> Call:
    return Call(tool="Read", input={"file_path": f"{{cwd}}/{name}"})


def _scene(name: str, role: str, *turns: Turn, **more: Any) -> Scene:
    return Scene(name=name, role=role, again=True, turns=list(turns), **more)
