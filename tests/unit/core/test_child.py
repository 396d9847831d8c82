"""The launcher in the CLI's place: what it hands down, and that nothing below it outlives its owner.

A shell script stands in for the CLI: what is tested is the launcher, a process, with processes.
"""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from flower.core import child
from flower.core.lease import child_of, wait_for_child
from flower.core.tether import place_launcher, tethered
from tests.support.processes import Spawned, alive, wait_until

linux_only = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux gives orphans back to the launcher"
)


class Owned:
    """A launcher under an owner process of its own, which a test may kill."""

    def __init__(self, folder: Path, cli: str, spawned: Spawned, environment: dict[str, str]) -> None:
        self.folder = folder
        self.lock = folder / "session.child"
        script = folder / "cli"
        script.write_text(f"#!/bin/sh\n{textwrap.dedent(cli)}")
        script.chmod(0o700)
        launcher = place_launcher(folder / "launcher")
        # The owner is a Python of its own: the plan names the process that starts the launcher.
        owner = textwrap.dedent(
            """
            import json, os, subprocess, sys
            from pathlib import Path
            from flower.core.tether import tethered
            launcher, cli, lock, names = sys.argv[1:5]
            environment = tethered(json.loads(names), cli=Path(cli), lock=Path(lock))
            done = subprocess.run([launcher, *sys.argv[5:]], env={**os.environ, **environment})
            sys.exit(done.returncode)
            """
        )
        names = json.dumps({"PATH": os.environ["PATH"], "OUT": str(folder), **environment})
        self.process = spawned.start(
            [
                sys.executable,
                "-c",
                owner,
                str(launcher),
                str(script),
                str(self.lock),
                names,
                "one",
                "two words",
            ],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OWNERS_SECRET": "not for children"},
        )

    def pid_in(self, name: str) -> int:
        """The pid that the script wrote into file ``name``."""
        file = self.folder / name
        wait_until(lambda: file.exists() and file.read_text().strip().isdigit(), what=f"{name} to be written")
        return int(file.read_text())


@pytest.fixture
def owned(tmp_path: Path, spawned: Spawned):  # type: ignore[no-untyped-def]
    return lambda cli, **environment: Owned(tmp_path, cli, spawned, environment)


def test_the_child_gets_the_arguments_and_exactly_the_named_environment(owned) -> None:  # type: ignore[no-untyped-def]
    one = owned('printf "%s|" "$@" > $OUT/arguments; env > $OUT/environment', WANTED="yes, spaces too")

    assert one.process.wait(timeout=20) == 0

    assert (one.folder / "arguments").read_text() == "one|two words|"
    lines = (one.folder / "environment").read_text().splitlines()
    names = {line.split("=")[0] for line in lines} - {"PWD", "_", "SHLVL"}  # the shell's own
    assert "WANTED=yes, spaces too" in lines
    assert names == {"PATH", "OUT", "WANTED"}


def test_the_childs_exit_code_is_handed_up(owned) -> None:  # type: ignore[no-untyped-def]
    assert owned("exit 7").process.wait(timeout=20) == 7


def test_the_child_has_a_session_of_its_own_and_no_terminal(owned) -> None:  # type: ignore[no-untyped-def]
    one = owned("ps -o sid= -p $$ > $OUT/session; (echo x > /dev/tty) 2> $OUT/complaint")

    one.process.wait(timeout=20)

    assert int((one.folder / "session").read_text()) != os.getsid(0)
    assert (one.folder / "complaint").read_text() != ""


def test_nothing_below_it_outlives_a_killed_owner(owned) -> None:  # type: ignore[no-untyped-def]
    one = owned(
        """
        sleep 300 & echo $! > $OUT/shell
        (trap '' TERM HUP INT; echo $$ > $OUT/stubborn; exec setsid sleep 300) &
        trap '' TERM
        echo $$ > $OUT/cli.pid
        while :; do sleep 1; done
        """
    )
    pids = [one.pid_in(name) for name in ("cli.pid", "shell")]

    one.process.kill()

    wait_until(lambda: not any(alive(pid) for pid in pids), timeout=10, what="all of it to be gone")
    assert wait_for_child(one.folder, "session", timeout=5)


@linux_only
def test_a_grandchild_that_made_itself_a_daemon_is_found(owned) -> None:  # type: ignore[no-untyped-def]
    one = owned(
        """
        (setsid sh -c 'echo $$ > $OUT/daemon; exec sleep 300' &)
        echo $$ > $OUT/cli.pid
        while :; do sleep 1; done
        """
    )
    daemon, cli = one.pid_in("daemon"), one.pid_in("cli.pid")

    one.process.kill()

    wait_until(lambda: not alive(daemon) and not alive(cli), timeout=10)


