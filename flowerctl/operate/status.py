"""``flowerctl status``: every workspace, with a daemon or without one."""

from flower_protocol.paths import home
from flower_protocol.workspaces import DaemonStatus
from flowerctl import figures
from flowerctl.hints import OK
from flowerctl.language import Texts
from flowerctl.operate.context import Context
from flowerctl.output import Line, Style


def status(context: Context) -> int:
    found = context.status()
    if context.json:
        context.object(found)
        return OK
    # Only a table has to be measured.
    from flowerctl.operate.table import questions, table
    from flowerctl.output import terminal_columns

    context.lines([Line(_daemon(found.daemon, context.texts), Style.DIM)])
    if found.workspaces:
        own_home = home(context.environment)
        columns = terminal_columns()
        context.lines(table(found.workspaces, context.texts, own_home, columns))
        context.lines(questions(found.workspaces, context.texts, own_home, columns))
    else:
        context.say(context.texts("no_workspaces"))
    return OK


def _daemon(daemon: DaemonStatus | None, texts: Texts) -> str:
    if daemon is None:
        return texts("daemon_none")
    return daemon_line(daemon, texts)


def daemon_line(daemon: DaemonStatus, texts: Texts) -> str:
    """Who the daemon is, in one line."""
    return texts(
        "daemon_line",
        pid=daemon.pid,
        version=daemon.version,
        uptime=figures.duration(daemon.uptime_s),
        memory=f"{daemon.rss_bytes / 1024 / 1024:.0f} MB",
    )
