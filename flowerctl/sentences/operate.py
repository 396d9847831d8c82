"""What `flowerctl` says: its tables, facts, replies and help."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SENTENCES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "verb_not_yet": ("flowerctl {word} 这一版还没有。", "flowerctl {word} is not in this version."),
        "head_workspace": ("文件夹", "FOLDER"),
        "head_state": ("状态", "STATE"),
        "head_woke": ("唤醒", "WOKE"),
        "head_step": ("步骤", "STEP"),
        "head_context": ("上下文", "CONTEXT"),
        "head_cost": ("花费", "COST"),
        "head_since": ("时间", "SINCE"),
        "no_workspaces": ("还没有跑过 flower 的文件夹。", "no folder has had a flower yet."),
        "daemon_line": (
            "flowerd 在跑 · pid {pid} · 版本 {version} · 开了 {uptime} · {memory}",
            "flowerd is running · pid {pid} · version {version} · up {uptime} · {memory}",
        ),
        "daemon_none": (
            "flowerd 没在跑(下面是文件里记着的)",
            "flowerd isn't running (this is what the files say)",
        ),
        "daemon_down": ("flowerd 没在跑。", "flowerd isn't running."),
        "daemon_stopped": ("flowerd 停了。", "flowerd has stopped."),
        "daemon_still": (
            "flowerd(pid {pid})还没停下来。看日志:{log}",
            "flowerd (pid {pid}) has not stopped yet. See its log: {log}",
        ),
        "no_log": ("还没有日志:{path}", "there is no log yet: {path}"),
        "which_none": ("没有哪个文件夹对得上 {name}。", "no folder matches {name}."),
        "which_many": ("{name} 对上了不止一个:{matches}", "{name} matches more than one: {matches}"),
        "said": ("已带到。", "handed over."),
        "answered": ("已回答。", "answered."),
        "skipped": ("已跳过,由它自己判断。", "skipped: it decides by itself."),
        "waits_for_you": (
            "? {workspace} 在等你回答({since} 起):{question}",
            "? {workspace} waits for you (since {since}): {question}",
        ),
        "interrupt_sent": (
            "已打断。接上去说一句,或者直接回车让它接着跑:{command}",
            "interrupted. Attach and say something, or press Enter to let it go on: {command}",
        ),
        "stop_sent": ("已停下 {workspace}。", "stopped {workspace}."),
        "forgotten": (
            "已从名单里去掉 {workspace};文件一个没动。",
            "{workspace} is off the list; no file was touched.",
        ),
        "question_open": ("它在问:{text}", "it asks: {text}"),
        "blank_words": ("一个字都没有,没什么可带的。", "there are no words to hand over."),
        "say_usage": (
            "用法:flowerctl say [文件夹] 一句话(有空格就加引号)",
            "usage: flowerctl say [WS] WORDS (in quotes if there are spaces)",
        ),
        "answer_usage": (
            "用法:flowerctl answer [文件夹] 一句话(有空格就加引号)",
            "usage: flowerctl answer [WS] WORDS (in quotes if there are spaces)",
        ),
        "fact_workspace": ("文件夹", "folder"),
        "fact_run_dir": ("运行记录", "run dir"),
        "fact_state": ("状态", "state"),
        "fact_question": ("它在问", "it asks"),
        "fact_options": ("可选", "options"),
        "fact_asked": ("提问", "asked"),
        "fact_error": ("出错", "error"),
        "fact_until": ("等到", "until"),
        "fact_woke": ("唤醒", "woke"),
        "fact_step": ("步骤", "step"),
        "fact_round": ("第几轮", "round"),
        "fact_context": ("上下文", "context"),
        "fact_checks": ("目标条数", "checks"),
        "fact_cost": ("总花费", "cost"),
        "fact_session": ("会话", "session"),
        "fact_clients": ("接着的终端", "clients"),
        "fact_started": ("开始", "started"),
        "fact_updated": ("最近", "updated"),
        "help_flowerctl": ("看住 flower 的各个文件夹。", "operate the folders that flower works in."),
        "help_lang": ("界面语言", "language"),
        "help_json": ("打印 JSON", "print JSON"),
        "help_ws": (
            "文件夹,或者它路径里独一份的一截(默认当前文件夹)",
            "a folder, or a unique part of its path (.)",
        ),
        "help_follow": ("接着看", "go on reading"),
        "help_status": ("所有文件夹:状态、步骤、上下文、花费", "every folder: state, step, context, cost"),
        "help_show": ("一个文件夹的全部", "all about one folder"),
        "help_attach": ("接上去", "attach"),
        "help_say": ("带一句话给正在跑的", "a remark for what runs"),
        "help_answer": (
            "回答它的提问(数字选一项,空的就是跳过)",
            "answer its question (a number picks an option, nothing skips it)",
        ),
        "help_interrupt": ("打断这一轮", "interrupt the turn"),
        "help_stop": ("停下运行", "stop the run"),
        "help_forget": ("从名单里去掉(不动文件)", "take it off the list (no file is touched)"),
        "help_daemon": ("flowerd 本身", "flowerd itself"),
        "help_logs": ("flowerd 的日志", "flowerd's log"),
    }
)
