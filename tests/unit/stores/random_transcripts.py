"""Transcripts for Hypothesis: as the CLI writes them, and what a kill, a copy or a faulty disk makes of one."""

import copy
from collections.abc import Sequence
from itertools import count
from typing import Any

from hypothesis import strategies as st

from tests.unit.stores.transcripts import Entry, Transcript, call, result, thinking, uuids, words

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
