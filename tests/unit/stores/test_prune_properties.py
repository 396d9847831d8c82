"""What holds for every transcript, whatever happened to it."""

import copy
import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flower.stores.entries import (
    calls_in,
    content_of,
    has_thinking,
    is_set_apart,
    is_thinking,
    lane_of,
    message_of,
    named_by_summaries,
    results_in,
    with_content,
)
from flower.stores.prune import PrunePolicy, PruningSessionStore, prune, relink, without_thinking
from flower.stores.residue import (
    denied_in,
    is_api_error,
    is_api_error_link,
    is_by_the_model,
    is_interrupt_mark,
    is_interrupted,
)
from tests.unit.stores.transcripts import Entry, Transcript, blocks, call, result, thinking, uuids, words

KEY = {"project_key": "p", "session_id": "s"}
SIDE = {**KEY, "subpath": "subagents/agent-1"}
REFUSED = "PreToolUse:Bash hook error: dispatch it"
REJECTED = "The user doesn't want to proceed with this tool use. STOP what you are doing."


MOVES = (
    "prompt",
    "answer",
    "work",
    "attachment",
    "error",
    "mark",
    "sentinel",
    "note",
    "meta",
    "thought",
    "summary",
)


# Rules meet where these do.
COMPANIES = (
    ("error", "summary"),
    ("mark", "answer", "prompt"),
    ("mark", "sentinel", "summary"),
    ("thought", "summary"),
    ("work", "mark"),
    ("work",),
)


class Random(Transcript):
    """A transcript that is told by what `draw` decides."""

    def __init__(self, draw: Any) -> None:
        super().__init__()
        self._draw = draw
        self._numbers = count()

    def new(self, prefix: str) -> str:
        return f"{prefix}{next(self._numbers)}"

    def one(self, *choices: Any) -> Any:
        return self._draw(st.sampled_from(choices))

    def tell(self, moves: Sequence[str], forks: bool) -> None:
        if forks and self.entries and self.one(False, False, False, True):
            self._last = self.one(None, *uuids(self.entries))
        getattr(self, f"tell_{self.one(*moves)}")()

    def tell_prompt(self) -> None:
        self.prompt(self.new("p"), self.one("go on", "API Error: 529", "[Request interrupted by user]"))

    def tell_answer(self) -> None:
        self.says(self.new("a"), *([thinking()] if self.one(True, False) else []), words())

    def tell_attachment(self) -> None:
        self.attachment(self.new("t"))

    def tell_error(self) -> None:
        for _ in range(self.one(0, 2)):
            self.add(self.new("l"), "system", subtype="api_error")
        self.api_error(self.new("e"))

    def tell_mark(self) -> None:
        self.results(self.new("m"), words("[Request interrupted by user]"))

    def tell_sentinel(self) -> None:
        said = {"model": "<synthetic>", "content": [words("No response requested.")]}
        self.add(self.new("n"), "assistant", message=said, isApiErrorMessage=False)

    def tell_meta(self) -> None:
        self.add(self.new("x"), "user", isMeta=True, message={"content": "[Request interrupted by user]"})

    def tell_thought(self) -> None:
        """A message that a kill cut off."""
        message = self.new("msg")
        if self.one(True, False):
            self.says(self.new("a"), words(), message=message)
        self.says(self.new("a"), thinking(), message=message)

    def tell_summary(self) -> None:
        """A new root, and which entries before it the CLI carries over."""
        carried = self._draw(st.lists(st.sampled_from(uuids(self.entries) or ["gone"]), max_size=2))
        before, self._last = self._last, None
        self.add(
            self.new("b"),
            "system",
            subtype="compact_boundary",
            logicalParentUuid=before,
            compactMetadata={"trigger": "auto", "preservedMessages": {"uuids": carried}},
        )
        text = self.one("API Error: so far", "[Request interrupted by user]")
        self.add(self.new("s"), "user", isCompactSummary=True, message={"content": text})

    def tell_note(self) -> None:
        self.note()

    def tell_work(self) -> None:
        """A message with calls, in one entry or one a block, and what became of the calls."""
        calls = [self.new("call") for _ in range(self.one(1, 1, 2, 3))]
        said = [thinking()] if self.one(True, False) else []
        said += [words()] if self.one(True, False) else []
        said += [call(each, self.one("make", "git status")) for each in calls]
        maker = self._say_whole(said) if self.one(True, False) else self._say_in_parts(said)
        beside = self.one(
            True, False
        )  # each result on its call, as the CLI writes it, or one after the other
        for each in self._draw(st.permutations(calls)):
            self._end(each, maker[each] if beside else None)

    def _say_whole(self, said: list[Entry]) -> dict[str, str]:
        uuid = self.new("a")
        self.says(uuid, *said)
        return {block["id"]: uuid for block in said if "id" in block}

    def _say_in_parts(self, said: list[Entry]) -> dict[str, str]:
        message, maker = self.new("msg"), {}
        for block in said:
            uuid = self.new("a")
            self.says(uuid, block, message=message)
            maker[block.get("id", "")] = uuid
        return maker

    def _end(self, call_id: str, parent: str | None) -> None:
        outcome = self.one("done", "done", "denied", "denied by words", "interrupted", "lost", "large")
        if outcome == "lost":
            return
        text = {"denied": "no", "denied by words": REFUSED, "interrupted": REJECTED, "large": "x" * 2500}
        block = result(call_id, text.get(outcome, "done"), is_error=outcome not in ("done", "large"))
        entry = self.results(self.new("r"), block)
        if parent is not None:
            entry["parentUuid"] = parent
        if outcome == "denied":
            entry["toolDenialKind"] = "permission-rule"


