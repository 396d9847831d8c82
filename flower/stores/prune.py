"""What a bad night leaves in a transcript is not fed back: errors in the model's name, refusals, interrupts.

The store keeps all of it; a resume gets a history that is whole and tells of the work alone. `prune` is the pure
function behind it: what goes, what is made neutral, what is added, and one chain from the last entry to the first.
The rules: errors of the API go, and so do the CLI's notes that it tries again; old refused calls go with their
results; what an interrupt left is made neutral; calls without results get one; results without calls go; of two
entries with one uuid the second goes. The CLI's own summaries and notes are never touched.
"""

from dataclasses import dataclass
from pathlib import Path

from .chain import relink, without_duplicates
from .denials import remove_denials
from .entries import Entry, content_of, is_set_apart, results_in, uuid_of, with_content, with_text
from .expire import EphemeralPolicy
from .keys import TranscriptKey
from .orphans import heal_orphans, remove_strays
from .residue import is_api_error, is_api_error_link, is_denial, is_interrupt_mark, is_interrupted
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


@dataclass(frozen=True)
class PruneReport:
    """How often each rule applied."""

    api_errors: int = 0  # entries: the errors, and the notes of trying again
    denials: int = 0  # calls
    interrupts: int = 0  # bodies
    healed: int = 0  # entries that were added
    strays: int = 0  # results
    duplicates: int = 0  # entries


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

    @property
    def pruned(self) -> int:
        return self.last_prune.api_errors

    @property
    def denials_dropped(self) -> int:
        return self.last_prune.denials

    def _fed_back(self, key: TranscriptKey) -> list[Entry] | None:
        entries = super()._fed_back(key)
        report = PruneReport()
        if entries is not None:
            entries, report = prune(entries, self.prune_policy)
        if key.subpath is None:
            self.last_prune = report
        return entries


def prune(entries: list[Entry], policy: PrunePolicy) -> tuple[list[Entry], PruneReport]:
    """The entries without what the rules leave out, in order, in one chain; changed ones are copies."""
    unique = without_duplicates(entries)
    fixed = _named_by_summaries(unique)
    errors = _api_errors(unique) - fixed if policy.drop_api_errors else set()
    refused = remove_denials(unique, policy.keep_denials, fixed)
    whole, gone = refused.entries, errors | refused.dropped
    interrupts, strays = 0, 0
    if policy.neutralize_interrupts:
        whole, interrupts = _neutral(whole, policy.interrupt_text)
    if policy.heal_orphans:
        found = remove_strays(whole, gone)
        whole, gone, strays = found.entries, gone | found.dropped, found.results
    chained = relink(whole, gone, refused.stand_ins)
    healed = heal_orphans(chained, policy.orphan_text) if policy.heal_orphans else chained
    return healed, PruneReport(
        api_errors=len(errors),
        denials=len(refused.calls),
        interrupts=interrupts,
        healed=len(healed) - len(chained),
        strays=strays,
        duplicates=len(entries) - len(unique),
    )


def _api_errors(entries: list[Entry]) -> set[str]:
    return {
        uuid
        for entry in entries
        if (is_api_error(entry) or is_api_error_link(entry))
        and not is_set_apart(entry)
        and (uuid := uuid_of(entry)) is not None
    }


def _named_by_summaries(entries: list[Entry]) -> set[str]:
    """The entries that the CLI carried over a summary: it names them, and looks for each of them."""
    named: set[str] = set()
    left = [entry["compactMetadata"] for entry in entries if "compactMetadata" in entry]
    while left:
        value = left.pop()
        if isinstance(value, str):
            named.add(value)
        elif isinstance(value, dict | list):
            left.extend(value.values() if isinstance(value, dict) else value)
    return named


def _neutral(entries: list[Entry], text: str) -> tuple[list[Entry], int]:
    """The entries with the neutral text where an interrupt left its own, and how often that was."""
    neutral = []
    count = 0
    for entry in entries:
        if entry.get("type") == "user" and not is_set_apart(entry):
            changed = (
                _neutral_mark(entry, text) if is_interrupt_mark(entry) else _neutral_results(entry, text)
            )
            count += sum(
                old is not new for old, new in zip(content_of(entry), content_of(changed), strict=True)
            )
            entry = changed
        neutral.append(entry)
    return neutral, count


def _neutral_mark(entry: Entry, text: str) -> Entry:
    message = entry["message"]
    if isinstance(message["content"], str):
        return {**entry, "message": {**message, "content": text}}
    return with_content(entry, [{**block, "text": text} for block in message["content"]])


def _neutral_results(entry: Entry, text: str) -> Entry:
    interrupted = {id(result) for result in results_in(entry) if is_interrupted(result, entry)}
    if not interrupted:
        return entry
    blocks = content_of(entry)
    return with_content(
        entry, [with_text(block, text) if id(block) in interrupted else block for block in blocks]
    )
