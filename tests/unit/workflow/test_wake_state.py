"""The look that tells whether a folder can be continued: what it finds, and that it leaves everything as it was."""

import inspect
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from flower import Brief, Goal, Lineage, wake_state

BRIEF = Brief(goal="a converter", accept="it converts", bounds="no web page", unknowns="none")


def notes_of(workspace: Path) -> Path:
    return workspace / ".flower" / "notes"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def use(workspace: Path) -> None:
    """Leave behind what a run leaves, and a run that is still going on."""
    lineage = Lineage.open(workspace / "runs", workspace)
    lineage.bump()
    lineage.bump()
    lineage.remember("干活", "47395075-bec7-466e-80cd-f4d60b360235")
    BRIEF.write(notes_of(workspace) / "需求.md")
    Goal("it works", ["run it", "read it"]).write(notes_of(workspace) / "目标.md")


# ---------------------------------------------------------------- what it says


def test_its_parameters_are_the_promised_ones() -> None:
    parameters = inspect.signature(wake_state).parameters.values()

    assert [(each.name, each.default, each.kind) for each in parameters] == [
        ("workspace", ".", inspect.Parameter.POSITIONAL_OR_KEYWORD),
        ("run_dir", "runs", inspect.Parameter.KEYWORD_ONLY),
        ("isolate", False, inspect.Parameter.KEYWORD_ONLY),
        ("brief_name", "需求.md", inspect.Parameter.KEYWORD_ONLY),
        ("goal_name", "目标.md", inspect.Parameter.KEYWORD_ONLY),
    ]


def test_a_used_folder_has_six_things_to_say(workspace: Path) -> None:
    use(workspace)

    assert wake_state(workspace, run_dir=workspace / "runs") == {
        "waking": True,
        "brief": notes_of(workspace) / "需求.md",
        "goal": notes_of(workspace) / "目标.md",
        "checks": 2,
        "woke": 2,
        "steps": {"干活": "47395075-bec7-466e-80cd-f4d60b360235"},
    }


def test_a_new_folder_says_the_same_six_with_nothing_in_them(workspace: Path) -> None:
    assert wake_state(workspace, run_dir=workspace / "runs") == {
        "waking": False,
        "brief": notes_of(workspace) / "需求.md",
        "goal": notes_of(workspace) / "目标.md",
        "checks": 0,
        "woke": 0,
        "steps": {},
    }


@pytest.mark.parametrize("missing", ["goal", "accept", "bounds", "unknowns"])
def test_a_brief_that_lacks_a_section_wakes_nobody(workspace: Path, missing: str) -> None:
    use(workspace)
    sections = {name: getattr(BRIEF, name) for name in ("goal", "accept", "bounds", "unknowns")}
    Brief(**{**sections, missing: ""}).write(notes_of(workspace) / "需求.md")
    text = (notes_of(workspace) / "需求.md").read_text().replace("(未填)", "")
    (notes_of(workspace) / "需求.md").write_text(text)

    assert wake_state(workspace, run_dir=workspace / "runs")["waking"] is False


def test_nothing_but_the_brief_says_whether_it_wakes(workspace: Path) -> None:
    BRIEF.write(notes_of(workspace) / "需求.md")

    state = wake_state(workspace, run_dir=workspace / "runs")

    assert (state["waking"], state["checks"], state["woke"], state["steps"]) == (True, 0, 0, {})


def test_beside_the_folder_is_looked_when_workers_have_worktrees_of_their_own(workspace: Path) -> None:
    beside = workspace.parent / ".flower-work" / "notes"
    BRIEF.write(beside / "需求.md")
    Goal("it works", ["run it"]).write(beside / "目标.md")

    state = wake_state(workspace, run_dir=workspace / "runs", isolate=True)

    assert (state["brief"], state["goal"]) == (beside / "需求.md", beside / "目标.md")
    assert (state["waking"], state["checks"]) == (True, 1)
    assert wake_state(workspace, run_dir=workspace / "runs")["waking"] is False


def test_the_documents_may_have_other_names(workspace: Path) -> None:
    BRIEF.write(notes_of(workspace) / "brief.md")
    Goal("it works", ["run it"]).write(notes_of(workspace) / "goal.md")

    state = wake_state(workspace, run_dir=workspace / "runs", brief_name="brief.md", goal_name="goal.md")

    assert (state["waking"], state["checks"], state["brief"].name) == (True, 1, "brief.md")