def moves(*without: str) -> st.SearchStrategy[list[str]]:
    """A few kinds a transcript: what meets only now and then in a mixture of all meets often among few."""
    among = [move for move in MOVES if move not in without]
    mixtures = st.lists(st.sampled_from(among), min_size=1, max_size=4, unique=True)
    companies = [[move for move in company if move in among] for company in COMPANIES]
    return mixtures | st.sampled_from(companies)


@st.composite
def sound(draw: Any) -> list[Entry]:
    """As the CLI writes them: forks, but nothing is broken."""
    transcript, kinds = Random(draw), draw(moves())
    for _ in range(draw(st.integers(1, 8))):
        transcript.tell(kinds, forks=True)
    return transcript.entries


@st.composite
def straight(draw: Any) -> list[Entry]:
    """One conversation without forks, except those that parallel calls make."""
    transcript, kinds = Random(draw), draw(moves("summary"))  # a summary begins another
    transcript.prompt("start")
    for _ in range(draw(st.integers(1, 8))):
        transcript.tell(kinds, forks=False)
    transcript.prompt("end")
    return transcript.entries


@st.composite
def broken(draw: Any) -> list[Entry]:
    """What a kill, a copy or a faulty disk may make of one."""
    entries = copy.deepcopy(draw(sound()))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(entries) - 1))
        entry = entries[at]
        match draw(
            st.sampled_from(
                ["phantom", "self", "later", "twice", "again", "cut", "half", "side", "stray", "lost uuid"]
            )
        ):
            case "phantom":
                entry["parentUuid"] = "never seen"
            case "self":
                entry["parentUuid"] = entry.get("uuid")
            case "later":
                entry["parentUuid"] = entries[-1].get("uuid")
            case "twice":
                entries.append(copy.deepcopy(entry))
            case "again":
                entries.append({**copy.deepcopy(entry), "uuid": f"again{len(entries)}"})
            case "cut":
                del entries[: draw(st.integers(0, at))]
            case "half":
                entries[at] = {name: entry[name] for name in sorted(entry) if draw(st.booleans())}
            case "side":
                entry["isSidechain"] = True
            case "stray":
                stray = {"role": "user", "content": [result("call-of-nobody")]}
                entries.append(
                    {"type": "user", "uuid": f"stray{at}", "parentUuid": entry.get("uuid"), "message": stray}
                )
            case "lost uuid":
                entry.pop("uuid", None)
    return list(entries)


# A busy machine is no fault of the code's.
unhurried = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
policies = st.builds(PrunePolicy, keep_denials=st.integers(0, 2))
all_policies = policies | st.builds(PrunePolicy, keep_denials=st.integers(0, 2), drop_thinking=st.just(True))


@unhurried
@given(sound() | broken(), all_policies)
def test_every_call_has_one_result_and_every_result_its_call(
    entries: list[Entry], policy: PrunePolicy
) -> None:
    linked = [entry for entry in prune(entries, policy)[0] if entry.get("uuid")]

    calls = [
        block["id"]
        for entry in linked
        if entry.get("type") == "assistant"
        for block in blocks([entry], "tool_use")
    ]
    results = [
        b["tool_use_id"]
        for entry in linked
        if entry.get("type") == "user"
        for b in blocks([entry], "tool_result")
    ]
    assert set(calls) == set(results)
    assert max(Counter(results).values(), default=1) == 1


