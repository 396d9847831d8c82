"""A document's file: read leniently, written whole or not at all, appended to without touching what stands there."""

from pathlib import Path

from flower.core.documents.sections import has_lines
from flower.core.durable import locked, private_folder, write_atomically


def read_page(path: Path | str) -> str | None:
    """What the file says; None when it isn't there or can't be read. Bytes that are no UTF-8 become ``\\ufffd``."""
    try:
        return _decoded(Path(path).read_bytes())
    except OSError:
        return None


def write_page(path: Path | str, text: str) -> Path:
    """Replace the file, private to the user, and make the folders it needs. Raises `OSError`."""
    path = Path(path)
    private_folder(path.parent)
    write_atomically(path, _encoded(text))
    return path


def append_to_page(path: Path | str, block: str, *, unless: str) -> bool:
    """Add ``block`` below what the file says, byte for byte as it was; False if it has the lines ``unless`` already.

    Two processes that append at once both succeed. A file that is missing is made. Raises `OSError`.
    """
    path = Path(path)
    private_folder(path.parent)
    with locked(path):
        before = path.read_bytes() if path.exists() else b""
        if has_lines(_decoded(before), unless):
            return False
        gap = b"\n" if before and not before.endswith(b"\n") else b""
        write_atomically(path, before + gap + _encoded(block))
    return True


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _encoded(text: str) -> bytes:
    # What was typed in a terminal of another encoding holds lone surrogates, which UTF-8 has no bytes for.
    return text.encode("utf-8", "replace")
