"""What `flower` says around a run: before it, at its prompts and keys, and about the connection."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

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
        "received_loose": (
            "+ 收到 (下个检查点送达;没有确认书可落盘 —— 它可能活不过下一个步骤)",
            "+ received (delivered at the next checkpoint; no brief could take it: it may not outlive this step)",
        ),
        "received_only": ("+ 收到", "+ received"),
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
        "reconnected": ("+ 又连上 flowerd 了", "+ connected to flowerd again"),
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
    }
)