@unhurried
@given(sound() | broken(), all_policies)
def test_from_every_entry_there_is_a_way_to_a_root(entries: list[Entry], policy: PrunePolicy) -> None:
    kept = prune(entries, policy)[0]

    above = {entry["uuid"]: entry.get("parentUuid") for entry in kept if entry.get("uuid")}
    for uuid in above:
        at: str | None = uuid
        for _ in range(len(above) + 1):
            if at is None:
                break
            assert at in above, f"{uuid} hangs on {at}, which isn't there"
            at = above[at]
        assert at is None, f"{uuid} hangs in a circle"


@unhurried
@given(straight(), policies)
def test_the_way_from_the_end_leads_past_all_that_was_said(entries: list[Entry], policy: PrunePolicy) -> None:
    kept = prune(entries, policy)[0]

    known = {entry["uuid"]: entry for entry in kept if entry.get("uuid")}
    way, at = [], known["end"]
    while True:
        way.append(at)
        if at["parentUuid"] is None:
            break
        at = known[at["parentUuid"]]
    passed = {entry["uuid"] for entry in way}
    messages = {entry["message"].get("id", entry["uuid"]) for entry in way if entry["type"] == "assistant"}
    for entry in known.values():
        # Parallel calls and their results may stand beside the way: the CLI finds them by their message.
        if entry["type"] == "assistant":
            assert entry["message"].get("id", entry["uuid"]) in messages
        elif blocks([entry], "tool_result"):
            assert entry["uuid"] in passed or known[entry["parentUuid"]]["type"] in ("assistant", "user")
        else:
            assert entry["uuid"] in passed


@unhurried
@given(straight(), policies)
def test_a_result_is_on_the_way_or_hangs_on_its_message(entries: list[Entry], policy: PrunePolicy) -> None:
    kept = prune(entries, policy)[0]

    known = {entry["uuid"]: entry for entry in kept if entry.get("uuid")}
    passed, at = set(), "end"
    while at is not None:
        passed.add(at)
        at = known[at]["parentUuid"]
    message_of_call = {
        block["id"]: entry["message"]["id"]
        for entry in kept
        if entry["type"] == "assistant"
        for block in blocks([entry], "tool_use")
    }
    for entry in known.values():
        for block in blocks([entry], "tool_result"):
            parent = known[entry["parentUuid"]]
            beside = parent.get("message", {}).get("id") == message_of_call[block["tool_use_id"]]
            assert entry["uuid"] in passed or beside


@unhurried
@given(sound(), st.builds(PrunePolicy, keep_denials=st.just(99)))
def test_an_entry_hangs_on_its_nearest_ancestor_that_is_left(
    entries: list[Entry], policy: PrunePolicy
) -> None:
    kept = {entry["uuid"]: entry for entry in prune(entries, policy)[0] if entry.get("uuid")}

    above = {entry["uuid"]: entry["parentUuid"] for entry in entries if entry.get("uuid")}
    for uuid in kept.keys() & above.keys():
        nearest = above[uuid]
        while nearest is not None and nearest not in kept:
            nearest = above[nearest]
        assert kept[uuid]["parentUuid"] in (nearest, f"heal-{nearest}")


@unhurried
@given(sound() | broken(), policies)
def test_what_is_fed_back_is_exactly_what_the_rules_leave(entries: list[Entry], policy: PrunePolicy) -> None:
    kept, report = prune(entries, policy)

    rules = Rules(entries, kept, policy)
    made_up = [entry for entry in kept if str(entry.get("uuid")).startswith("heal-")]
    assert [bare(entry) for entry in kept if entry not in made_up] == rules.expected()
    healed = [block for entry in made_up for block in entry["message"]["content"]]
    assert {block["content"] for block in healed} <= {policy.orphan_text}
    assert sorted(block["tool_use_id"] for block in healed) == sorted(rules.calls_left - rules.answered)
    assert rules.refused_calls_left() <= rules.calls_that_can_not_go()
    assert report.api_errors == len(rules.errors)
    assert report.marks == len(rules.marks)
    assert report.denials == len(rules.calls_gone)


