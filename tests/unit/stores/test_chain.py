"""The chain from the last entry to the first."""

from flower.stores.chain import relink
from tests.unit.stores.transcripts import Transcript, parents, uuids


def chain(*names: str) -> Transcript:
    transcript = Transcript()
    for name in names:
        transcript.attachment(name)
    return transcript


def test_the_children_of_dropped_entries_hang_on_the_nearest_surviving_ancestor() -> None:
    transcript = chain("a", "b", "c", "d")

    assert parents(relink(transcript.entries, {"b", "c"})) == {"a": None, "d": "a"}


def test_without_a_surviving_ancestor_a_child_becomes_the_root() -> None:
    transcript = chain("a", "b", "c")

    assert parents(relink(transcript.entries, {"a", "b"})) == {"c": None}


def test_a_fork_keeps_both_its_branches() -> None:
    transcript = chain("a", "b", "c", "d")
    transcript.entries[3]["parentUuid"] = "b"

    assert parents(relink(transcript.entries, {"b"})) == {"a": None, "c": "a", "d": "a"}


def test_a_child_of_a_dropped_entry_goes_to_its_stand_in() -> None:
    transcript = chain("a", "b", "c", "d")
    transcript.entries[2]["parentUuid"] = "a"

    assert parents(relink(transcript.entries, {"c"}, {"c": "b"})) == {"a": None, "b": "a", "d": "b"}


def test_an_unknown_parent_is_replaced_by_the_entry_before() -> None:
    transcript = chain("a", "b", "c")
    transcript.entries[0]["parentUuid"] = "never seen"
    transcript.entries[2]["parentUuid"] = "never seen either"

    assert parents(relink(transcript.entries, set())) == {"a": None, "b": "a", "c": "b"}


def test_a_way_up_through_dropped_entries_to_an_unknown_one_leads_to_the_entry_before() -> None:
    transcript = chain("a", "b", "c")
    transcript.entries[1]["parentUuid"] = "never seen"

    assert parents(relink(transcript.entries, {"b"})) == {"a": None, "c": "a"}


def test_the_entry_before_is_looked_for_in_the_same_thread_of_the_conversation() -> None:
    transcript = chain("a", "side", "c")
    transcript.entries[1] |= {"isSidechain": True, "parentUuid": None}
    transcript.entries[2]["parentUuid"] = "never seen"

    assert parents(relink(transcript.entries, set())) == {"a": None, "side": None, "c": "a"}


def test_an_entry_that_is_its_own_parent_hangs_on_the_one_before() -> None:
    transcript = chain("a", "b", "c")
    transcript.entries[1]["parentUuid"] = "b"

    assert parents(relink(transcript.entries, set())) == {"a": None, "b": "a", "c": "b"}


def test_a_circle_is_opened_where_it_comes_first() -> None:
    transcript = chain("a", "b", "c", "d")
    transcript.entries[1]["parentUuid"] = "d"

    assert parents(relink(transcript.entries, set())) == {"a": None, "b": "a", "c": "b", "d": "c"}


def test_two_entries_with_one_uuid_and_their_links_to_themselves_make_no_endless_way() -> None:
    transcript = chain("a", "b", "r", "b", "c")
    transcript.entries[2]["parentUuid"] = "r"
    transcript.entries[3]["parentUuid"] = "b"

    assert parents(relink(transcript.entries, {"a"})) == {"b": None, "r": "b", "c": "b"}


def test_a_circle_of_dropped_entries_leads_nowhere_but_to_the_entry_before() -> None:
    transcript = chain("a", "b", "c", "d")
    transcript.entries[1]["parentUuid"] = "c"

    assert parents(relink(transcript.entries, {"b", "c"})) == {"a": None, "d": "a"}


def test_a_parent_that_comes_later_in_the_file_is_a_parent_all_the_same() -> None:
    transcript = chain("a", "b", "c")
    transcript.entries[1]["parentUuid"] = "c"
    transcript.entries[2]["parentUuid"] = "a"

    assert relink(transcript.entries, set()) == transcript.entries


def test_a_long_chain_with_many_dropped_entries_takes_one_pass() -> None:
    transcript = chain(*(f"e{number}" for number in range(50_000)))
    dropped = set(uuids(transcript.entries)[1:-1])

    assert parents(relink(transcript.entries, dropped)) == {"e0": None, "e49999": "e0"}
