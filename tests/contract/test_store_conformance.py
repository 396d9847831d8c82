"""The SDK's own suite for session stores, 14 contracts, for each of ours."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from claude_agent_sdk.testing import run_session_store_conformance

from flower.stores.prune import PruningSessionStore
from flower.stores.sqlite import SqliteSessionStore
from flower.stores.trim import TrimmingSessionStore

Make = Callable[[Path, Path], SqliteSessionStore]

STORES: dict[str, Make] = {
    "sqlite": lambda path, _: SqliteSessionStore(path),
    "trimming": TrimmingSessionStore,
    "pruning": PruningSessionStore,
    "in memory": lambda _, workspace: PruningSessionStore(":memory:", workspace),
}


@pytest.fixture(params=STORES)
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], SqliteSessionStore]]:
    """Makes a new store, over a file of its own, at each call."""
    made: list[SqliteSessionStore] = []

    def make() -> SqliteSessionStore:
        folder = tmp_path / str(len(made))
        made.append(STORES[request.param](folder / "sessions.db", folder / "workspace"))
        return made[-1]

    yield make
    for store in made:
        store.close()


async def test_a_store_keeps_the_sdks_contracts(make_store: Callable[[], SqliteSessionStore]) -> None:
    await run_session_store_conformance(make_store)
