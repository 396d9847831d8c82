"""What a person sees: a grid of characters that follows the control sequences a program sends."""

import re
import unicodedata

from wcwidth import wcwidth

_TOKEN = re.compile(
    r"\x1b\[(?P<params>[0-?]*)[ -/]*(?P<final>[@-~])"  # CSI
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles and such, not shown
    r"|\x1b[()*+].|\x1b(?P<escape>[0-Z\\^-~])"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])"
    r"|(?P<text>[^\x00-\x1f\x7f\x1b]+)",
    re.DOTALL,
)
_CONTINUATION = ""  # the second column of a wide character


class Screen:
    """A terminal of `columns` x `rows`; `feed` takes text, `lines` says what stands there now.

    Knows what line-oriented programs and prompt_toolkit send. Colours are dropped: see `Terminal.raw`.
    """

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.columns = columns
        self.rows = rows
        self.row = 0
        self.column = 0
        self.scrollback: list[str] = []
        self.reply = ""  # what the terminal itself would send back: answers to position requests
        self._grid = [self._blank() for _ in range(rows)]
        self._main: list[list[str]] | None = None  # what stands behind the alternate screen
        self._rest = ""

    def feed(self, text: str) -> None:
        """Takes output as it comes; a sequence that is cut in the middle waits for its rest."""
        text = self._rest + text
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                break
            self._take(match)
            position = match.end()
        self._rest = text[position:]

    def resize(self, columns: int, rows: int) -> None:
        """Cuts or pads the grid, as a terminal without reflow does."""
        self._grid = [(line + self._blank())[:columns] + [" "] * (columns - len(line)) for line in self._grid]
        self.columns = columns
        while len(self._grid) > rows:
            self._scroll_off(self._grid.pop(0))
            self.row = max(0, self.row - 1)
        self._grid += [self._blank() for _ in range(rows - len(self._grid))]
        self.rows = rows
        self.column = min(self.column, columns - 1)

    def lines(self) -> list[str]:
        """The rows as they stand, without the blanks at their ends."""
        return ["".join(line).rstrip() for line in self._grid]

    def text(self) -> str:
        """What scrolled off, then what stands, without the empty rows at the bottom."""
        return "\n".join([*self.scrollback, *self.lines()]).rstrip("\n")

    def _take(self, match: re.Match[str]) -> None:
        if match["text"] is not None:
            for character in match["text"]:
                self._put(character)
        elif match["control"] is not None:
            self._control(match["control"])
        elif match["final"] is not None:
            self._sequence(match["params"], match["final"])
        elif match["escape"] == "M":
            self.row = max(0, self.row - 1)

    def _put(self, character: str) -> None:
        width = wcwidth(character)
        if width < 0 or (width == 0 and unicodedata.combining(character) == 0):
            return
        if width == 0:
            column = max(0, min(self.column, self.columns) - 1)
            self._grid[self.row][column] += character
            return
        if self.column + width > self.columns:
            self.column = 0
            self._line_feed()
        self._grid[self.row][self.column] = character
        if width == 2:
            self._grid[self.row][self.column + 1] = _CONTINUATION
        self.column += width

    def _control(self, character: str) -> None:
        if character == "\n":
            self._line_feed()
        elif character == "\r":
            self.column = 0
        elif character == "\b":
            self.column = max(0, min(self.column, self.columns) - 1)
        elif character == "\t":
            self.column = min(self.columns - 1, (self.column // 8 + 1) * 8)

    def _line_feed(self) -> None:
        if self.row < self.rows - 1:
            self.row += 1
            return
        self._scroll_off(self._grid.pop(0))
        self._grid.append(self._blank())

    def _scroll_off(self, line: list[str]) -> None:
        if self._main is None:
            self.scrollback.append("".join(line).rstrip())

    def _sequence(self, params: str, final: str) -> None:
        if params.startswith("?"):
            self._mode(params[1:], final)
            return
        numbers = [int(part) if part.isdigit() else 0 for part in params.split(";")]
        count = max(1, numbers[0])
        if final == "A":
            self.row = max(0, self.row - count)
        elif final in "Be":
            self.row = min(self.rows - 1, self.row + count)
        elif final in "Ca":
            self.column = min(self.columns - 1, self.column + count)
        elif final == "D":
            self.column = max(0, min(self.column, self.columns - 1) - count)
        elif final in "G`":
            self.column = min(self.columns, count) - 1
        elif final == "d":
            self.row = min(self.rows, count) - 1
        elif final in "Hf":
            self.row = min(self.rows, count) - 1
            self.column = min(self.columns, max(1, numbers[1] if len(numbers) > 1 else 1)) - 1
        elif final == "J":
            self._erase_display(numbers[0])
        elif final == "K":
            self._erase_line(numbers[0])
        elif final == "P":
            line = self._grid[self.row]
            del line[self.column : self.column + count]
            line += [" "] * (self.columns - len(line))
        elif final == "@":
            line = self._grid[self.row]
            line[self.column : self.column] = [" "] * count
            del line[self.columns :]
        elif final == "n" and numbers[0] == 6:
            self.reply += f"\x1b[{self.row + 1};{min(self.column, self.columns - 1) + 1}R"

    def _mode(self, params: str, final: str) -> None:
        if params not in ("47", "1047", "1049"):
            return
        if final == "h" and self._main is None:
            self._main = self._grid
            self._grid = [self._blank() for _ in range(self.rows)]
        elif final == "l" and self._main is not None:
            self._grid = self._main
            self._main = None

    def _erase_display(self, how: int) -> None:
        if how == 0:
            self._erase_line(0)
            rows = range(self.row + 1, self.rows)
        elif how == 1:
            self._erase_line(1)
            rows = range(self.row)
        else:
            rows = range(self.rows)
        for row in rows:
            self._grid[row] = self._blank()

    def _erase_line(self, how: int) -> None:
        first = 0 if how in (1, 2) else min(self.column, self.columns)
        last = self.columns if how in (0, 2) else min(self.column + 1, self.columns)
        self._grid[self.row][first:last] = [" "] * (last - first)

    def _blank(self) -> list[str]:
        return [" "] * self.columns