def test_an_owner_that_no_descriptor_can_watch_is_looked_at_now_and_then(
    tmp_path: Path, spawned: Spawned
) -> None:
    (tmp_path / "cli").write_text(
        '#!/bin/sh\ntrap "" TERM\necho $$ > $OUT/cli.pid\nwhile :; do sleep 1; done\n'
    )
    (tmp_path / "cli").chmod(0o700)
    launcher = "import sys; from flower.core import child; child.watch_process = lambda pid: []; sys.exit(child.main())"
    owner = (
        "import json, os, subprocess, sys; from pathlib import Path; from flower.core.tether import tethered; "
        "plan = tethered({'OUT': sys.argv[1], 'PATH': os.environ['PATH']}, cli=Path(sys.argv[1], 'cli'), "
        "lock=Path(sys.argv[1], 'lock')); "
        "subprocess.run([sys.executable, '-c', sys.argv[2]], env={**os.environ, **plan})"
    )
    process = spawned.start(
        [sys.executable, "-c", owner, str(tmp_path), launcher],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    wait_until((tmp_path / "cli.pid").exists)
    wait_until(lambda: (tmp_path / "cli.pid").read_text().strip().isdigit())
    cli = int((tmp_path / "cli.pid").read_text())

    process.kill()

    wait_until(lambda: not alive(cli), timeout=10)


def test_the_listing_for_systems_without_proc_names_the_same_parents() -> None:
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        assert (sleeper.pid, os.getpid()) in child.processes_by_ps()
        assert (sleeper.pid, os.getpid()) in child.processes()
    finally:
        sleeper.kill()
        sleeper.wait()


def test_the_child_is_asked_first_so_that_it_can_write_its_last_lines(owned) -> None:  # type: ignore[no-untyped-def]
    one = owned(
        """
        trap 'echo last > $OUT/last; exit 0' TERM
        echo $$ > $OUT/cli.pid
        while :; do sleep 0.1; done
        """
    )
    one.pid_in("cli.pid")

    one.process.kill()

    wait_until(lambda: (one.folder / "last").exists(), timeout=10)


def test_what_a_child_leaves_running_ends_with_it(owned) -> None:  # type: ignore[no-untyped-def]
    one = owned("setsid sleep 300 > /dev/null & echo $! > $OUT/left; exit 0")

    assert one.process.wait(timeout=20) == 0

    left = one.pid_in("left")
    wait_until(lambda: not alive(left), timeout=10)


def test_a_signal_to_the_launcher_ends_all_of_it(owned) -> None:  # type: ignore[no-untyped-def]
    one = owned("trap '' TERM; echo $$ > $OUT/cli.pid; while :; do sleep 1; done")
    cli = one.pid_in("cli.pid")
    launcher = child_of(one.lock)
    assert launcher is not None

    os.kill(launcher, signal.SIGTERM)

    wait_until(lambda: not alive(cli), timeout=10)


@linux_only
def test_the_child_goes_with_a_launcher_that_is_killed_outright(owned) -> None:  # type: ignore[no-untyped-def]
    one = owned("trap '' TERM; echo $$ > $OUT/cli.pid; while :; do sleep 1; done")
    cli = one.pid_in("cli.pid")
    launcher = child_of(one.lock)
    assert launcher is not None

    os.kill(launcher, signal.SIGKILL)

    wait_until(lambda: not alive(cli), timeout=10)


def test_a_launcher_whose_owner_is_gone_starts_nothing(tmp_path: Path) -> None:
    launcher = place_launcher(tmp_path)
    script = tmp_path / "cli"
    script.write_text("#!/bin/sh\ntouch $OUT/started\n")
    script.chmod(0o700)
    environment = tethered({"OUT": str(tmp_path)}, cli=script, lock=tmp_path / "lock")
    plan = json.loads(environment["FLOWER_TETHER"]) | {"owner": 1}

    done = subprocess.run([launcher], env={**environment, "FLOWER_TETHER": json.dumps(plan)}, timeout=20)

    assert done.returncode != 0
    assert not (tmp_path / "started").exists()


def test_the_lock_is_held_for_as_long_as_the_child_lives(owned) -> None:  # type: ignore[no-untyped-def]
    one = owned("mkfifo $OUT/fifo; echo $$ > $OUT/cli.pid; read line < $OUT/fifo")
    one.pid_in("cli.pid")

    assert not wait_for_child(one.folder, "session", timeout=0.2)
    (one.folder / "fifo").write_text("\n")
    one.process.wait(timeout=20)

    assert wait_for_child(one.folder, "session", timeout=5)
