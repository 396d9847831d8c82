import time
from pathlib import Path
from typing import Any

from wcwidth import iter_graphemes, width

from flower_protocol.workspaces import Question, State, WorkspaceStatus
from flowerctl.language import Texts
from flowerctl.operate.table import questions, table

NAMES = ["接上上次", "👨‍👩‍👧", "cafe\u0301", "مرحبا", "zero\u200bwidth", "esc\x1b[31mred", "plain"]


def a_workspace(name: str, **changes: Any) -> WorkspaceStatus:
    path = f"/home/ann/{name}"
    return WorkspaceStatus(**{"workspace": path, "run_dir": f"{path}/runs", "state": State.RUNNING} | changes)


def lines(*known: WorkspaceStatus, columns: int = 120, language: str = "zh") -> list[str]:
    return [line.text for line in table(known, Texts(language), Path("/home/ann"), columns)]


def at_column(line: str, column: int) -> str:
    """What stands from a column on, counted as a terminal does."""
    used, position = 0, 0
    for cluster in iter_graphemes(line):
        if used >= column:
            break
        used += width(cluster)
        position += len(cluster)
    return line[position:]


def test_an_open_question_stands_below_with_its_options() -> None:
    asked = Question(id="q1", text="哪个\x1b[31m端口?", options=("8080", "9090"), asked_at=1766502000.0)
    known = [a_workspace("plain"), a_workspace("web", state=State.ASKING, question=asked)]

    told = [line.text for line in questions(known, Texts(), Path("/home/ann"), 120)]

    assert told[0].startswith("? ~/web 在等你回答(") and told[0].endswith(" 起):哪个端口?")
    assert told[1:] == ["   1) 8080", "   2) 9090"]
    assert all(width(line.text) <= 20 for line in questions(known, Texts("en"), Path("/home/ann"), 20))


def test_a_limit_says_until_when_in_both_languages() -> None:
    until = time.mktime((2031, 5, 6, 20, 0, 0, 0, 0, -1))
    limited = a_workspace("proj", state=State.LIMITED, until=until)

    assert "到上限,等到 05-06 20:00" in lines(limited)[1]
    assert "limited until 05-06 20:00" in lines(limited, language="en")[1]
    assert "limited  " in lines(a_workspace("proj", state=State.LIMITED), language="en")[1]


def test_columns_line_up_whatever_a_folder_is_called() -> None:
    head, *rows = lines(*(a_workspace(name) for name in NAMES))

    column = width(head[: head.index("状态")])

    assert all(at_column(row, column).startswith("在跑") for row in rows)


def test_headings_are_chinese_unless_english_is_wanted() -> None:
    assert lines(a_workspace("x"))[0].split() == ["文件夹", "状态", "唤醒", "步骤", "上下文", "花费", "时间"]
    assert lines(a_workspace("x"), language="en")[0].startswith("FOLDER")


def test_a_row_says_where_the_work_stands() -> None:
    row = lines(
        a_workspace("x", step="干活", index=3, total=3, woke=3, context=80200, window=1000000, cost_usd=0.414)
    )[1]

    assert row.split() == ["~/x", "在跑", "3", "干活", "3/3", "80.2K/1000K", "$0.41", "-"]


def test_a_long_path_gives_way_at_its_beginning_and_splits_no_character() -> None:
    family = "👨‍👩‍👧"
    row = lines(a_workspace(family * 40 + "/end"), columns=80)[1]

    assert width(row) <= 80
    shortened = row.split()[0]
    assert shortened.startswith("…") and shortened.endswith("/end")
    assert set(iter_graphemes(shortened[1:-4])) == {family}


def test_nothing_in_a_name_commands_the_terminal() -> None:
    row = lines(a_workspace("a\x1b]0;pwned\x07b\rc", step="s\x1b[2J"))[1]

    assert "\x1b" not in row and "\r" not in row and "pwned" not in row
