"""Who leads the work of the ready-made flow, and whom he can send."""

from flower.core.guards import wants_isolation
from flower.core.human import HumanChannel
from flower.workflow.crew import CODER_PROMPT, lead_of


def test_there_is_one_coder_who_verifies_after_every_change() -> None:
    lead = lead_of(HumanChannel(), "更快一点", None, isolate=False, language="zh")
    assert lead.agents is not None and list(lead.agents) == ["coder"]
    assert lead.agents["coder"].prompt.startswith(CODER_PROMPT)
    assert lead.instructions.endswith("更快一点") and "worktree" not in lead.instructions


def test_what_is_done_in_trees_of_its_own_has_somebody_outside_of_them_to_bring_it_home() -> None:
    lead = lead_of(HumanChannel(), "更快一点", "小心", isolate=True, language="zh")
    assert lead.agents is not None
    coder, merger = lead.agents["coder"], lead.agents["merger"]
    assert wants_isolation(coder) and not wants_isolation(merger)
    assert coder.prompt.startswith("小心\n") and "分支名" in coder.prompt
    assert "派 merger" in lead.instructions and lead.instructions.endswith("更快一点")
