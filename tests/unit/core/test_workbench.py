"""What lies on the workbench is found, told of and indexed, whatever it is called and made of."""

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flower import Workbench
from flower.core.durable import locked

INDEX = """\
# 工作台索引

> 自动生成,勿手改。scripts 首行写 `# desc: 一句话` 会出现在这里。

## 可复用脚本(0)
- (空)

## 产出(2)
- `.flower/artifacts/01-recon.md` — 01 — 侦察报告:cppide (32.6K)
- `.flower/artifacts/numbers.bin` (1.0K)

## 决策记录(1)
- `.flower/notes/目标.md` — 目标 (3.6K)
"""


@pytest.fixture
def workbench(tmp_path: Path) -> Workbench:
    return Workbench(tmp_path / "work").ensure()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def sized(text: str, size: int) -> bytes:
    return text.encode().ljust(size, b"\n")


# ---------------------------------------------------------------- where it is


def test_it_lies_in_the_workspace(tmp_path: Path) -> None:
    workbench = Workbench(tmp_path)

    assert workbench.root == tmp_path / ".flower"
    assert not workbench.external
    assert workbench.index_path == workbench.root / "INDEX.md"
    assert [workbench.scripts, workbench.artifacts, workbench.notes] == [
        workbench.root / name for name in ("scripts", "artifacts", "notes")
    ]


def test_it_has_a_home_elsewhere_when_it_is_given_one(tmp_path: Path) -> None:
    workbench = Workbench(tmp_path / "work", home=tmp_path / ".flower-work")

    assert workbench.root == tmp_path / ".flower-work"
    assert workbench.external


def test_nothing_is_made_before_it_is_asked_for(tmp_path: Path) -> None:
    Workbench(tmp_path / "work").prompt_block()

    assert not (tmp_path / "work").exists()


def test_its_folders_are_the_users_alone(tmp_path: Path) -> None:
    workbench = Workbench(tmp_path)

    assert workbench.ensure() is workbench
    for folder in (workbench.root, workbench.scripts, workbench.artifacts, workbench.notes):
        assert mode(folder) == 0o700


def test_a_path_is_shown_relative_inside_of_the_workspace_and_whole_outside(tmp_path: Path) -> None:
    workbench = Workbench(tmp_path / "work", home=tmp_path / "bench")

    assert workbench.show(tmp_path / "work" / "a" / "b.txt") == "a/b.txt"
    assert workbench.show(workbench.notes) == f"{tmp_path}/bench/notes"


