"""A transcript is a chain: each entry names the one before it, and the CLI reads it from its end to its root.

Where a link is missing, all before it is lost to the model. So whoever drops entries calls `relink` with the
full list, what is dropped included: the way from a child to its nearest surviving ancestor leads through it.
"""

from collections.abc import Collection, Mapping
from typing import Any

from .entries import HEALED, Entry, lane_of, parent_of, uuid_of

# Entries that name another one by its uuid beside the chain: the CLI's bookmarks.
_BOOKMARK = "leafUuid"

# Where a way up ends that reaches neither a root nor a survivor.
_NOWHERE = ""

_NO_STAND_INS: Mapping[str, str] = {}


def without_duplicates(entries: list[Entry]) -> list[Entry]:
    """The entries, each uuid only where it comes first; those without one all."""
    seen: set[str] = set()
    kept = []
    for entry in entries:
        uuid = uuid_of(entry)
        if uuid in seen:
            continue
        if uuid is not None:
            seen.add(uuid)
        kept.append(entry)
    return kept if len(kept) < len(entries) else entries


def relink(
    entries: list[Entry], dropped: Collection[str], stand_ins: Mapping[str, str] = _NO_STAND_INS
) -> list[Entry]:
    """The entries without the dropped ones (by uuid), in one piece again; changed ones are copies.

    Of two entries with one uuid the second goes too: it could not be told which of them another hangs on.

    A child of a dropped entry is attached to that one's stand-in, if it has any, else to its nearest surviving
    ancestor. A parent that is the entry itself, or unknown, is replaced by the nearest surviving entry before,
    of the same lane; a circle is broken the same way.
    """
    entries = without_duplicates(entries)
    ways = _Ways(entries, dropped, stand_ins)
    last_of_lane: dict[tuple[bool, Any], str] = {}
    kept = []
    for entry in entries:
        uuid = uuid_of(entry)
        if uuid is not None and uuid in dropped:
            continue
        entry = _with_parent(entry, ways.parent(entry, last_of_lane.get(lane_of(entry))))
        kept.append(_with_bookmark(entry, ways))
        if uuid is not None:
            last_of_lane[lane_of(entry)] = uuid
    return _without_circles(kept)


class _Ways:
    """The way up from every entry of a full list."""

    def __init__(self, entries: list[Entry], dropped: Collection[str], stand_ins: Mapping[str, str]) -> None:
        self._dropped = dropped
        self._above = {uuid: parent_of(entry) for entry in entries if (uuid := uuid_of(entry)) is not None}
        self._above.update(stand_ins)
        self._found: dict[str, str | None] = {}

    def parent(self, entry: Entry, before: str | None) -> str | None:
        """Which entry this one hangs on; `before` where its own way up leads nowhere."""
        parent = parent_of(entry)
        if parent is None:
            return None
        return self.survivor(parent, before)

    def survivor(self, uuid: str, before: str | None) -> str | None:
        """The entry itself or its nearest surviving ancestor; None if all up to the root are dropped."""
        passed: list[str] = []
        at: str | None = uuid
        if uuid not in self._above:
            at = uuid.removeprefix(HEALED)  # made up by an earlier load; where it was, its call is
        while at is not None and at in self._dropped and at not in self._found:
            passed.append(at)
            self._found[at] = _NOWHERE  # as long as it isn't known: who comes here again goes in a circle
            at = self._above.get(at)
        end = self._found.get(at, at) if at is not None else None
        if end is not None and end not in self._above:
            end = _NOWHERE  # the way leads out of the transcript
        self._found.update(dict.fromkeys(passed, end))
        return before if end == _NOWHERE else end


def _with_parent(entry: Entry, parent: str | None) -> Entry:
    return entry if parent == entry.get("parentUuid") else {**entry, "parentUuid": parent}


def _with_bookmark(entry: Entry, ways: _Ways) -> Entry:
    marked = entry.get(_BOOKMARK)
    if not isinstance(marked, str):
        return entry
    found = ways.survivor(marked, marked)
    return entry if found in (marked, None) else {**entry, _BOOKMARK: found}


def _without_circles(entries: list[Entry]) -> list[Entry]:
    if _all_links_point_back(entries):
        return entries
    order = {uuid: number for number, entry in enumerate(entries) if (uuid := uuid_of(entry)) is not None}
    above = {uuid: parent_of(entry) for entry in entries if (uuid := uuid_of(entry)) is not None}
    before = _neighbours(entries)
    rooted: set[str] = set()
    for uuid in order:
        passed: set[str] = set()
        at: str | None = uuid
        while at is not None and at not in rooted:
            if at in passed:
                # The member that comes first points forward to another; now it points back, for good.
                first = min(_circle(at, above), key=order.__getitem__)
                at = above[first] = before.get(first)
            else:
                passed.add(at)
                at = above.get(at)
        rooted |= passed
    return [_with_parent(entry, above[uuid]) if (uuid := uuid_of(entry)) else entry for entry in entries]


def _all_links_point_back(entries: list[Entry]) -> bool:
    seen: set[str | None] = {None}
    for entry in entries:
        if parent_of(entry) not in seen:
            return False
        seen.add(uuid_of(entry))
    return True


def _neighbours(entries: list[Entry]) -> dict[str, str]:
    """For each entry the one before it in the same lane."""
    before: dict[str, str] = {}
    last: dict[tuple[bool, Any], str] = {}
    for entry in entries:
        uuid, lane = uuid_of(entry), lane_of(entry)
        if uuid is not None:
            if lane in last:
                before[uuid] = last[lane]
            last[lane] = uuid
    return before


def _circle(uuid: str, above: Mapping[str, str | None]) -> list[str]:
    """The members of the circle that the entry is in."""
    members = [uuid]
    while (following := above[members[-1]]) is not None and following != uuid:
        members.append(following)
    return members
