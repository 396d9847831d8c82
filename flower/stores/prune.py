"""What a bad night leaves in a transcript is not fed back: errors in the model's name, refusals, interrupts.

The store keeps all of it; a resume gets a history that is whole and tells of the work alone. `prune` is the pure
function behind it: what goes, what is made neutral, what is added, and one chain from the last entry to the first.
The rules: errors of the API go, and so do the CLI's notes that it tries again; old refused calls go with their
results; what an interrupt left is made neutral, and is said once; calls without results get one; results without
calls go; thinking that led to nothing goes; of two entries with one uuid the second goes. The CLI's own summaries and
notes are never touched.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from .chain import relink, without_duplicates
from .denials import remove_denials
from .entries import Entry, is_set_apart, named_by_summaries, uuid_of
from .expire import EphemeralPolicy
from .interrupts import neutralize
from .keys import TranscriptKey
from .orphans import heal_orphans, remove_strays
from .residue import is_api_error, is_api_error_link, is_denial
from .thinking import unfinished_thoughts, without_thinking
from .trim import TrimmingSessionStore, TrimPolicy

__all__ = [
    "PrunePolicy",
    "PruneReport",
    "PruningSessionStore",
    "heal_orphans",
    "is_api_error",
    "is_denial",
    "prune",
    "relink",
    "without_thinking",
]


@dataclass(frozen=True)
class PrunePolicy:
    """Which of the rules apply, and the words that they put in."""

    drop_api_errors: bool = True
    neutralize_interrupts: bool = True
    interrupt_text: str = "[上一轮在此处被中断,该工具结果未产生]"
    heal_orphans: bool = True
    orphan_text: str = "[这一步被打断了,没有结果。需要的话重做。]"
    # One, not none: without the latest refusal before its eyes the model tries the same call again.
    keep_denials: int = 1
    # For a provider that can't verify the signatures of another one's; see `without_thinking`.
    drop_thinking: bool = False


@dataclass(frozen=True)
class PruneReport:
    """How often each rule applied."""

    api_errors: int = 0  # entries: the errors, and the notes of trying again
    denials: int = 0  # calls
    interrupts: int = 0  # bodies that were made neutral
    marks: int = 0  # entries: the lines beside them that say nothing new
    healed: int = 0  # entries that were added
    strays: int = 0  # results
    duplicates: int = 0  # entries
    thoughts: int = 0  # entries of thinking that led to nothing


class PruningSessionStore(TrimmingSessionStore):
    """The store that a run uses: what it feeds back is trimmed and pruned, what it holds is verbatim.

    After a load of a session's main transcript `pruned` says how many entries of API errors were left out,
    `denials_dropped` how many refused calls, and `last_prune` all of it.
    """

    def __init__(
        self,
        path: str | Path,
        workspace: str | Path,
        *,
        policy: TrimPolicy | None = None,
        prune: PrunePolicy | None = None,
        ephemeral: EphemeralPolicy | None = None,
    ) -> None:
        super().__init__(path, workspace, policy, ephemeral)
        self.prune_policy = prune or PrunePolicy()
        self.last_prune = PruneReport()
        self._without_thinking: set[str] = set()

    @property
    def pruned(self) -> int:
        return self.last_prune.api_errors

    @property
    def denials_dropped(self) -> int:
        return self.last_prune.denials

    def leave_out_thinking(self, session_id: str) -> None:
        """Feed this session and its subagents back without any thinking, for as long as this store is open.

        For one more attempt after the API refused the thinking that it was shown.
        """
        self._without_thinking.add(session_id)

    def _fed_back(self, key: TranscriptKey) -> list[Entry] | None:
        entries = super()._fed_back(key)
        report = PruneReport()
        if entries is not None:
            entries, report = prune(entries, self._policy_for(key))
        if key.subpath is None:
            self.last_prune = report
        return entries

    def _policy_for(self, key: TranscriptKey) -> PrunePolicy:
        if key.session_id in self._without_thinking:
            return replace(self.prune_policy, drop_thinking=True)
        return self.prune_policy


def prune(entries: list[Entry], policy: PrunePolicy) -> tuple[list[Entry], PruneReport]:
    """The entries without what the rules leave out, in order, in one chain; changed ones are copies."""
    unique = without_duplicates(entries)
    fixed = named_by_summaries(unique)
    whole = without_thinking(unique) if policy.drop_thinking else unique
    errors = _api_errors(whole) - fixed if policy.drop_api_errors else set()
    thoughts = unfinished_thoughts(whole, fixed)
    refused = remove_denials(whole, policy.keep_denials, fixed)
    whole, gone = refused.entries, errors | thoughts | refused.dropped
    bodies, marks, strays = 0, 0, 0
    if policy.neutralize_interrupts:
        neutral = neutralize(whole, policy.interrupt_text, fixed)
        whole, gone = neutral.entries, gone | neutral.dropped
        bodies, marks = neutral.bodies, len(neutral.dropped)
    if policy.heal_orphans:
        found = remove_strays(whole, gone)
        whole, gone, strays = found.entries, gone | found.dropped, found.results
    chained = relink(whole, gone, refused.stand_ins)
    healed = heal_orphans(chained, policy.orphan_text) if policy.heal_orphans else chained
    return healed, PruneReport(
        api_errors=len(errors),
        denials=len(refused.calls),
        interrupts=bodies,
        marks=marks,
        healed=len(healed) - len(chained),
        strays=strays,
        duplicates=len(entries) - len(unique),
        thoughts=len(thoughts),
    )


def _api_errors(entries: list[Entry]) -> set[str]:
    return {
        uuid
        for entry in entries
        if (is_api_error(entry) or is_api_error_link(entry))
        and not is_set_apart(entry)
        and (uuid := uuid_of(entry)) is not None
    }