@unhurried
@given(sound() | broken())
def test_without_thinking_all_else_is_as_it_was(entries: list[Entry]) -> None:
    kept = without_thinking(entries)

    left_over = {entry.get("parentUuid") or None for entry in kept} - {entry.get("uuid") for entry in kept}
    assert left_over <= {None}, "every parent is there"
    carried = named_by_summaries(entries)
    expected = []
    for entry in without_second_ones(entries):
        content = content_of(entry)
        left = [block for block in content if not is_thinking(block)]
        if entry.get("type") != "assistant" or len(left) == len(content):
            expected.append(bare(entry))
        elif left or not entry.get("uuid") or entry["uuid"] in carried:
            expected.append(bare(with_content(entry, left or [words("…")])))
    assert [bare(entry) for entry in kept] == expected


@unhurried
@given(sound() | broken(), policies)
def test_all_that_was_said_stays_and_thinking_is_never_changed(
    entries: list[Entry], policy: PrunePolicy
) -> None:
    kept = {entry["uuid"]: entry for entry in prune(entries, policy)[0] if entry.get("uuid")}

    for entry in without_second_ones(entries):
        uuid = entry.get("uuid")
        if entry.get("type") != "assistant" or not uuid or is_api_error(entry):
            continue
        if blocks([entry], "text"):
            assert blocks([kept[uuid]], "text") == blocks([entry], "text")
        if blocks([entry], "thinking") and uuid in kept:
            assert kept[uuid]["message"] == entry["message"]


@unhurried
@given(sound() | broken(), all_policies)
def test_pruning_what_was_pruned_changes_nothing_and_no_caller_sees_a_change(
    entries: list[Entry], policy: PrunePolicy
) -> None:
    before = copy.deepcopy(entries)

    once = prune(entries, policy)[0]

    assert entries == before
    assert prune(once, policy)[0] == once


@settings(unhurried, max_examples=25)
@given(sound() | broken(), sound())
def test_loading_twice_gives_the_same_and_leaves_the_file_as_it_was(
    tmp_path: Path, entries: list[Entry], side: list[Entry]
) -> None:
    path = tmp_path / "sessions.db"
    path.unlink(missing_ok=True)
    store = PruningSessionStore(path, tmp_path / "workspace")
    store.append_sync(KEY, entries)
    store.append_sync(SIDE, side)
    before = rows(path)

    first = store.load_sync(KEY), store.load_sync(SIDE)
    second = store.load_sync(KEY), store.load_sync(SIDE)
    store.close()

    assert first == second
    assert rows(path) == before
    for key, told in (("p/s", entries), ("p/s/subagents/agent-1", side)):
        assert [json.loads(payload) for each, _, payload in before if each == key] == without_second_ones(
            told
        )


