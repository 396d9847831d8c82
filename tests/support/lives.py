"""A script that lives several lives: killed outright, begun again, and each life goes on where the last one was cut."""

import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from flower.rehearsal import Rehearsal
from tests.support.countable_work import ALONE, LAST_WORDS, SCRIPT, STEP, WORK
from tests.support.leftovers import (
    Entry,
    anybody_in,
    blocks,
    stored_transcripts,
    written_transcripts,
)
from tests.support.processes import Spawned, wait_until
from tests.support.runs import (
    assert_each_once,
    lineage,
    rows,
    script_environment,
    stored,
    told,
)

DEATH_SECONDS = 10.0


@dataclass(frozen=True)
class Moment:
    """When a life ends: ``later`` seconds after its start, its session's first name, its nth request, its end.

    A life that gets to its end first is killed there.
    """

    what: Literal["start", "name", "request", "end"]
    later: float
    number: int = 1


def moments(chance: random.Random, lives: int) -> list[Moment]:
    """One for each life: every kind of moment, most of them in the midst of the work."""
    return [
        Moment("name", chance.uniform(0, 0.1)),
        Moment("start", chance.uniform(0, 1.5)),
        *(Moment("request", chance.uniform(0, 0.3), chance.randint(1, 3)) for _ in range(lives - 3)),
        Moment("end", chance.uniform(0, 0.2)),
    ]


