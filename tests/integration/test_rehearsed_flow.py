"""What `flower --rehearse` plays, on the real CLI: the whole flow and its wakes, in either language."""

from pathlib import Path

import msgspec
import pytest

from flower.core.documents import Goal
from flower.rehearsal import Rehearsal, Script, load_script
from tests.support.flows import FlowFolder

HIGHLIGHT = {"zh": "顺便支持代码块高亮", "en": "highlight code blocks, too"}
UNFORESEEN = {"zh": "把标题改成红的", "en": "make the title red"}


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_each_of_the_persons_words_goes_all_the_way_into_the_files(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWER_LANG", language)
    with Rehearsal(at_once(load_script("default", language))) as model:
        here = FlowFolder(tmp_path, model)
        here.workspace.mkdir()

        ctx = await here.wake("md -> html", replies=["Dandelion & <co>"])

        assert ctx.get("_failed_at") is None, here.steps()
        assert [request.scene for request in here.requests("judge") if request.turn].count("judge") == 2
        assert "Dandelion & <co>" in here.brief.read_text()
        assert "<title>Dandelion &amp; &lt;co&gt;</title>" in page(here)

        ctx = await here.wake(HIGHLIGHT[language])
        assert ctx.get("_failed_at") is None, here.steps()
        assert 'class="keyword"' in checks(here)[-1]
        assert '<span class="keyword">return</span>' in page(here)

        ctx = await here.wake(UNFORESEEN[language])
        assert ctx.get("_failed_at") is None, here.steps()
        assert UNFORESEEN[language] in checks(here)[-1]
        assert len(checks(here)) == 5, "three at first, and each wake added one"
        assert f"<p>{UNFORESEEN[language]}</p>" in page(here)


def at_once(script: Script) -> Script:
    """The same without its pauses."""
    replace = msgspec.structs.replace
    scenes = [
        replace(scene, turns=[replace(turn, takes=0.0) for turn in scene.turns]) for scene in script.scenes
    ]
    return replace(script, scenes=scenes)


def page(here: FlowFolder) -> str:
    return (here.workspace / "sample.html").read_text(encoding="utf-8")


def checks(here: FlowFolder) -> list[str]:
    goal = Goal.load(here.goal)
    assert goal is not None
    return goal.checks
