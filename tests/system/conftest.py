"""What the system tests share: a user's whole flower."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.household import HouseholdFactory, households
from tests.support.processes import Spawned


@pytest.fixture
def household(spawned: Spawned) -> Iterator[HouseholdFactory]:
    """Opens a user's flower: ``household(script)``, or ``household()`` for runs with ``--rehearse``."""
    # In the home, where a banner shows a path short.
    with households(Path(os.environ["HOME"]), spawned) as open_one:
        yield open_one
