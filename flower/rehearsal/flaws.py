"""What keeps a script from being played, as one line in the person's language."""

import re

from flower.core.words import Words


class Flaw(ValueError):
    """One thing that is wrong with a part of a script; as text it is English."""

    def __init__(self, words: Words) -> None:
        self.words = words
        super().__init__(words.en)


class ScriptError(ValueError):
    """A script that can't be played; says which file, which field of it ("" for the whole of it), and why.

    `words` holds the whole sentence in both languages; as text, the error is the Chinese one.
    """

    def __init__(self, source: str, field: str, reason: Words) -> None:
        where = Words(f" 的 {field} 不对", f" is wrong at {field}") if field else Words("", "")
        self.words = Words(
            f"剧本 {source}{where.zh}: {reason.zh}", f"the script {source}{where.en}: {reason.en}"
        )
        super().__init__(self.words.zh)
        self.source = source
        self.field = field
        self.reason = reason


def reason_of(error: Exception, text: str) -> Words:
    """Both languages of what the decoder complained about; ``text`` is its complaint, in English."""
    if isinstance(error.__cause__, Flaw):
        return error.__cause__.words
    for pattern, chinese in _COMPLAINTS:
        if (found := re.search(pattern, text)) is not None:
            return Words(chinese.format(*found.groups()), text)
    return Words(_SYNTAX, text)


def file_reason(error: OSError) -> Words:
    """Why a file can't be read."""
    plain = error.strerror or str(error)
    kinds = {
        FileNotFoundError: "没有这个文件",
        IsADirectoryError: "这是一个目录, 不是文件",
        PermissionError: "没有权限读",
    }
    return Words(kinds.get(type(error), f"读不了 ({plain})"), plain)


_SYNTAX = "语法不对, 读不下去"
# The decoder's own sentences; the first that fits counts.
_COMPLAINTS = (
    (r"missing required field `(.+?)`", "缺少 `{}`"),
    (r"contains unknown field `(.+?)`", "没有 `{}` 这一项"),
    (r"Invalid enum value (.+)$", "不认得 {} 这个值"),
    (r"Expected `(.+?)` of length >= (\d+)", "至少要有 {1} 项"),
    (r"Expected `(.+?)` matching regex (.+)$", "写法要符合 {1}"),
    (r"Expected `(.+?)` (>=|>) (\d[\d.]*)", "要 {1} {2}"),
    (r"Expected `(.+?)`, got `(.+?)`", "要 `{}`, 写的却是 `{}`"),
    (r"\(at line (\d+), column (\d+)\)", "第 {} 行第 {} 列语法不对"),
    (r"\(at end of document\)", "到文件末尾语法还没写完整"),
    (r"\(byte (\d+)\)", "第 {} 字节处语法不对"),
    (r"can't decode byte", "不是 UTF-8 编码"),
)
