"""Which folders are shared with other machines."""

from pathlib import Path

import pytest

from flower.stores.mounts import file_system, is_shared

TABLE = r"""
21 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 21 0:26 / /home rw,relatime shared:1 - nfs4 server:/home rw
31 30 0:27 / /home/u/my\040work rw - virtiofs share rw
32 21 0:28 / /mnt rw - tmpfs tmpfs rw
33 21 0:29 / /mnt rw - fuse.sshfs host:/ rw
nonsense
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/etc", "ext4"),
        ("/homes", "ext4"),
        ("/home/u", "nfs4"),
        ("/home/u/my work/runs", "virtiofs"),
        ("/mnt/x", "fuse.sshfs"),
    ],
)
def test_the_innermost_mount_tells_the_file_system(folder: str, kind: str) -> None:
    assert file_system(Path(folder), TABLE) == kind


def test_a_table_that_tells_nothing_is_no_reason_to_worry() -> None:
    assert file_system(Path("/etc"), "") == ""


def test_a_temporary_folder_is_not_shared(tmp_path: Path) -> None:
    assert not is_shared(tmp_path)
