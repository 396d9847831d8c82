"""What lets a run in, and how a change of it is noticed: with real files and the real watch."""

import asyncio
import json
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flowerd.logins import Logins, access_of

SOON = 8.0  # seconds; below the ten after which it is looked for without being told


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    home, work = tmp_path / "of a person", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    return {"HOME": str(home), "PWD": str(work)}


@pytest.fixture
async def logins() -> AsyncIterator[Logins]:
    with ThreadPoolExecutor(2) as pool:
        watched = Logins(pool)
        yield watched
        await watched.close()


def write_key(environment: dict[str, str], key: str, *, folder: str = ".config/flower") -> None:
    path = Path(environment["HOME"]) / folder / ".env"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"ANTHROPIC_API_KEY={key}\n")


def log_in(environment: dict[str, str], token: str, **more: object) -> None:
    path = Path(environment["HOME"]) / ".claude" / ".credentials.json"
    path.parent.mkdir(exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps({"claudeAiOauth": {"accessToken": token}, **more}))
    fresh.replace(path)  # as Claude Code writes it


async def begun(waiting: "asyncio.Task[object]") -> None:
    """Some time for the watch to be there; what it missed would cost the test ten seconds, not its result."""
    await asyncio.wait({waiting}, timeout=0.2)
    assert not waiting.done()


def test_a_key_counts_wherever_it_stands_and_the_model_does_not(environment: dict[str, str]) -> None:
    nothing = access_of(environment)
    write_key(environment, "made-up-1")
    first = access_of(environment)
    with (Path(environment["HOME"]) / ".config/flower/.env").open("a") as file:
        file.write("ANTHROPIC_MODEL=another\nCLAUDE_CODE_EFFORT_LEVEL=high\n")

    assert not nothing.present
    assert first.present and first != nothing
    assert access_of(environment) == first
    assert access_of(environment | {"ANTHROPIC_API_KEY": "made-up-2"}) != first


def test_a_login_counts_only_where_there_is_no_key(environment: dict[str, str]) -> None:
    log_in(environment, "made-up-a")
    first = access_of(environment)
    log_in(environment, "made-up-a", mcpOAuth={"a tool server": 1})
    assert access_of(environment) == first

    log_in(environment, "made-up-b")
    assert access_of(environment) != first

    write_key(environment, "made-up-1")
    by_key = access_of(environment)
    log_in(environment, "made-up-c")
    assert access_of(environment) == by_key


def test_a_file_of_keys_that_is_just_being_written_changes_nothing_of_what_let_a_run_in(
    environment: dict[str, str],
) -> None:
    write_key(environment, "made-up-1")
    by_key = access_of(environment)
    (Path(environment["HOME"]) / ".config/flower/.env").write_text("")
    log_in(environment, "made-up-token")
    by_login = access_of(environment)

    assert by_key.with_login(by_login) == by_key
    log_in(environment, "made-up-other")
    assert by_login.with_login(access_of(environment)) == access_of(environment) != by_login


def test_no_credential_can_be_read_out_of_it(environment: dict[str, str]) -> None:
    write_key(environment, "made-up-key")

    assert "made-up-key" not in repr(access_of(environment))


async def test_a_key_in_a_folder_that_was_not_there_is_noticed(
    logins: Logins, environment: dict[str, str]
) -> None:
    waiting = asyncio.create_task(logins.changed(environment, access_of(environment)))
    await begun(waiting)

    write_key(environment, "made-up-1")

    assert await asyncio.wait_for(waiting, SOON) == access_of(environment)


async def test_a_login_that_is_replaced_is_noticed(logins: Logins, environment: dict[str, str]) -> None:
    log_in(environment, "made-up-a")
    waiting = asyncio.create_task(logins.changed(environment, access_of(environment)))
    await begun(waiting)

    log_in(environment, "made-up-b")

    assert await asyncio.wait_for(waiting, SOON) == access_of(environment)


async def test_what_changed_before_anybody_waited_is_noticed(
    logins: Logins, environment: dict[str, str]
) -> None:
    before = access_of(environment)
    write_key(environment, "made-up-1")

    assert await asyncio.wait_for(logins.changed(environment, before), SOON) == access_of(environment)


async def test_a_change_that_is_none_wakes_nobody_and_a_logout_neither(
    logins: Logins, environment: dict[str, str]
) -> None:
    log_in(environment, "made-up-a")
    waiting = asyncio.create_task(logins.changed(environment, access_of(environment)))
    await begun(waiting)

    log_in(environment, "made-up-a", mcpOAuth={"a tool server": 1})
    await begun(waiting)
    (Path(environment["HOME"]) / ".claude" / ".credentials.json").unlink()
    await begun(waiting)

    log_in(environment, "made-up-b")
    await asyncio.wait_for(waiting, SOON)


async def test_all_that_wait_are_told_also_those_that_came_later(
    logins: Logins, environment: dict[str, str], tmp_path: Path
) -> None:
    other = environment | {"PWD": str(tmp_path)}
    waiting = [asyncio.create_task(logins.changed(each, access_of(each))) for each in (environment, other)]
    await begun(waiting[1])

    write_key(environment, "made-up-1")

    await asyncio.wait_for(asyncio.gather(*waiting), SOON)
