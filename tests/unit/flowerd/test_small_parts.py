"""The small parts: money, names of folders, peers, the environment, the log, what an event changes."""

import json
import logging
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from flower_protocol.runs import RunOptions
from flower_protocol.workspaces import Place
from flowerd.costs import Costs
from flowerd.environment import for_rehearsal, scrub
from flowerd.identity import canonical, key, known_as
from flowerd.lives import forget_old, lives, next_life
from flowerd.logs import Plain, PrivateFile
from flowerd.options import FLAGS, HONOURED
from flowerd.peer import xucred_uid
from flowerd.progress import advanced
from flowerd.refusal import Refused
from flowerd.registry import Record
from flowerd.wire import Draft

RECORD = Record(workspace="/w", run_dir="/w/runs")


def _manifest(run_dir: Path, content: str) -> None:
    run_dir.mkdir(exist_ok=True)
    (run_dir / "manifest.json").write_text(content)


def test_the_cost_is_the_sum_of_the_rows_and_follows_the_file(tmp_path: Path) -> None:
    costs, run_dir = Costs(), tmp_path / "runs"
    before = costs.of(run_dir)
    _manifest(run_dir, json.dumps([{"cost_usd": 0.1}, {"cost_usd": 0.2}, {}, {"cost_usd": None}]))
    first = costs.of(run_dir)
    _manifest(run_dir, json.dumps([{"cost_usd": 1}]))

    assert (before, first, costs.of(run_dir)) == (0.0, 0.3, 1.0)


@pytest.mark.parametrize("content", ["", "{", "[1]", '[{"cost_usd": "much"}]', '[{"cost_usd": NaN}]'])
def test_a_manifest_that_can_not_be_read_costs_nothing(tmp_path: Path, content: str) -> None:
    _manifest(tmp_path / "runs", content)

    assert Costs().of(tmp_path / "runs") == 0.0


def test_a_manifest_that_has_not_changed_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs, reads = Costs(), []
    _manifest(tmp_path / "runs", "[]")
    monkeypatch.setattr("flowerd.costs.read_rows", lambda run_dir: reads.append(run_dir) or [])

    for _ in range(3):
        costs.of(tmp_path / "runs")

    assert len(reads) == 1


def test_links_lead_to_one_name(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "link").symlink_to("ws")

    found = canonical(Place(workspace=f"{tmp_path}/link", run_dir=f"{tmp_path}/link/../ws/runs"))

    assert found == Place(workspace=f"{tmp_path}/ws", run_dir=f"{tmp_path}/ws/runs")


@pytest.mark.parametrize("path", ["", "relative", "/nul\0byte", "./x"])
def test_what_is_no_absolute_path_is_refused(path: str) -> None:
    with pytest.raises(Refused) as refused:
        canonical(Place(workspace=path, run_dir="/x"))

    assert refused.value.failure.code == "bad-frame"


def test_one_folder_under_two_names_that_are_no_links_is_known_by_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Place(workspace="/Users/me/Projects", run_dir="/Users/me/Projects/runs")
    other = Place(workspace="/Users/me/projects", run_dir="/Users/me/projects/runs")
    monkeypatch.setattr(os.path, "samefile", lambda one, two: one.lower() == two.lower())

    assert known_as(other, [RECORD.place, known]) == known
    assert (
        known_as(Place(workspace="/Users/me/projects", run_dir="/elsewhere"), [known]).run_dir == "/elsewhere"
    )


def test_no_two_places_share_a_key() -> None:
    names = ["/a_b", "/a-b", "/a.b", "/a/b", "/项目", "/文档", "/a", "/" + "x" * 230]
    places = [Place(workspace=one, run_dir=two) for one in names for two in names]

    assert len({key(place) for place in places}) == len(places)


def test_generations_are_ordered_by_number_and_only_the_last_two_stay(tmp_path: Path) -> None:
    folder = tmp_path / "journals" / "abc"
    for generation in ("zzz", "aaa", "mmm"):
        next_life(folder, generation).folder.mkdir(parents=True)

    forget_old(tmp_path / "journals")

    assert [life.generation for life in lives(folder)] == ["aaa", "mmm"]
    assert next_life(folder, "new").number == 4


def test_the_peers_user_is_read_from_what_macos_answers() -> None:
    answer = struct.pack("=IIh2x16I", 0, 501, 3, *range(16))

    assert xucred_uid(answer) == 501


@pytest.mark.parametrize("answer", [b"", struct.pack("=II", 7, 0)])
def test_an_answer_that_is_not_understood_lets_nobody_in(answer: bytes) -> None:
    with pytest.raises(OSError, match=r"kernel|unknown version"):
        xucred_uid(answer)


def test_the_environment_is_scrubbed_down_to_a_short_list() -> None:
    environment = {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "AWS_SECRET": "x", "ANTHROPIC_API_KEY": "y"}

    scrub(environment)

    assert environment == {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C"}


def test_a_rehearsal_is_near_no_credential_of_the_person() -> None:
    environment = {"PATH": "/bin", "ANTHROPIC_AUTH_TOKEN": "secret", "CLAUDE_CODE_OAUTH_TOKEN": "secret"}

    found = for_rehearsal(environment, {"ANTHROPIC_API_KEY": "of the script"})

    assert found == {"PATH": "/bin", "ANTHROPIC_API_KEY": "of the script"}


def test_every_flag_has_a_name_and_what_is_honoured_exists() -> None:
    assert set(FLAGS) == set(RunOptions.__struct_fields__)
    assert set(FLAGS) >= HONOURED


def test_no_control_character_reaches_the_log() -> None:
    record = logging.LogRecord("n", logging.INFO, "p", 1, "ws \x1b[31m%s\r\n", ("\x07\x9b",), None)

    assert Plain("%(message)s").format(record) == "ws \\x1b[31m\\x07\\x9b\\x0d\\x0a"


def test_a_log_file_is_private_and_stays_so_when_it_rolls_over(tmp_path: Path) -> None:
    handler = PrivateFile(tmp_path / "flowerd.log", maxBytes=60, backupCount=2)
    for number in range(20):
        handler.emit(logging.LogRecord("n", logging.INFO, "p", 1, f"line {number} \ud800", (), None))
    handler.close()

    files = sorted(tmp_path.glob("flowerd.log*"))
    assert len(files) == 3
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


@pytest.mark.parametrize(
    ("draft", "changes"),
    [
        (
            Draft("step", "干活", payload={"index": 3, "total": 3, "woke": 2}),
            {"step": "干活", "index": 3, "woke": 2},
        ),
        (Draft("text", "x", payload={"context": 80_200}), {"context": 80_200}),
        (Draft("text", "x", payload={"context": "much"}), {"context": 0}),
        (Draft("system", "init", payload={"session_id": "s"}), {"session_id": "s"}),
        (
            Draft("result", "success", payload={"session_id": None, "window": 10}),
            {"session_id": None, "window": 10},
        ),
        (Draft("text", "x", payload={"context": 9, "judge": True}), {"context": 0}),
        (Draft("system", "init", payload={"session_id": "s", "judge": True}), {"session_id": None}),
        (Draft("of-tomorrow", "x", payload={"index": 9}), {"index": 0}),
    ],
)
def test_an_event_changes_what_it_tells_and_nothing_else(draft: Draft, changes: dict[str, Any]) -> None:
    record = advanced(RECORD, draft)

    assert {name: getattr(record, name) for name in changes} == changes
