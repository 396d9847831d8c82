"""The documents that outlive a session: what is wanted, how it is judged, what a successor must know."""

from flower.core.documents.brief import ADDED_MIDWAY, ADDED_ON_WAKE, Addition, Brief
from flower.core.documents.goal import UNVERIFIABLE, Goal
from flower.core.documents.handoff import DEGRADED, Handoff
from flower.core.documents.verdict import ACHIEVED, NOT_YET, UNCLEAR, UNREACHABLE, Verdict

__all__ = [
    "ACHIEVED",
    "ADDED_MIDWAY",
    "ADDED_ON_WAKE",
    "DEGRADED",
    "NOT_YET",
    "UNCLEAR",
    "UNREACHABLE",
    "UNVERIFIABLE",
    "Addition",
    "Brief",
    "Goal",
    "Handoff",
    "Verdict",
]
