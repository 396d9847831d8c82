from pathlib import Path
from typing import Any

from flower_protocol.workspaces import State, Wake, WorkspaceStatus
from flowerctl.attach.banner import banner
from flowerctl.language import Texts
from flowerctl.width import columns


def shown(*, state: State = State.DORMANT, woke: int = 2, width: int = 110, **wake: Any) -> list[str]:
    status = WorkspaceStatus(
        workspace="/home/ann/explore/test-ide",
        run_dir="/home/ann/explore/test-ide/runs",
        state=state,
        woke=woke,
    )
    found = Wake(**{"status": status, "used": True, "confirmed": True} | wake)
    return [line.text for line in banner(found, Texts("zh"), Path("/home/ann"), width)]


def test_the_banner_reads_as_promised() -> None:
    assert shown(checks=15, context=80200) == [
        "<- 在 ~/explore/test-ide 接上上次  需求已确认 · 目标 15 条 · 干活上下文 80.2K · 第 3 次唤醒"
    ]


def test_what_is_not_known_is_not_said() -> None:
    assert shown() == ["<- 在 ~/explore/test-ide 接上上次  需求已确认 · 第 3 次唤醒"]


def test_a_request_that_was_not_clarified_to_its_end_is_not_called_confirmed() -> None:
    assert shown(confirmed=False) == ["<- 在 ~/explore/test-ide 接上上次  需求还没问完 · 第 3 次唤醒"]


def test_a_new_folder_has_no_banner() -> None:
    assert shown(used=False) == []


def test_while_it_runs_the_wake_is_the_present_one() -> None:
    assert shown(state=State.ASKING, woke=3)[0].endswith("第 3 次唤醒")


def test_a_first_run_that_is_going_on_claims_no_past() -> None:
    assert shown(state=State.RUNNING, woke=1, used=False) == [
        "<- 在 ~/explore/test-ide 接上正在跑的这一次  第 1 次唤醒"
    ]


def test_a_narrow_window_breaks_the_banner() -> None:
    lines = shown(checks=15, context=80200, width=40)

    assert len(lines) > 1
    assert all(columns(line) <= 40 for line in lines)


def test_a_folder_name_cannot_command_the_terminal() -> None:
    status = WorkspaceStatus(workspace="/w/\x1b[2Jx\ny", run_dir="/r", state=State.DORMANT)

    lines = banner(Wake(status=status, used=True), Texts("zh"), Path("/home/ann"), 110)

    assert lines[0].text.startswith("<- 在 /w/x y 接上上次")
