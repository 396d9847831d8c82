"""What a person says to a run of the library: into its brief before it counts as there, and lost to no end."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from flower.core.durable import locked
from flower_protocol.runs import RunOptions, StartRun
from flower_protocol.workspaces import Place
from flowerd import library_run
from flowerd.library_run import LibraryRun
from flowerd.wire import Draft
from tests.support.runs import settle

ENVIRONMENT = {"ANTHROPIC_API_KEY": "made-up", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}


class Nobody:
    """Hears nothing. See `flowerd.run.Sink`."""

    def take(self, draft: Draft) -> int:
        return 0

    def stands(self, *, round: int, checks: int) -> None: ...

    async def room(self) -> None: ...


async def _over(*_: Any, **__: Any) -> dict[str, Any]:
    """A workflow that ends as soon as it begins."""
    return {}


@pytest.fixture
async def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LibraryRun:
    """In a folder with a brief, and ready; it is at its end as soon as it works."""
    place = Place(workspace=str(settle(tmp_path)), run_dir=str(tmp_path / "runs"))
    options, environment = RunOptions(goal=False), {**os.environ, **ENVIRONMENT}
    made = LibraryRun(place, StartRun(place=place, ask="do it", options=options, environment=environment), ())
    await made.prepare()
    monkeypatch.setattr(made._ready.workflow, "run", _over)
    return made


@pytest.fixture
def brief(tmp_path: Path) -> Path:
    return tmp_path / ".flower" / "notes" / "需求.md"


async def test_words_are_in_the_brief_in_their_order_before_they_count_as_there(
    run: LibraryRun, brief: Path
) -> None:
    with locked(brief):
        adding = [asyncio.ensure_future(run.say(words)) for words in ("in colour", "and small", "no tests")]
        done, _ = await asyncio.wait(adding, timeout=0.1)
        assert not done

    assert await asyncio.gather(*adding) == [True, True, True]
    added = [
        line for line in brief.read_text().splitlines() if line in ("in colour", "and small", "no tests")
    ]
    assert added == ["in colour", "and small", "no tests"]
    await run.work(Nobody())


async def test_a_brief_that_can_not_be_written_is_not_said_to_have_the_words(
    run: LibraryRun, brief: Path
) -> None:
    brief.unlink()
    brief.mkdir()

    assert await run.say("in colour") is False
    await run.work(Nobody())


async def test_words_that_come_when_the_run_is_just_over_are_left_to_the_next(
    run: LibraryRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, known = library_run._settle, []

    def settle_late(*outcome: Any) -> None:
        known.append(run.say("too late"))
        real(*outcome)

    monkeypatch.setattr(library_run, "_settle", settle_late)
    ended = await run.work(Nobody())

    assert ended.unheard == ("do it", "too late")
    assert await known[0] is None
