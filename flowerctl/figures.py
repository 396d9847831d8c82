"""Numbers as they are shown: tokens, money, time."""

import time


def tokens(count: int) -> str:
    """``80.2K``."""
    return f"{count / 1000:.1f}K"


def window(count: int) -> str:
    """``200K``, ``1000K``: a window is a round number."""
    return f"{round(count / 1000)}K"


def dollars(amount: float, *, precise: bool = False) -> str:
    """``0.94``, for a line in passing; ``precise`` gives ``0.9412``, where every cent is somebody's question."""
    return f"{amount:.{4 if precise else 2}f}"


def total_dollars(amount: float) -> str:
    """``$1.2345``; ``$0`` when nothing was spent."""
    return f"${amount:.4f}" if amount > 0 else "$0"


def duration(seconds: float) -> str:
    """``6:02``, ``10:26:11``."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def clock(epoch: float) -> str:
    """Local time: ``14:05`` today, ``03-09 14:05`` otherwise."""
    moment, now = time.localtime(epoch), time.localtime()
    return time.strftime("%H:%M" if moment[:3] == now[:3] else "%m-%d %H:%M", moment)
