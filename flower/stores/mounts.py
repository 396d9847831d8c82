"""Whether a folder lies on a file system that other machines write to."""

import re
from pathlib import Path

# Where a memory-mapped index is not shared by all who open the file: over a network, and between a virtual
# machine and its host (how containers get their folders on macOS and Windows).
_SHARED = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|ncpfs|afs|ceph|glusterfs|lustre|9p|virtiofs|vboxsf|fakeowner|fuse|fuse\..+"
)


def is_shared(folder: Path) -> bool:
    """True if `folder` is known to be shared with other machines; False if it is local, or if nobody says."""
    try:
        table = Path("/proc/self/mountinfo").read_text(errors="replace")
    except OSError:
        return False
    return _SHARED.fullmatch(file_system(folder.resolve(), table)) is not None


def file_system(folder: Path, mountinfo: str) -> str:
    """The type of the file system that `folder`, an absolute path, lies on; "" if the table doesn't tell.

    `mountinfo` is in the format of ``/proc/self/mountinfo``.
    """
    best, kind = -1, ""
    for line in mountinfo.splitlines():
        mount, _, rest = line.partition(" - ")
        fields = mount.split(" ")
        if len(fields) < 5 or not rest:
            continue
        point = Path(_unescaped(fields[4]))
        # Of two on the same point the later one covers the earlier.
        if len(point.parts) >= best and folder.is_relative_to(point):
            best, kind = len(point.parts), rest.split(" ")[0]
    return kind


def _unescaped(path: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), path)
