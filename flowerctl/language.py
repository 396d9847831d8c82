"""Every sentence of the two commands, in both languages. Chinese unless ``--lang`` or ``FLOWER_LANG`` say en."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

ZH: Final = "zh"
EN: Final = "en"


def chosen(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """The language to speak, known before the arguments are parsed: their errors are said in it too."""
    named = environment.get("FLOWER_LANG", "")
    for position, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument.startswith("--lang="):
            named = argument.removeprefix("--lang=")
        elif argument == "--lang" and position + 1 < len(arguments):
            named = arguments[position + 1]
    return EN if named.lower().startswith(EN) else ZH


class Texts:
    """The sentences of one language: ``texts("goodbye", workspace=…)``. KeyError for one that isn't in the table."""

    def __init__(self, language: str = ZH) -> None:
        self.language = language

    def __call__(self, name: str, /, **values: object) -> str:
        chinese, english = SENTENCES[name]
        return (english if self.language == EN else chinese).format_map(values)


SENTENCES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        # -- before a run
        "ask_new": (
            "要做什么? 一句话就够,回车开始(Ctrl-C 退出)",
            "What shall I do? One sentence is enough, Enter starts it (Ctrl-C leaves)",
        ),
        "ask_wake": (
            "接着上次? 直接回车 = 接着做;也可以说点新的;/new = 重开一件事(Ctrl-C 退出)",
            "Go on from last time? Enter = go on; or say something new; /new = start over (Ctrl-C leaves)",
        ),
        "cancelled": ("已取消", "cancelled"),
        "blank": (
            '诉求是空的。直接 `flower` 然后按提示输入,或者 flower "帮我做一个 X"。',
            'the request is empty. Run `flower` and type it at the prompt, or flower "make me an X".',
        ),
        "reading_stdin": (
            "(在等标准输入给一行诉求;没有就按 Ctrl-C)",
            "(waiting for a request, one line on standard input; Ctrl-C if there is none)",
        ),
        "two_trees": (
            "! -w 指了别的文件夹,但运行记录还是写在当前目录:{run_dir}。想放在一起就加 -r {suggestion}",
            "! -w names another folder, but the run is kept under the current one: {run_dir}. "
            "Add -r {suggestion} to keep them together",
        ),
        "starting_daemon": ("(flowerd 没在跑,正在启动…)", "(flowerd isn't running, starting it…)"),
        "nobody_answers": (
            "! 标准输入不是终端,没人能回答提问。想让它自己判断就加 --timeout 0",
            "! standard input is no terminal, nobody can answer questions. Add --timeout 0 to let it decide by itself",
        ),
        "variable_dropped": (
            "! 环境变量 {name} 不是 UTF-8,没有带给这次运行",
            "! the environment variable {name} isn't UTF-8; the run does not get it",
        ),
        "maybe_started": (
            "没等到 flowerd 的回话就退出了,活可能已经开始。看一眼:flowerctl status",
            "left before flowerd answered; the run may have started. Have a look: flowerctl status",
        ),
        "missed": ("- 你不在的时候({count} 条):", "- while you were away ({count} events):"),
        "missed_cut": (
            "- 你不在的时候({count} 条,只看最后 {shown} 条):",
            "- while you were away ({count} events, the last {shown} of them):",
        ),
        "detached": ("已在后台开始。接上去:{command}", "started in the background. Attach with: {command}"),
        "detached_joined": (
            "这里已经在跑,话已经带到。接上去:{command}",
            "a run was already going here; the words were handed over. Attach with: {command}",
        ),
        "detached_running": (
            "这里已经在跑。接上去:{command}",
            "a run is already going here. Attach with: {command}",
        ),
        # -- flower once
        "once_usage": (
            '要给一句话,例如 flower once "这个项目是做什么的"',
            'words are needed, for example: flower once "what is this project for"',
        ),
        "once_stopped": ("已停下。", "stopped."),
        "once_budget": (
            "${budget} 花完了,停在了这里。",
            "the budget of ${budget} is spent; it stopped here.",
        ),
        "once_died": ("agent 的进程中途没了({reason})。", "the agent's process died ({reason})."),
        "once_go_on": ("接着说:{command}", "go on with: {command}"),
        # -- the banner
        "banner_place": ("<- 在 {place} 接上上次", "<- in {place}, going on from last time"),
        "banner_first": (
            "<- 在 {place} 接上正在跑的这一次",
            "<- in {place}, joining the run that is going on",
        ),
        "banner_brief": ("需求已确认", "brief confirmed"),
        "banner_no_brief": ("需求还没问完", "brief not settled yet"),
        "banner_checks": ("目标 {count} 条", "{count} checks"),
        "banner_context": ("干活上下文 {size}", "work context {size}"),
        "wake_number": ("第 {woke} 次唤醒", "wake {woke}"),
        "step_resumed": ("<- 接上次", "<- going on"),
        # -- the transcript
        "judging": ("第 {round} 轮做完了,交给判定者看", "round {round} is done, the judge looks at it"),
        "verdict": ("第 {round} 轮判定:{conclusion}", "round {round} was judged: {conclusion}"),
        "verdict_achieved": ("达成", "achieved"),
        "verdict_not_yet": ("未达成", "not yet achieved"),
        "verdict_unreachable": ("无法达成", "out of reach"),
        "sent_back": ("打回去接着做 · {name}", "sent back · {name}"),
        "unverifiable": (
            "目标里有 {count}/{total} 条在这个环境里验不了 —— 判定时它们必然过不去,会停下来问你。",
            "{count} of {total} checks of the goal can't be verified here: they can't pass, and you will be asked.",
        ),
        "unverifiable_change": ("现在改 {path} 还来得及:", "There is still time to change {path}:"),
        "handoff_near": (
            "上下文 {context}/{window} · 还有约 {left} 到换代",
            "context {context}/{window} · about {left} left until the handoff",
        ),
        "handoff_writing": (
            "上下文 {context}/{window} —— 写交接准备换代",
            "context {context}/{window} — writing the handoff",
        ),
        "handoff_doing": ("现在在做", "doing"),
        "handoff_decided": ("已定的事", "decided"),
        "handoff_deadends": ("走不通的", "dead ends"),
        "handoff_next": ("下一步", "next"),
        "handoff_degraded": (
            "交接没写成,用了降级版本 —— 接手的人会自己去现场看",
            "the handoff could not be written; a makeshift one is used, and the successor looks for itself",
        ),
        "handoff_written": ("交接写在 {path}", "the handoff is in {path}"),
        "handoff_taken": (
            "新会话接手,上下文从 {context} 重新开始",
            "a new session takes over; the context starts over from {context}",
        ),
        "aside": ("旁路", "aside"),
        "aside_of": ("{who} 问:{text}", "{who} asks: {text}"),
        "aside_cost": ("(${cost},没有打扰正在跑的运行)", "(${cost}, the run was not disturbed)"),
        "aside_failed": ("旁路问答失败:{reason}", "the side question failed: {reason}"),
        "dispatch": ("派人 {role}", "send {role}"),
        "asks_left": ("(还能问 {count} 次)", "({count} more questions allowed)"),
        "ask_timeout": (
            "无人应答 —— 它会自己判断,把假设记进「未知与假设」",
            "nobody answered: it decides itself, and notes what it assumed",
        ),
        "ask_over_budget": ("提问额度用完", "no questions left"),
        "ask_declined": ("已跳过", "skipped"),
        "ask_invalid": ("它问了一个空问题", "it asked an empty question"),
        "level": ("上下文 {context}", "context {context}"),
        "spent": ("累计 ${cost}", "${cost} so far"),
        "retry": (
            "第 {attempt}/{max_retries} 次重试,{delay_s} 秒后({status})",
            "retry {attempt} of {max_retries} in {delay_s} s ({status})",
        ),
        "resumed": ("接着跑", "going on"),
        "turns": ("完成 {count} 轮", "turns done: {count}"),
        "elapsed": ("用时 {time}", "took {time}"),
        "turn_failed": ("这一轮没跑完:{reason}", "this turn did not end well: {reason}"),
        "total": ("总花费 {cost} · 清单 {manifest}", "spent {cost} in all · manifest {manifest}"),
        "run_failed": ("没有跑成:{reason}", "the run did not end well: {reason}"),
        "run_failed_unsaid": ("没有跑成,原因没有记下来", "the run did not end well; no reason was recorded"),
        "stopped-by-human": ("被人停下了", "a person stopped it"),
        "killed-by-signal": ("flowerd 被信号结束了", "flowerd was ended by a signal"),
        "remark_of": ("{who} 说:{text}", "{who} says: {text}"),
        "somebody": ("有人", "somebody"),
        "unheard": (
            "这句话它没来得及听到,下次接着干时会带上:{text}",
            "it did not get to hear this; it is told when it goes on: {text}",
        ),
        "delivered": ("已送达:{text}", "delivered: {text}"),
        "interrupted_elsewhere": ("这一轮被打断了", "this turn was interrupted"),
        "omitted": ("- 前面还有 {count} 条没显示", "- {count} earlier events are not shown"),
        "rehearsal": ("[排练] ", "[rehearsal] "),
        # -- prompts while attached
        "prompt_question": (
            "你的回答 (回车=跳过,让它自己判断) > ",
            "your answer (Enter = skip, let it decide) > ",
        ),
        "prompt_words": (
            "(直接说 = 加需求,下个检查点送达;? 开头 = 顺便问一句,不打扰它干活) > ",
            "(words = a remark; ? first = ask aside, without disturbing it) > ",
        ),
        "prompt_interrupted": ("> ", "> "),
        # -- keys and commands while attached
        "received": (
            "+ 收到 (下个检查点送达;已追加进确认书)",
            "+ received (delivered at the next checkpoint; added to the brief)",
        ),
        "interrupt_now": (
            "! 已打断这一轮。正在跑的 subagent 会丢掉半成品。",
            "! this turn is interrupted. Subagents at work lose what they have not finished.",
        ),
        "interrupt_what": (
            "  要说什么?(直接回车 = 什么都不说,接着跑;再按一次 Ctrl+C = 退出)",
            "  Anything to say? (Enter = nothing, go on; Ctrl+C again = stop and leave)",
        ),
        "interrupt_questions": (
            "  (有 {count} 个提问还等着,打断不影响它们)",
            "  (questions still open: {count}; the interrupt leaves them be)",
        ),
        "interrupt_later": (
            "! 还没接上 flowerd,接上就打断。再按一次 Ctrl+C = 停下并退出",
            "! not connected to flowerd yet; it is interrupted as soon as it is. Ctrl+C again = stop and leave",
        ),
        "interrupt_alone": (
            "! 再按一次 Ctrl+C = 停下这次运行并退出",
            "! Ctrl+C again = stop this run and leave",
        ),
        "going_on": ("+ 接着跑", "+ going on"),
        "stopping": ("! 正在停…", "! stopping…"),
        "stopped": (
            "已停下。下次在这里敲 flower 就接着干。",
            "stopped. `flower` in this folder goes on from here.",
        ),
        "stop_unsure": (
            "没等到确认就退出了,活可能还在跑。看一眼:flowerctl status",
            "left before the stop was confirmed; the run may go on. Have a look: flowerctl status",
        ),
        "left": ("已离开,活还在后台跑。回来:{command}", "left; the run goes on. Come back with: {command}"),
        "no_asides": (
            "! 这个 flowerd 不答旁路提问;这句话没有送给它",
            "! this flowerd takes no side questions; the words were not sent",
        ),
        "aside_nothing_runs": (
            "! 旁路提问要等它跑起来;这句话没有送给它",
            "! side questions are for a run that is going on; the words were not sent",
        ),
        "aside_empty": ("! ? 后面写上要问的", "! write the question behind the ?"),
        "aside_begun": (
            "  (旁路去看了,不打扰它干活)",
            "  (somebody looks into it, without disturbing the run)",
        ),
        "unknown_command": ("! 没有 {word} 这个命令,/help 看有哪些", "! no command {word}; see /help"),
        "not_sent": ("没送出去,原话在这:{text}", "not sent; your words: {text}"),
        "skip_not_taken": ("! 没跳过:{reason}", "! not skipped: {reason}"),
        "not_taken": ("! 没收下({reason})。原话:{text}", "! not taken ({reason}). Your words: {text}"),
        "help": (
            "  一行话 = 加需求 · 有提问时 = 回答(数字选一项,回车跳过)\n"
            "  ? 开头 = 顺便问一句 · Ctrl-C = 打断 · 两次 = 停下并退出\n"
            "  Ctrl-D 或 /detach = 离开,活接着跑 · /new = 重开一件事\n"
            "  /status = 现在怎样 · /stop = 停下 · /help = 这几行",
            "  words = a remark; to a question = the answer (a number picks, Enter skips)\n"
            "  ? first = ask aside; Ctrl-C = interrupt, twice = stop and leave\n"
            "  Ctrl-D or /detach = leave, the run goes on; /new = start over\n"
            "  /status = how it stands, /stop = stop it, /help = these lines",
        ),
        # -- the connection
        "daemon_gone": ("flowerd 没了,正在重新接上…", "flowerd is gone, reconnecting…"),
        "reconnected": ("+ 接上了", "+ connected again"),
        "not_reconnected": (
            "flowerd 没了,也没能重新接上:{reason}。再跑一次 flower 就接着干。",
            "flowerd is gone and could not be reached again: {reason}. `flower` goes on from here.",
        ),
        "daemon_left": (
            "flowerd 退出了,这次停在了这里。再跑一次 flower 就接着干。",
            "flowerd has ended, and the run with it. `flower` goes on from here.",
        ),
        "run_interrupted": (
            "flowerd 中途没了,这次停在了那里,什么都没丢。再跑一次 flower 就接着干。",
            "flowerd died under the run; nothing is lost. `flower` goes on from there.",
        ),
        "fell_behind": ("- 跟丢了一段,从最近的接着看", "- fell behind; going on with the latest"),
        "state_offline": ("断网了,等它回来", "offline, waiting for the network"),
        "state_limited": ("到用量上限了,等到 {until}", "usage limit reached, waiting until {until}"),
        "state_limited_unknown": ("到用量上限了,隔一阵再试", "usage limit reached, trying again later"),
        "state_overloaded": (
            "服务端忙不过来,等它缓一缓",
            "the service is overloaded, waiting for it to recover",
        ),
        "waited": ("{reason} · 已等 {time}", "{reason} · for {time} now"),
        "left_to_wait": ("{reason} · 还有 {time}", "{reason} · {time} left"),
        "login_refused": (
            "凭证被拒了({reason})。重新登录或者换好 key,它就自己接着跑;也可以再敲一次 flower。",
            "the credentials were refused ({reason}). Log in again or give another key: it then goes on by itself, "
            "or when you run `flower`.",
        ),
        # -- flags
        "not_yet": ("flower {word} 这一版还没有。", "flower {word} is not in this version."),
        "verb_not_yet": ("flowerctl {word} 这一版还没有。", "flowerctl {word} is not in this version."),
        "flag_not_yet": (
            "{flag} 这一版还不支持,没有启动。去掉它再跑。",
            "{flag} is not supported by this version; nothing was started. Leave it out and run again.",
        ),
        "flags_useless": (
            "{workspace} 已经在跑,{flags} 不会生效。去掉再来,或者先 flowerctl stop。",
            "a run is going in {workspace}; {flags} would have no effect. Leave out, or `flowerctl stop` first.",
        ),
        "need": ("{flag} {value} 不行:{rule}", "{flag} {value} won't do: {rule}"),
        "rule_path": ("要一个路径,不能是空的", "a path, not an empty one"),
        "rule_positive_whole": ("要 1 以上的整数", "a whole number from 1 on"),
        "rule_asks": ("要 -1(不限)、0(不问)或一个正整数", "-1 (no limit), 0 (none) or a positive number"),
        "rule_seconds": (
            "要 0 以上的秒数(0 = 不等,让它自己判断;inf = 一直等)",
            "seconds from 0 on (0 = don't wait, let it decide; inf = for ever)",
        ),
        "rule_money": ("要大于 0 的金额", "an amount above 0"),
        "rule_session": ("要一个会话 id,不能是空的", "the id of a session, not an empty one"),
        "rule_tool": (
            "要工具的名字,用逗号隔开,例如 Read,Bash",
            "names of tools with commas between them, Read,Bash say",
        ),
        "rule_fork": ("--fork 要和 --resume 一起用", "--fork needs --resume"),
        "rule_together": ("{first} 和 {second} 不能一起用", "{first} and {second} don't go together"),
        "rule_script": ("--script 要和 --rehearse 一起用", "--script needs --rehearse"),
        # -- paths
        "not_a_folder": (
            "{path} 不是文件夹。检查 -w/--workspace。",
            "{path} is no folder. Check -w/--workspace.",
        ),
        "run_dir_not_a_folder": (
            "{path} 不是文件夹。检查 -r/--run-dir。",
            "{path} is no folder. Check -r/--run-dir.",
        ),
        "bad_path": ("路径 {path} 用不了:{reason}", "the path {path} can't be used: {reason}"),
        "no_folder_here": (
            "当前文件夹已经不在了。cd 到别处再来。",
            "the current folder is gone. cd somewhere else first.",
        ),
        # -- failures
        "no_daemon": (
            "flowerd 没在跑。`flower` 或 `flowerctl daemon start` 会启动它。",
            "flowerd isn't running. `flower` or `flowerctl daemon start` starts it.",
        ),
        "unanswered": (
            "flowerd 没有回话({detail})。看日志:{log}",
            "flowerd did not answer ({detail}). See its log: {log}",
        ),
        "cannot_start": (
            "flowerd 起不来({detail})。看日志:{log}",
            "flowerd does not start ({detail}). See its log: {log}",
        ),
        "not_ours": (
            "{path} 是别的用户的,没有连上去。检查 FLOWER_SOCKET 和 XDG_RUNTIME_DIR。",
            "{path} belongs to another user; not connected. Check FLOWER_SOCKET and XDG_RUNTIME_DIR.",
        ),
        "internal": ("出了没料到的错({detail})。", "an unexpected error ({detail})."),
        # -- flowerctl
        "head_workspace": ("文件夹", "FOLDER"),
        "head_state": ("状态", "STATE"),
        "head_woke": ("唤醒", "WOKE"),
        "head_step": ("步骤", "STEP"),
        "head_context": ("上下文", "CONTEXT"),
        "head_cost": ("花费", "COST"),
        "head_since": ("时间", "SINCE"),
        "dormant": ("睡着", "dormant"),
        "running": ("在跑", "running"),
        "asking": ("等你回答", "asking"),
        "offline": ("断网", "offline"),
        "limited": ("到上限", "limited"),
        "login": ("要登录", "login"),
        "state_until": ("{state},等到 {until}", "{state} until {until}"),
        "interrupted": ("中断", "interrupted"),
        "failed": ("失败", "failed"),
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
