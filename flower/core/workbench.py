"""The workbench: the folder where what agents make for each other stays, and the index that tells them of it.

Scripts that are worth a second run, output too long for a conversation, and decisions lie in files; a session is
told which there are (`Workbench.prompt_block`), whichever agent made them and however long ago. ``INDEX.md`` says
the same to a person. The index changes with every file, so it goes into a session's first message, never into
the system prompt: that must stay the same for the model's cache to hold.
"""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

from flower.core.description import look_at
from flower.core.durable import locked, private_folder, set_aside, write_atomically
from flower.core.words import Words

logger = logging.getLogger(__name__)

Found = tuple[str, str, int]  # the path as agents are shown it, the description, the bytes

_HEAD = "# 工作台索引\n\n> 自动生成,勿手改。scripts 首行写 `# desc: 一句话` 会出现在这里。"
_RULES = Words(
    """\
# 工作台

`{root}` 是工作台,跨会话留着。动手前先看下面有没有现成的。
- 值得跑第二次的脚本放进 `{scripts}/`,首行写 `# desc: 一句话`。
- 超过 2000 字符的输出写进 `{artifacts}/`,对话里只留路径和结论。
- 关键决定写进 `{notes}/`,一个决定一个文件。""",
    """\
# Workbench

`{root}` is the workbench; it stays from session to session. Before you begin, see below whether something serves.
- A script that is worth a second run goes into `{scripts}/`, with `# desc: one sentence` in its first line.
- Output of more than 2000 characters goes into `{artifacts}/`; the conversation holds its path and the conclusion.
- Decisions that matter go into `{notes}/`, a file each.""",
)
_OUTSIDE = Words(
    "- 工作台在工作目录之外,读写都用绝对路径。",
    "- The workbench is outside of the working folder: use absolute paths to read and write there.",
)
_SCRIPTS = Words("可复用脚本", "Scripts")
_ARTIFACTS = Words("产出", "Products")
_NOTES = Words("决策记录", "Decisions")
_EMPTY = Words("- (空)", "- (none)")
_MORE = Words("- …另有 {count} 个", "- … and {count} more")


class Workbench:
    """The workbench of ``workspace``, at ``home`` if that is given, else at ``workspace/dirname``.

    ``scripts``, ``artifacts`` and ``notes`` are its folders, ``index_path`` its index, ``external`` whether it
    lies outside of the workspace; agents then need leave for its folder. Nothing is made before `ensure`.
    ``max_index_entries`` limits what `prompt_block` lists of each kind. ``notice`` says what could not be
    written, for the person, until somebody takes it.
    """

    def __init__(
        self,
        workspace: Path | str,
        dirname: str = ".flower",
        max_index_entries: int = 40,
        home: Path | str | None = None,
    ) -> None:
        self.workspace = Path(workspace).resolve()
        self.root = Path(home).resolve() if home is not None else (self.workspace / dirname).resolve()
        self.max_index_entries = max_index_entries
        self.external = not self.root.is_relative_to(self.workspace)
        self.scripts = self.root / "scripts"
        self.artifacts = self.root / "artifacts"
        self.notes = self.root / "notes"
        self.index_path = self.root / "INDEX.md"
        self.notice: Words | None = None

    def show(self, path: Path | str) -> str:
        """The path as agents are told it: relative to the workspace inside of it, absolute outside."""
        whole = self.workspace / path
        shown = whole.relative_to(self.workspace) if whole.is_relative_to(self.workspace) else whole
        return _printable(shown.as_posix())

    def holds(self, path: Path | str) -> bool:
        """Whether the path leads into the workbench, over links too."""
        try:
            return Path(os.path.realpath(self.workspace / path)).is_relative_to(self.root)
        except (OSError, ValueError):
            return False

    def ensure(self) -> "Workbench":
        """Make the folders that are missing (0700); returns itself. Raises `OSError`.

        A file that is in the way is set aside, and ``notice`` says so.
        """
        for folder in (self.root, self.scripts, self.artifacts, self.notes):
            if folder.exists() and not folder.is_dir():
                aside = set_aside(folder)
                self.notice = Words(
                    f"{folder} 不是文件夹,挪到了 {aside.name}。",
                    f"{folder} was no folder: moved to {aside.name}.",
                )
            private_folder(folder)
        return self

    def take_notice(self) -> Words | None:
        """``notice``, which is the caller's from now on."""
        notice, self.notice = self.notice, None
        return notice

    def scan(self, folder: Path | str) -> list[Found]:
        """The files in a folder and below, those nearest to it first; no dot-files. Never raises."""
        return self._described(_files(self.workspace / folder))

    def refresh(self) -> str:
        """Rewrite ``INDEX.md`` (0600) as the files are now; returns its text.

        Never raises: a failed write is logged and left in ``notice``. It may wait for a refresh in another
        thread or process, so that the last one to write has seen most.
        """
        try:
            self.ensure()
            with locked(self.index_path):
                text = self._index()
                write_atomically(self.index_path, text.encode())
        except OSError as error:
            logger.warning("could not write %s: %s", self.index_path, error)
            self.notice = Words(
                f"工作台索引写不进 {self.index_path}:{error.strerror}。",
                f"could not write the workbench's index {self.index_path}: {error.strerror}.",
            )
            return self._index()
        return text

    def prompt_block(self, language: str = "zh") -> str:
        """What a session is told in its first message: the rules, and what there is. Never raises."""
        rules = _RULES.spoken(language).format(
            root=self.show(self.root),
            scripts=self.show(self.scripts),
            artifacts=self.show(self.artifacts),
            notes=self.show(self.notes),
        )
        if self.external:
            rules += f"\n{_OUTSIDE.spoken(language)}"
        return "\n\n".join([rules, *self._sections(language, self.max_index_entries)])

    def _index(self) -> str:
        return "\n\n".join([_HEAD, *self._sections("zh")]) + "\n"

    def _sections(self, language: str, limit: int | None = None) -> Iterator[str]:
        kinds = {_SCRIPTS: self.scripts, _ARTIFACTS: self.artifacts, _NOTES: self.notes}
        for title, folder in kinds.items():
            files = _files(folder)
            rows = [_row(*each) for each in self._described(files[:limit])]
            if limit is not None and len(files) > limit:
                rows.append(_MORE.spoken(language).format(count=len(files) - limit))
            yield "\n".join(
                [f"## {title.spoken(language)}({len(files)})", *(rows or [_EMPTY.spoken(language)])]
            )

    def _described(self, paths: list[Path]) -> list[Found]:
        looked = ((path, look_at(path)) for path in paths)
        return [(self.show(path), *seen) for path, seen in looked if seen is not None]


def _row(shown: str, description: str, size: int) -> str:
    said = f" — {description}" if description else ""
    return f"- `{shown}`{said} ({size / 1024:.1f}K)"


def _files(folder: Path) -> list[Path]:
    """The files in a folder and below, those nearest to it first."""
    found: list[Path] = []
    folders = [folder]
    while folders:
        here = [entry for entry in _entries(folders.pop()) if not entry.name.startswith(".")]
        # A linked folder isn't entered: it may lead in circles.
        folders += [Path(entry.path) for entry in here if entry.is_dir(follow_symlinks=False)]
        found += [Path(entry.path) for entry in here if _is_file(entry)]
    return sorted(found, key=lambda path: (len(path.parts), path))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []  # gone, or not to be read: what isn't seen isn't listed


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False  # a link that leads in circles


def _printable(name: str) -> str:
    """A name as one line that can be written: a line end in it, or a byte that is no text, is spelled out."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in name)