class Rules:
    """What each rule takes or changes, said once more and without regard to speed.

    Of refused calls it believes the result which are gone, and says which may be.
    """

    def __init__(self, entries: list[Entry], kept: list[Entry], policy: PrunePolicy) -> None:
        self._policy = policy
        self._entries = without_second_ones(entries)
        self._fixed = named_by_summaries(self._entries)
        self._left = {entry["uuid"] for entry in kept if entry.get("uuid")}
        linked = [entry for entry in self._entries if entry.get("uuid")]
        self.errors = {
            entry["uuid"]
            for entry in linked
            if (is_api_error(entry) or is_api_error_link(entry)) and entry["uuid"] not in self._fixed
        }
        self.marks = self._repeated_marks()
        self._thoughts = self._ends_of_thinking(linked)
        self.calls_left = {call["id"] for entry in kept if entry.get("uuid") for call in calls_in(entry)}
        self._calls = {
            call["id"] for entry in linked if entry["uuid"] not in self.errors for call in calls_in(entry)
        }
        self.calls_gone = self._calls - self.calls_left
        denied = [
            call
            for entry in linked
            if entry["uuid"] not in self._fixed and not entry.get("isMeta")
            for call in denied_in(entry)
        ]
        denied = list(dict.fromkeys(denied))
        self._old_denials = set(denied[: max(0, len(denied) - policy.keep_denials)])
        self.answered: set[str] = set()

    def expected(self) -> list[Entry]:
        found = []
        for entry in self._entries:
            changed = self._changed(entry)
            if changed is not None:
                found.append(bare(changed))
        return found

    def refused_calls_left(self) -> set[str]:
        assert self.calls_gone <= self._old_denials
        return self._old_denials & self.calls_left

    def calls_that_can_not_go(self) -> set[str]:
        """Those in a message that has thinking, which is signed, or a part that a summary names."""
        parts: dict[str | None, list[Entry]] = {}
        for entry in self._entries:
            if entry.get("type") == "assistant" and entry.get("uuid"):
                parts.setdefault(message_of(entry), []).append(entry)
        return {
            call["id"]
            for message in parts.values()
            if any(has_thinking(part) or part["uuid"] in self._fixed for part in message)
            for part in message
            for call in calls_in(part)
        }

    def _changed(self, entry: Entry) -> Entry | None:
        uuid, content = entry.get("uuid"), content_of(entry)
        if uuid in self.errors | self.marks | self._thoughts:
            return None
        if entry.get("type") == "assistant" and uuid:
            left = [block for block in content if block.get("id") not in self.calls_gone]
            if content and not left:
                return None
            led_nowhere = all(map(is_thinking, left)) and left and uuid not in self._left
            if led_nowhere and self._message_lost_a_call(entry):
                return None
            return with_content(entry, left) if len(left) < len(content) else entry
        if entry.get("type") != "user" or is_set_apart(entry):
            return entry
        if is_interrupt_mark(entry):
            return self._neutral_mark(entry)
        left = [block for block in content if not uuid or self._stays(block)]
        if content and not left:
            return None
        neutral = [self._neutral(block, entry) for block in left]
        return with_content(entry, neutral) if neutral != content else entry

    def _stays(self, block: Any) -> bool:
        if not isinstance(block, dict) or block.get("type") != "tool_result":
            return True
        call = block["tool_use_id"]
        if call not in self.calls_left or call in self.answered:
            return False
        self.answered.add(call)
        return True

    def _neutral(self, block: Any, entry: Entry) -> Any:
        if isinstance(block, dict) and block.get("type") == "tool_result" and is_interrupted(block, entry):
            return {**block, "content": self._policy.interrupt_text}
        return block

    def _neutral_mark(self, entry: Entry) -> Entry:
        text = self._policy.interrupt_text
        message = entry["message"]
        content = text if isinstance(message["content"], str) else [words(text)]
        return {**entry, "message": {**message, "content": content}}

    def _message_lost_a_call(self, entry: Entry) -> bool:
        return any(
            call["id"] in self.calls_gone
            for each in self._entries
            if message_of(each) == message_of(entry)
            for call in calls_in(each)
        )

    def _repeated_marks(self) -> set[str]:
        repeated, told = set(), set()
        for entry in self._entries:
            lane = lane_of(entry)
            if is_by_the_model(entry):
                told.discard(lane)
            elif entry.get("type") != "user" or is_set_apart(entry):
                continue
            elif is_interrupt_mark(entry):
                uuid = entry.get("uuid")
                if lane in told and uuid and uuid not in self._fixed:
                    repeated.add(uuid)
                told.add(lane)
            elif any(is_interrupted(result, entry) for result in results_in(entry)):
                told.add(lane)
        return repeated

    def _ends_of_thinking(self, linked: list[Entry]) -> set[str]:
        parts: dict[str | None, list[Entry]] = {}
        for entry in linked:
            if entry.get("type") == "assistant":
                parts.setdefault(message_of(entry), []).append(entry)
        above = {entry.get("uuid"): entry.get("parentUuid") for entry in relink(self._entries, ())}
        ends = set()
        for message in parts.values():
            last: set[str] = set()
            while message and content_of(message[-1]) and all(map(is_thinking, content_of(message[-1]))):
                if message[-1]["uuid"] in self._fixed:
                    break
                last.add(message.pop()["uuid"])
            for part in message:
                uuid = above[part["uuid"]]
                while uuid in last:  # it led to this part, wherever it stands
                    last.discard(uuid)
                    uuid = above[uuid]
            ends |= last
        return ends


def bare(entry: Entry) -> Entry:
    """The entry without its links, and without the CLI's account of a result that others may have gone from."""
    links = ("parentUuid", "leafUuid", "toolUseResult", "toolDenialKind")
    return {name: value for name, value in entry.items() if name not in links}


def rows(path: Path) -> list[tuple[str, int, str]]:
    connection = sqlite3.connect(path)
    try:
        query = "SELECT store_key, seq, payload FROM entries ORDER BY store_key, seq"
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def without_second_ones(entries: list[Entry]) -> list[Entry]:
    seen: set[str] = set()
    kept = []
    for entry in entries:
        uuid = entry.get("uuid")
        if uuid not in seen:
            kept.append(entry)
        if uuid:
            seen.add(uuid)
    return kept
