"""Takes out of foreign text whatever a terminal would obey: only flower's own colours reach the screen.

Model and tool output, names, paths and remarks all pass through `clean` before they are measured or written.
Whole sequences go, not their introducers alone: a colour code without its escape would still litter the line.
"""

import re
from typing import Final

_STRING_END = r"(?:\x07|\x1b\\|\x9c)"
# A string sequence ends on its own line here: an introducer without an end must not eat the text after it.
_STRING_BODY = r"[^\x07\x1b\x9c\n]*"
_SEQUENCE: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*(?:[@-~]|$)"  # CSI; one that the text ends in the middle of, too
    rf"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f]){_STRING_BODY}{_STRING_END}"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"  # the short ones: charset, keypad, reset
)
_NEWLINES: Final = re.compile(r"\r\n|[\u2028\u2029]")
# What is left of C0, DEL and C1 (backspace, bell, carriage return, half a sequence); marks and overrides of
# the writing direction; characters that show nothing and could hide something; halves of surrogate pairs.
_UNSEEN: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"
    r"\u061c\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)
_LONE_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
# Emoji, near enough.
_PICTURE = r"\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_STRAY_JOINER: Final = re.compile(rf"(?<![\ufe0f{_PICTURE}])\u200d|\u200d(?![{_PICTURE}])")
_PLAIN: Final = re.compile(r"[ -~\n]*\Z")


def clean(text: str) -> str:
    """``text`` without control sequences and invisible characters; newlines stay, a tab becomes one space."""
    if _PLAIN.match(text):
        return text
    text = _SEQUENCE.sub("", text)
    text = _NEWLINES.sub("\n", text).replace("\t", " ")
    text = _UNSEEN.sub("", text)
    text = _LONE_SURROGATE.sub("?", text)
    return _STRAY_JOINER.sub("", text)


def clean_line(text: str) -> str:
    """`clean`, on one line: what belongs into a name, a path, a table's cell or a message."""
    return " ".join(clean(text).split())
