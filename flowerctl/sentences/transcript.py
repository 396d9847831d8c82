"""What `flower` says of a run itself: its banner, and what its events become on the screen."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SENTENCES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
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
        "verdict_unclear": ("不明确", "unclear"),
        "checks_anew": (
            "判定清单重推好了,共 {count} 条:",
            "the list of checks was made anew, {count} of them:",
        ),
        "sent_back": ("打回去接着做 · 第 {round} 轮", "sent back · round {round}"),
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
        "held_elsewhere": (
            "这一轮被打断了。谁说句话,它就接着跑",
            "this turn was interrupted; anybody's words let it go on",
        ),
        "omitted": ("- 前面还有 {count} 条没显示", "- {count} earlier events are not shown"),
        "rehearsal": ("[排练] ", "[rehearsal] "),
    }
)
