"""A person who wants English: the whole flow, and no Chinese to the model but what the files' formats have."""

import re
from pathlib import Path

import msgspec
import pytest

from flower.rehearsal import Rehearsal, Turn
from flower.rehearsal.record import Request
from tests.support.flows import FlowFolder
from tests.support.formats import FORMATS
from tests.support.runs import bash, crew, told


async def test_a_person_who_wants_english_is_served_by_roles_that_are_spoken_to_in_english(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWER_LANG", "en")
    work = crew(Turn(text="one", calls=[bash("echo one > one.txt")]))
    script = msgspec.structs.replace(work, meanwhile="waiting for the report")
    with Rehearsal(script) as model:
        here = FlowFolder(tmp_path, model)
        for words in ("make me a small tool", "and a second one"):
            ctx = await here.wake(words)
            assert ctx.get("_failed_at") is None, here.steps()

        heard = {request.role: request for request in model.requests}
        assert {"clarifier", "setter", "coordinator", "judge"} <= heard.keys()
        assert {role: odd for role, request in heard.items() if (odd := chinese(request) - FORMATS)} == {}
        assert "Go on with the work from last time" in told(heard["coordinator"])
        assert "The request has changed" in told(heard["setter"]), "woken with words, it is set anew"


def chinese(request: Request) -> set[str]:
    """The runs of Chinese characters in what the model was shown."""
    return set(re.findall("[\u4e00-\u9fff]+", request.system + told(request)))