def test_a_path_over_a_link_into_the_workbench_leads_there(workbench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(workbench.notes)

    assert workbench.holds(tmp_path / "link" / "a.md")
    assert workbench.holds(".flower/notes/a.md")
    assert not workbench.holds(".flower/../a.md")
    assert not workbench.holds(".flower-other/a.md")
    assert not workbench.holds("a\0b")


# ---------------------------------------------------------------- the index


def test_the_index_lists_all_in_its_own_format(workbench: Workbench) -> None:
    (workbench.artifacts / "01-recon.md").write_bytes(sized("# 01 — 侦察报告:cppide", 33_382))
    (workbench.artifacts / "numbers.bin").write_bytes(bytes(1024))
    (workbench.notes / "目标.md").write_bytes(sized("# 目标\n\n变快。", 3_686))

    assert workbench.refresh() == INDEX
    assert workbench.index_path.read_text(encoding="utf-8") == INDEX
    assert mode(workbench.index_path) == 0o600


def test_a_refresh_makes_what_is_missing(tmp_path: Path) -> None:
    workbench = Workbench(tmp_path / "not" / "there")

    workbench.refresh()

    assert workbench.index_path.exists()


def test_the_brief_is_in_the_index_and_in_what_a_session_is_told(workbench: Workbench) -> None:
    (workbench.notes / "需求.md").write_text("# 需求确认书\n")

    row = "- `.flower/notes/需求.md` — 需求确认书 (0.0K)"
    assert row in workbench.refresh().splitlines()
    assert row in workbench.prompt_block().splitlines()


def test_a_session_is_told_a_limited_number_of_each_kind_and_the_index_has_all(tmp_path: Path) -> None:
    workbench = Workbench(tmp_path, max_index_entries=2).ensure()
    for number in range(5):
        (workbench.artifacts / f"{number}.txt").write_text("x")

    told, index = workbench.prompt_block(), workbench.refresh()

    assert "## 产出(5)" in told
    assert ".flower/artifacts/1.txt" in told
    assert ".flower/artifacts/2.txt" not in told
    assert "…另有 3 个" in told
    assert ".flower/artifacts/4.txt" in index
    assert "另有" not in index


def test_what_lies_deep_gives_way_to_what_lies_near(tmp_path: Path) -> None:
    workbench = Workbench(tmp_path, max_index_entries=1).ensure()
    (workbench.notes / "archive").mkdir()
    (workbench.notes / "archive" / "目标.md").write_text("old")
    (workbench.notes / "需求.md").write_text("new")

    assert ".flower/notes/需求.md" in workbench.prompt_block()


def test_a_session_is_told_the_three_rules(workbench: Workbench) -> None:
    told = workbench.prompt_block()

    for rule in (".flower/scripts/", "# desc:", "2000", ".flower/artifacts/", ".flower/notes/"):
        assert rule in told
    assert "绝对路径" not in told


def test_paths_of_a_workbench_outside_are_whole(tmp_path: Path) -> None:
    workbench = Workbench(tmp_path / "work", home=tmp_path / "bench").ensure()
    (workbench.notes / "a.md").write_text("# A")

    told = workbench.prompt_block()

    assert "绝对路径" in told
    assert f"- `{tmp_path}/bench/notes/a.md` — A" in told


# ---------------------------------------------------------------- odd files


def test_a_scan_goes_down_and_leaves_out_what_is_hidden(workbench: Workbench) -> None:
    (workbench.scripts / "deep").mkdir()
    (workbench.scripts / "deep" / "run.sh").write_text("# desc: runs\n")
    (workbench.scripts / ".hidden").write_text("# desc: not this\n")
    (workbench.scripts / ".git").mkdir()
    (workbench.scripts / ".git" / "config").write_text("# desc: nor this\n")

    assert workbench.scan(workbench.scripts) == [(".flower/scripts/deep/run.sh", "runs", 13)]


def test_a_folder_that_is_not_there_has_nothing(workbench: Workbench) -> None:
    assert workbench.scan(workbench.root / "nothing") == []


def test_what_is_no_file_is_left_out_without_waiting_for_it(workbench: Workbench) -> None:
    os.mkfifo(workbench.artifacts / "pipe")
    (workbench.artifacts / "linked pipe").symlink_to(workbench.artifacts / "pipe")
    (workbench.artifacts / "dangling").symlink_to("nowhere")
    (workbench.artifacts / "circle").symlink_to("circle")
    (workbench.artifacts / "up").symlink_to(workbench.root)
    (workbench.artifacts / "endless").symlink_to("/dev/zero")
    (workbench.artifacts / "file").write_text("# a file")

    assert workbench.scan(workbench.artifacts) == [(".flower/artifacts/file", "a file", 8)]


def test_a_name_stays_on_its_line_and_can_be_written(workbench: Workbench) -> None:
    (workbench.notes / "a\n- `forged`.md").write_text("x")
    (workbench.notes / "\x1b[31mred.md").write_text("x")
    Path(os.fsdecode(os.fsencode(workbench.notes) + b"/\xff.md")).write_text("x")

    index = workbench.refresh()

    assert index.isprintable() or set(filter(lambda each: not each.isprintable(), index)) == {"\n"}
    assert not any(line.startswith("- `forged") for line in index.splitlines())
    assert "## 决策记录(3)" in index
    assert workbench.index_path.read_text(encoding="utf-8") == index


# ---------------------------------------------------------------- trouble


def test_an_index_that_cannot_be_written_is_said_and_hurts_nobody(workbench: Workbench) -> None:
    workbench.index_path.unlink(missing_ok=True)
    (workbench.index_path / "a folder where the file should be").mkdir(parents=True)

    index = workbench.refresh()

    assert "## 产出(0)" in index
    notice = workbench.take_notice()
    assert notice is not None and str(workbench.index_path) in notice.zh
    assert workbench.take_notice() is None
    assert (workbench.index_path / "a folder where the file should be").exists()


@pytest.mark.parametrize("name", [".flower", ".flower/notes"])
def test_a_file_where_a_folder_of_it_should_be_is_set_aside_and_said(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    workbench = Workbench(tmp_path)

    workbench.refresh()

    [aside] = path.parent.glob(f"{path.name}.unreadable-*")
    assert aside.read_text() == "mine" and workbench.index_path.exists()
    notice = workbench.take_notice()
    assert notice is not None and notice.zh == f"{path} 不是文件夹,挪到了 {aside.name}。"


def test_a_linked_index_is_replaced_and_what_it_led_to_is_left_alone(workbench: Workbench) -> None:
    other = workbench.workspace / "README.md"
    other.write_text("mine")
    workbench.index_path.symlink_to(other)

    workbench.refresh()

    assert other.read_text() == "mine"
    assert not workbench.index_path.is_symlink()


def test_refreshes_at_the_same_time_leave_a_whole_index_of_everything(workbench: Workbench) -> None:
    # Each has its own, as two runs in one folder have; hooks refresh in threads.
    together = threading.Barrier(4)

    def refresh_often(own: str) -> list[str]:
        bench, missed = Workbench(workbench.workspace), []
        for number in range(25):
            (bench.notes / f"{own}-{number}.md").write_text("# x")
            together.wait(30)
            bench.refresh()
            together.wait(30)
            written = bench.index_path.read_text(encoding="utf-8")
            missed += [each for each in "abcd" if f"{each}-{number}.md" not in written]
            together.wait(30)
        return [*missed, *filter(None, [bench.notice and bench.notice.en])]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(refresh_often, "abcd")) == [[], [], [], []]

    assert not list(workbench.root.glob("*.tmp"))


def test_a_refresh_that_waits_for_another_sees_what_came_meanwhile(workbench: Workbench) -> None:
    with ThreadPoolExecutor(1) as pool:
        with locked(workbench.index_path):
            waiting = pool.submit(workbench.refresh)
            (workbench.notes / "late.md").write_text("# came late")
        index = waiting.result(30)

    assert "came late" in index
