"""How words become lines behind an icon: wrapped where somebody said them, cut where they only name something."""

from flowerctl.attach.view import View
from flowerctl.output import Line, Style
from flowerctl.sanitize import clean, clean_line
from flowerctl.width import columns, cut, wrap

Lines = tuple[Line, ...]


def said(icon: str, text: str, view: View, style: Style = Style.PLAIN, *, gutter: str = "") -> Lines:
    """``text`` wrapped behind its icon, the next lines under the first."""
    return hung(f"  {gutter}{icon} " if icon else f"  {gutter}", text, view, style, gutter=gutter)


def hung(first: str, text: str, view: View, style: Style = Style.PLAIN, *, gutter: str = "") -> Lines:
    """``text`` wrapped behind ``first``, the next lines below where it began, behind the ``gutter`` if there is one."""
    rest = f"  {gutter}" + " " * (columns(first) - len(gutter) - 2) if gutter else " " * columns(first)
    wrapped = wrap(clean(text).strip("\n"), view.width - columns(first))
    lines = ((rest if i else first) + part for i, part in enumerate(wrapped))
    return tuple(Line(line.rstrip(), style) for line in lines)


def one_line(icon: str, text: str, view: View, style: Style = Style.PLAIN, *, gutter: str = "") -> Lines:
    """``text`` behind its icon, as much of it as one line holds."""
    first = f"  {gutter}{icon} "
    return (Line(first + cut(clean_line(text), view.width - len(first)), style),)
