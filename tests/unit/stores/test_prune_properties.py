"""What holds for every transcript, whatever happened to it."""

import copy
import json
import sqlite3
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flower.stores.prune import PrunePolicy, PruningSessionStore, prune
from flower.stores.residue import denied_in, is_api_error, is_api_error_link
from tests.unit.stores.transcripts import Entry, Transcript, blocks, call, result, thinking, uuids, words

KEY = {"project_key": "p", "session_id": "s"}
REFUSED = "PreToolUse:Bash hook error: dispatch it"
REJECTED = "The user doesn't want to proceed with this tool use. STOP what you are doing."


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

    def tell(self, forks: bool) -> None:
        move = self.one(
            "prompt",
            "answer",
            "work",
            "work",
            "work",
            "attachment",
            "error",
            "mark",
            "sentinel",
            "note",
            "meta",
        )
        if forks and self.entries and self.one(False, False, False, True):
            self._last = self.one(None, *uuids(self.entries))
        getattr(self, f"tell_{move}")()

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


@st.composite
def sound(draw: Any) -> list[Entry]:
    """As the CLI writes them: forks, but nothing is broken."""
    transcript = Random(draw)
    for _ in range(draw(st.integers(1, 8))):
        transcript.tell(forks=True)
    return transcript.entries


@st.composite
def straight(draw: Any) -> list[Entry]:
    """One conversation without forks, except those that parallel calls make."""
    transcript = Random(draw)
    transcript.prompt("start")
    for _ in range(draw(st.integers(1, 8))):
        transcript.tell(forks=False)
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
                ["phantom", "self", "later", "twice", "cut", "half", "side", "stray", "lost uuid"]
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


@unhurried
@given(sound() | broken(), policies)
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
@given(sound() | broken(), policies)
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
@given(sound() | broken(), policies)
def test_nothing_is_missing_but_what_a_rule_names_and_the_order_stays(
    entries: list[Entry], policy: PrunePolicy
) -> None:
    kept = prune(entries, policy)[0]

    first = {entry["uuid"]: entry for entry in without_second_ones(entries) if entry.get("uuid")}
    left = [uuid for uuid in uuids(kept) if not uuid.startswith("heal-")]
    assert left == [uuid for uuid in first if uuid in set(left)], "the order stays"

    denied = {call_id for entry in entries for call_id in denied_in(entry)}
    calls = {
        block["id"]
        for entry in first.values()
        if entry.get("type") == "assistant"
        for block in blocks([entry], "tool_use")
    }
    answered: Counter[str] = Counter(
        b["tool_use_id"] for e in first.values() for b in blocks([e], "tool_result")
    )
    for uuid in first.keys() - set(left):
        entry = first[uuid]
        if is_api_error(entry) or is_api_error_link(entry):
            continue
        for block in entry["message"]["content"]:
            assert is_named(block, denied, calls, answered), f"no rule names {block}"
    notes = [entry for entry in entries if not entry.get("uuid")]
    assert len([entry for entry in kept if not entry.get("uuid")]) == len(notes)


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
@given(sound() | broken(), policies)
def test_pruning_what_was_pruned_changes_nothing_and_no_caller_sees_a_change(
    entries: list[Entry], policy: PrunePolicy
) -> None:
    before = copy.deepcopy(entries)

    once = prune(entries, policy)[0]

    assert entries == before
    assert prune(once, policy)[0] == once


@settings(unhurried, max_examples=25)
@given(sound() | broken())
def test_loading_twice_gives_the_same_and_leaves_the_file_as_it_was(
    tmp_path: Path, entries: list[Entry]
) -> None:
    path = tmp_path / "sessions.db"
    path.unlink(missing_ok=True)
    store = PruningSessionStore(path, tmp_path / "workspace")
    store.append_sync(KEY, entries)
    before = rows(path)

    first = store.load_sync(KEY)
    second = store.load_sync(KEY)
    store.close()

    assert first == second
    assert rows(path) == before
    assert [json.loads(payload) for _, payload in before] == without_second_ones(entries)


def is_named(block: Entry, denied: set[str], calls: set[str], answered: Counter[str]) -> bool:
    """Whether a rule may have taken this block."""
    if block["type"] == "thinking":
        return bool(denied)
    if block["type"] == "tool_use":
        return block["id"] in denied
    call_id = block["tool_use_id"]
    return call_id in denied or call_id not in calls or answered[call_id] > 1


def rows(path: Path) -> list[tuple[int, str]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT seq, payload FROM entries ORDER BY seq").fetchall()
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