def test_run_dir_is_looked_for_in_the_current_folder_not_in_the_workspace(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(workspace)

    monkeypatch.chdir(workspace)
    assert wake_state()["woke"] == 2
    monkeypatch.chdir(workspace.parent)
    assert wake_state("work")["woke"] == 0
    assert wake_state("work", run_dir="work/runs")["woke"] == 2


def test_the_steps_it_hands_out_are_a_copy(workspace: Path) -> None:
    use(workspace)
    wake_state(workspace, run_dir=workspace / "runs")["steps"].clear()

    assert wake_state(workspace, run_dir=workspace / "runs")["steps"] != {}


# ---------------------------------------------------------------- what it leaves behind


def nothing(workspace: Path) -> None:
    pass


def no_folder(workspace: Path) -> None:
    workspace.rmdir()


def damaged(workspace: Path) -> None:
    use(workspace)
    (workspace / "runs" / "lineage.json").write_bytes(b'{"workspace": "')
    (workspace / "runs" / "manifest.json").write_bytes(b"[{")
    (workspace / "runs" / "sessions.db").write_bytes(b"no database")
    (notes_of(workspace) / "需求.md").write_bytes(b"\xff\xfe## \xe7")
    (notes_of(workspace) / "目标.md").write_bytes(b"\xff\xfe")


def foreign(workspace: Path) -> None:
    Lineage.open(workspace / "runs", workspace / "elsewhere").remember("干活", "of another folder")


def folders_for_files(workspace: Path) -> None:
    for path in ("runs/lineage.json", "runs/sessions.db", ".flower/notes/需求.md", ".flower/notes/目标.md"):
        (workspace / path).mkdir(parents=True)


def a_file_for_run_dir(workspace: Path) -> None:
    (workspace / "runs").write_text("a file")
    (workspace / ".flower").write_text("another")


def links_to_nowhere(workspace: Path) -> None:
    for path in ("runs/lineage.json", ".flower/notes/需求.md"):
        (workspace / path).parent.mkdir(parents=True)
        (workspace / path).symlink_to(workspace / "nowhere")


def log_of_a_killed_run(workspace: Path) -> None:
    """A database whose log was never taken in, as a kill leaves it: whoever opens it changes both."""
    use(workspace)
    living = sqlite3.connect(workspace / "living.db", isolation_level=None)
    living.execute("PRAGMA journal_mode = WAL")
    living.execute("CREATE TABLE meta (store_key TEXT PRIMARY KEY, mtime INTEGER, next_seq INTEGER)")
    for suffix in ("", "-wal", "-shm"):
        content = (workspace / f"living.db{suffix}").read_bytes()
        (workspace / "runs" / f"sessions.db{suffix}").write_bytes(content)
    living.close()


def a_lock_that_somebody_left(workspace: Path) -> None:
    use(workspace)
    (workspace / "runs" / "lineage.json.123.tmp").write_bytes(b"{")


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize(
    "prepare",
    [
        nothing,
        no_folder,
        use,
        damaged,
        foreign,
        folders_for_files,
        a_file_for_run_dir,
        links_to_nowhere,
        log_of_a_killed_run,
        a_lock_that_somebody_left,
    ],
)
def test_looking_writes_not_one_byte_whatever_is_there(
    workspace: Path,
    prepare: Callable[[Path], None],
    isolate: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(workspace)
    before = everything(tmp_path)

    state = wake_state("work", run_dir="work/runs", isolate=isolate)

    assert everything(tmp_path) == before
    assert list(state) == ["waking", "brief", "goal", "checks", "woke", "steps"]


def everything(root: Path) -> dict[str, tuple[object, ...]]:
    """Every file, folder and link there is, with all that a write could change."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [root, *sorted(root.rglob("*"))]:
        seen = path.lstat()
        content: object = None
        if path.is_symlink():
            content = path.readlink()
        elif path.is_file():
            content = path.read_bytes()
        else:
            content = sorted(each.name for each in path.iterdir())
        found[str(path)] = (seen.st_ino, seen.st_mode, seen.st_size, seen.st_mtime_ns, content)
    return found
