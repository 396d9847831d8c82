"""What the tests of workflows share: a folder to run in."""

from pathlib import Path

import pytest

from tests.unit.workflow.scripted import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)