class Lives:
    """One folder, one endpoint, one script. `live` a life to its moment; `end_well` with an undisturbed one."""

    def __init__(self, folder: Path, spawned: Spawned) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.run_dir = folder / "runs"
        self.over = folder / "over.txt"
        # What the CLI's own transcripts held at each death, main thread's and subagents', by their names.
        self.deaths: list[dict[str, list[Entry]]] = []
        self.model = Rehearsal(WORK).start()
        self._spawned = spawned
        folder.mkdir()
        (folder / "script.py").write_text(SCRIPT)

    def close(self) -> None:
        self.model.close()

    def live(self, moment: Moment) -> None:
        """One life, killed at its moment; returns when nothing of it is alive, and has looked at what is left."""
        before, asked = self._mapping(), len(self.model.requests)
        self.over.unlink(missing_ok=True)
        life = self._begin("linger")
        wait_until(lambda: self._has_come(moment, before, asked), timeout=60, what=f"{moment} to come")
        time.sleep(moment.later)
        life.kill()
        life.wait()
        wait_until(
            lambda: not anybody_in(self.folder), DEATH_SECONDS, what=f"all of it to be dead after {moment}"
        )
        self.deaths.append(written_transcripts(self.run_dir))
        self._check_session(before)

    def end_well(self) -> None:
        """A last life that nobody kills."""
        self.over.unlink(missing_ok=True)
        before = self._mapping()
        assert self._begin().wait(timeout=90) == 0
        assert self.over.read_text() == "well", rows(self.run_dir)[-1]
        self._check_session(before)

    # What must hold

    def check(self, undisturbed: "Lives") -> None:
        """All that is promised of a run that was killed so often."""
        mine, theirs = self.files(), undisturbed.files()
        assert mine == theirs, f"{self.folder.name}: {mine} is not {theirs}"
        assert self.last_words() == undisturbed.last_words() == LAST_WORDS, self.last_words()
        assert rows(self.run_dir)[-1]["ok"], rows(self.run_dir)[-1]
        self._check_entries()
        self._check_calls()
        self._check_story()

    def files(self) -> dict[str, object]:
        """The workspace's files: their contents; of those that count, which names they count."""
        found: dict[str, object] = {}
        for path in self.work.iterdir():
            if ".txt.tmp." in path.name:
                continue  # of the CLI's own Write tool, cut in its middle: it replaces the file as a whole
            text = path.read_text()
            found[path.name] = set(text.split()) if path.name in ("begun", "ended") else text
        return found

    def last_words(self) -> str:
        said = [entry for entry in stored(self.run_dir, self.session) if entry["type"] == "assistant"]
        return str(said[-1]["message"]["content"][0]["text"])

    @property
    def session(self) -> str:
        return str(lineage(self.run_dir)["steps"][STEP])

    def _check_entries(self) -> None:
        kept = stored_transcripts(self.run_dir)
        for transcripts in self.deaths:
            for name, written in transcripts.items():
                assert_each_once(written, kept.get(name, []))
        with sqlite3.connect(self.run_dir / "sessions.db") as database:
            (answer,) = database.execute("PRAGMA integrity_check").fetchone()
        database.close()
        assert answer == "ok"

    def _check_calls(self) -> None:
        """No command ran that the transcripts don't know of, and none again whose result was in."""
        calls: Counter[str] = Counter()
        answered: Counter[str] = Counter()
        for entries in stored_transcripts(self.run_dir).values():
            names = {block["id"]: _name_of(block) for block in blocks(entries, "tool_use")}
            calls.update(names.values())
            answered.update(
                names[block["tool_use_id"]]
                for block in blocks(entries, "tool_result")
                if not block.get("is_error")
            )
        begun = Counter((self.work / "begun").read_text().split())
        assert all(times <= calls[name] for name, times in begun.items()), (begun, calls)
        assert {name: answered[name] for name in ALONE} == dict.fromkeys(ALONE, 1), (answered, begun)

    def _check_story(self) -> None:
        """The model was shown the request, and all that it was told after it."""
        prompts = [
            entry["message"]["content"]
            for entry in stored(self.run_dir, self.session)
            if entry["type"] == "user"
        ]
        said = [
            prompt for prompt in prompts if isinstance(prompt, str) and prompt in ("do the work", "go on")
        ]
        shown = told(self.model.requests[-1])
        assert said.count("do the work") == 1, said
        assert all(shown.count(f'"{prompt}"') == said.count(prompt) for prompt in set(said)), (said, shown)

    def _check_session(self, before: dict[str, str]) -> None:
        """From its first transcript on, the step's session is the same."""
        after = self._mapping()
        with_words = [each for each in before.values() if self._has_words(each)]
        if with_words:
            assert with_words[0] in after.values(), (before, after)
        kept = {session for session in after.values() if self._has_words(session)}
        assert len(kept) <= 1, "two sessions of one step"

    # How things stand

    def _begin(self, *arguments: str) -> "subprocess.Popen[Any]":
        with (self.folder / "stderr.txt").open("ab") as complaints:
            return self._spawned.start(
                [sys.executable, "script.py", *arguments],
                cwd=self.folder,
                env=script_environment(self.model),
                stdout=subprocess.DEVNULL,
                stderr=complaints,
            )

    def _has_come(self, moment: Moment, before: dict[str, str], asked: int) -> bool:
        requests = len(self.model.requests) - asked
        match moment.what:
            case "start":
                return True
            case "name":
                return self._mapping() != before or requests > 0
            case "request":
                return requests >= moment.number or self.over.exists()
            case "end":
                return self.over.exists()

    def _mapping(self) -> dict[str, str]:
        """Which sessions the lineage names, settled and proposed."""
        if not (self.run_dir / "lineage.json").exists():
            return {}
        written = lineage(self.run_dir)
        named = {"settled": written["steps"].get(STEP), "proposed": written.get("pending", {}).get(STEP)}
        return {how: session for how, session in named.items() if session}

    def _has_words(self, session: str) -> bool:
        written = [*written_transcripts(self.run_dir).get(session, [])]
        if (self.run_dir / "sessions.db").exists():
            written += stored_transcripts(self.run_dir).get(session, [])
        return any(entry["type"] in ("user", "assistant") for entry in written)


def _name_of(call: dict[str, Any]) -> str:
    words = str(call["input"].get("command", "")).split()
    return words[1] if words[:1] == ["echo"] else str(call["name"])
