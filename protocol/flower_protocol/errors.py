"""The closed list of errors that cross the wire, with one sentence each for the person, in both languages."""

from types import MappingProxyType
from typing import Final

from flower_protocol.control import Failure

CODES: Final = MappingProxyType(
    {
        "bad-frame": (
            "发来的内容读不懂:{detail}。这条连接已关闭,升级 flower 后再试。",
            "could not read what was sent: {detail}. "
            "The connection was closed; upgrade flower and try again.",
        ),
        "too-large": (
            "一条消息超过了 8 MiB,没有收下。把话说短些,或者把内容放进文件里。",
            "a message was over 8 MiB and was not taken. Say it shorter, or put it into a file.",
        ),
        "client-older": (
            "这个 flower(协议 {client})比 flowerd(协议 {daemon})旧。升级 flower 再来。",
            "this flower (protocol {client}) is older than flowerd (protocol {daemon}). Upgrade flower.",
        ),
        "daemon-older": (
            "flowerd(协议 {daemon})比这个 flower(协议 {client})旧。"
            "跑 `flowerctl daemon restart`,活会接着干。",
            "flowerd (protocol {daemon}) is older than this flower (protocol {client}). "
            "Run `flowerctl daemon restart`; runs go on.",
        ),
        "no-request": (
            '诉求是空的。直接 `flower` 然后按提示输入,或者 flower "帮我做一个 X"。',
            'the request is empty. Run `flower` and type it at the prompt, or flower "make me an X".',
        ),
        "no-credentials": ("{text}", "{text}"),
        "no-cli": ("{text}", "{text}"),
        "no-such-session": (
            "{run_dir} 里没有会话 {session}。检查 --resume 和 -r/--run-dir,会话只在它自己的文件夹里接得上。",
            "there is no session {session} in {run_dir}. Check --resume and -r/--run-dir: "
            "a session goes on only in its own folder.",
        ),
        "session-in-use": (
            "会话 {session} 正被另一个 flower 用着。等它结束再来。",
            "the session {session} is in use by another flower. Come back when that has ended.",
        ),
        "not-as-root": (
            "root 用户不能用 bypassPermissions,Claude Code 不让。换个用户,或者换一种 -p/--permission-mode。",
            "Claude Code refuses bypassPermissions to root. Be another user, or choose another "
            "-p/--permission-mode.",
        ),
        "not-running": (
            "{workspace} 里没有正在跑的活。直接 `flower` 就能接着做。",
            "nothing is running in {workspace}. Run `flower` there to go on.",
        ),
        "already-running": (
            "{workspace} 里已经有一个在跑。先 `flowerctl stop`,或者接上去:`flower`。",
            "a run is already going in {workspace}. `flowerctl stop` it first, or attach with `flower`.",
        ),
        "no-question": (
            "{workspace} 里没有在等回答的问题。",
            "no question is open in {workspace}.",
        ),
        "already-answered": (
            "这个问题已经回答过了:{answer}",
            "this question was answered already: {answer}",
        ),
        "not-waiting": (
            "这个问题已经不等回答了:被跳过了,或者过了时候,由它自己判断。",
            "this question no longer waits: it was skipped, or its time is over, and the agent decides by itself.",
        ),
        "too-many-asides": (
            "旁路提问一次最多 {most} 个。等前面的答完再问。",
            "at most {most} side questions at once. Ask again when one of them is answered.",
        ),
        "already-clarified": (
            "需求已经确认过了,在 {path},--clarify-only 没有可做的。要重新确认就加 --new。",
            "the request is clarified already, in {path}: --clarify-only has nothing to do. "
            "Add --new to do it over.",
        ),
        "no-worktrees": (
            "--isolate 要求 {path} 是 git 仓库(每个 subagent 要分一份 worktree)。"
            "先 git init 并提交一次,或者去掉 --isolate。",
            "--isolate needs {path} to be a git repository (each subagent gets a worktree of its own). "
            "`git init` and commit once, or leave --isolate out.",
        ),
        "bad-value": (
            "{flag} {value} 没有意义,没有启动。",
            "{flag} {value} makes no sense; nothing was started.",
        ),
        "too-small": (
            "{flag} {value} 太小了,至少要 {least},没有启动。",
            "{flag} {value} is too small: at least {least}; nothing was started.",
        ),
        "no-such-folder": (
            "找不到文件夹 {path}。检查 -w/--workspace。",
            "no such folder: {path}. Check -w/--workspace.",
        ),
        "not-writable": (
            "{path} 写不进去:{detail}。换一个 -r/--run-dir,或者修好权限。",
            "cannot write to {path}: {detail}. Choose another -r/--run-dir, or mend the permissions.",
        ),
        "bad-script": (
            "{detail}。检查 --script。",
            "{detail}. Check --script.",
        ),
        "not-available": (
            "{flag} 这一版还不支持,没有启动。去掉它再跑。",
            "{flag} is not supported by this version; nothing was started. Leave it out and run again.",
        ),
        "shutting-down": (
            "flowerd 正在退出。再跑一次 `flower` 就会起一个新的。",
            "flowerd is shutting down. Run `flower` again to start a new one.",
        ),
        "internal": (
            "flowerd 内部出错,细节在日志里(`flowerctl logs`)。",
            "flowerd failed inside; the details are in its log (`flowerctl logs`).",
        ),
    }
)


def sentence(failure: Failure, language: str = "zh") -> str:
    """One line (``no-credentials``: four) that says what is wrong and what to do.

    A code of a newer daemon that this table lacks is shown by itself.
    """
    texts = CODES.get(failure.code)
    if texts is None:
        return failure.code
    template = texts[1] if language == "en" else texts[0]
    return template.format_map(_Given(failure.values))


class _Given(dict[str, str]):
    """A sentence is shown even when the sender left a value out."""

    def __missing__(self, key: str) -> str:
        return "?"
