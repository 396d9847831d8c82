"""The names of the three steps of the ready-made flow: keys in the lineage, so a changed one begins a new session."""

CLARIFY = "确认需求"
SET_GOAL = "设定目标"
WORK = "干活"
