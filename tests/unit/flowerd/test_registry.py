"""The registry: one bad record never stops the others, and nothing that somebody else wrote is lost."""

import asyncio
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from flower_protocol.runs import RunOptions
from flower_protocol.workspaces import Place, State
from flowerd import registry as registry_module
from flowerd.registry import Record, Registry
from tests.support.processes import eventually

PLACE = Place(workspace="/w/项目", run_dir="/w/项目/runs")
RECORD = Record(
    workspace=PLACE.workspace,
    run_dir=PLACE.run_dir,
    state=State.RUNNING,
    woke=2,
    step="干活",
    options=RunOptions(rehearse=True),
)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as made:
        yield made


def _opened(path: Path, pool: ThreadPoolExecutor) -> Registry:
    registry = Registry(path, pool)
    registry.load()
    return registry


def _content(path: Path) -> Any:
    return json.loads(path.read_text())


async def test_what_was_put_is_there_after_a_restart(tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    path = tmp_path / "state" / "registry.json"
    registry = _opened(path, pool)

    registry.put(RECORD)
    await registry.saved()

    assert _opened(path, pool).get(PLACE) == RECORD
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_change_reaches_the_disk_by_itself(
    tmp_path: Path, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_module, "GATHER_SECONDS", 0.01)
    registry = _opened(tmp_path / "registry.json", pool)
    saving = asyncio.create_task(registry.keep_saving())

    registry.put(RECORD)
    await eventually(registry.path.exists)

    assert _content(registry.path)["workspaces"][0]["state"] == "running"
    saving.cancel()


async def test_fields_of_a_newer_flowerd_are_kept(tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    path = tmp_path / "registry.json"
    record = {"workspace": PLACE.workspace, "run_dir": PLACE.run_dir, "of_tomorrow": [1]}
    path.write_text(json.dumps({"version": 9, "workspaces": [record], "also": {"of": "tomorrow"}}))
    registry = _opened(path, pool)

    registry.put(RECORD)
    await registry.saved()

    written = _content(path)
    assert (written["also"], written["workspaces"][0]["of_tomorrow"]) == ({"of": "tomorrow"}, [1])
    assert written["workspaces"][0]["woke"] == 2


@pytest.mark.parametrize(
    "bad", [{"workspace": 1}, {"workspace": "/a", "run_dir": "/b", "state": "?"}, 7, None, []]
)
async def test_a_bad_record_keeps_no_other_from_its_place_and_stays(
    tmp_path: Path, pool: ThreadPoolExecutor, bad: Any
) -> None:
    path = tmp_path / "registry.json"
    good = {"workspace": PLACE.workspace, "run_dir": PLACE.run_dir, "woke": 5}
    path.write_text(json.dumps({"version": 1, "workspaces": [bad, good]}))
    registry = _opened(path, pool)

    registry.put(RECORD)
    await registry.saved()

    assert [record.woke for record in registry.records()] == [2]
    assert bad in _content(path)["workspaces"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b"[" * 100_000])
async def test_a_damaged_file_is_set_aside_with_a_line(
    tmp_path: Path, pool: ThreadPoolExecutor, content: bytes
) -> None:
    path = tmp_path / "registry.json"
    path.write_bytes(content)

    registry = _opened(path, pool)

    [aside] = tmp_path.glob("registry*")
    assert re.fullmatch(r"registry\.json\.unreadable-\d{8}-\d{6}", aside.name)
    assert aside.read_bytes() == content
    assert registry.records() == []
    notice = registry.take_notice()
    assert notice is not None and aside.name in notice.zh
    assert registry.take_notice() is None


async def test_a_disk_that_refuses_is_tried_again(
    tmp_path: Path, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_module, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(registry_module, "GATHER_SECONDS", 0.01)
    folder = tmp_path / "state"
    folder.write_text("in the way")
    registry = _opened(folder / "registry.json", pool)
    saving = asyncio.create_task(registry.keep_saving())

    registry.put(RECORD)
    assert not await registry.saved()
    folder.unlink()
    await eventually(registry.path.exists)

    assert _content(registry.path)["workspaces"][0]["woke"] == 2
    saving.cancel()


async def test_a_forgotten_workspace_is_gone_from_the_file(tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    registry = _opened(tmp_path / "registry.json", pool)
    registry.put(RECORD)
    await registry.saved()

    registry.remove(PLACE)
    await registry.saved()

    assert _content(registry.path)["workspaces"] == []
