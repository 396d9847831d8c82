"""The names under which store and CLI file a workspace's sessions."""

import os
import re
import unicodedata
from hashlib import sha256
from pathlib import Path

_LONGEST = 200
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def project_key(workspace: Path) -> str:
    """The workspace's real path with everything but ASCII letters and digits made ``-``.

    The same as the SDK's ``project_key_for_directory`` (a test compares them), without its import time. Lossy:
    two folders can share a key, so a key alone identifies nothing; session ids do.
    """
    path = unicodedata.normalize("NFC", os.path.realpath(workspace))
    key = re.sub(r"[^a-zA-Z0-9]", "-", path)
    return key if len(key) <= _LONGEST else f"{key[:_LONGEST]}-{_short_hash(path)}"


def project_directory(workspace: Path) -> str:
    """The name of the folder in which the CLI keeps the workspace's transcripts: one workspace's alone.

    The CLI takes a name of at most 64 letters, digits, ``_`` and ``-``, and ignores any other.
    """
    return f"workspace-{sha256(os.fsencode(os.path.realpath(workspace))).hexdigest()[:16]}"


def _short_hash(path: str) -> str:
    # The SDK's: a 32-bit rolling hash over the characters, its absolute value in base 36.
    value = 0
    for character in path:
        value = (value * 31 + ord(character)) & 0xFFFFFFFF
    value = min(value, (1 << 32) - value) if value >= 1 << 31 else value
    digits = ""
    while True:
        value, digit = divmod(value, 36)
        digits = _DIGITS[digit] + digits
        if value == 0:
            return digits
