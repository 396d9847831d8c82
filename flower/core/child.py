"""The launcher that stands in the CLI's place: tether, own session, exact environment. A script, not a module.

It runs as ``python -I -S child.py ARGUMENTS…`` and imports nothing of flower, for it is started once a step and
should cost little. It starts the CLI with the same arguments and standard streams, and stays beside it:

- The CLI gets a session of its own, so it has no controlling terminal, nor does anything it starts.
- It gets exactly the environment that the plan names, though the SDK hands down its own process's as well.
- It is told of MCP servers through a pipe: their tokens would show in the process list if they were arguments, and
  in every command that an agent runs if they were in the environment.
- When the owner dies, however it dies, everything below this process is ended: SIGTERM for the CLI (it stops its
  shell commands and writes what it still has to write), then SIGKILL for all that is left. Nothing below it can
  call the model after that. The same happens on SIGTERM to this process, and when the CLI has ended and left
  something running.
- For as long as anything of it lives it holds the lock of its session, so a successor can wait for the end.

On Linux the owner is watched through a pidfd, which is bound to the process; the parent-death signal is bound to the
thread that forked, and an owner that started the child from a thread that ends would kill it by mistake. This
process is a subreaper: whatever below it is orphaned comes back to it and is found. On macOS the owner is watched
through kqueue, and the processes below are found by their parents' ids; one that has made itself an orphan on
purpose (a daemon) is not found there.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time

PLAN = "FLOWER_TETHER"
SERVERS = "FLOWER_MCP_SERVERS"
KEPT: list[object] = []  # a kqueue closes its descriptor when it is collected
GRACE_SECONDS = 3.0  # the CLI ends its shell commands and flushes its transcript within one second as a rule
KILL_SECONDS = 3.0
WATCH_SECONDS = 0.5  # only where the owner can't be watched by a descriptor
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    plan = json.loads(os.environ.pop(PLAN))
    servers = os.environ.pop(SERVERS, "")
    environment = {name: os.environ[name] for name in plan["keep"] if name in os.environ}
    wakeup = wake_on_signals()
    hold_lock(plan["lock"])
    os.setsid()
    owner = Owner(plan["owner"])
    if owner.gone():
        return 1
    if sys.platform == "linux":
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    cli = start(plan["cli"], sys.argv[1:], environment, servers)
    release_streams()
    return watch(cli, owner, wakeup)


class Owner:
    """The process that started this one, watched by a descriptor where there is one, else by a look now and then."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.descriptors = watch_process(pid)
        self.timeout = None if self.descriptors else WATCH_SECONDS

    def gone(self) -> bool:
        return os.getppid() != self.pid


def watch(cli: int, owner: Owner, wakeup: int) -> int:
    """Wait until the CLI has ended, or has to; returns its exit code."""
    code = None
    ordered = False
    while code is None and not ordered:
        readable, _, _ = select.select([*owner.descriptors, wakeup], [], [], owner.timeout)
        ordered = owner.gone()
        if wakeup in readable:
            ordered = ordered or any(number != signal.SIGCHLD for number in os.read(wakeup, 512))
        code = reap(cli, code)
    if code is None:
        code = end(cli)
    kill_rest()
    return code


def end(cli: int) -> int:
    """SIGTERM, and a moment to write the last lines; returns the exit code if it took the hint."""
    code = None
    kill(cli, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while code is None and time.monotonic() < deadline:
        time.sleep(0.02)
        code = reap(cli, code)
    return 128 + signal.SIGKILL if code is None else code


def kill_rest() -> None:
    """SIGKILL for everything below this process, until there is nothing below it."""
    deadline = time.monotonic() + KILL_SECONDS
    below = descendants()
    while below and time.monotonic() < deadline:
        for pid in below:
            kill(pid, signal.SIGKILL)
        reap(0, None)
        time.sleep(0.01)
        below = descendants()


def reap(cli: int, code: int | None) -> int | None:
    """Take the exit statuses of all that has ended; returns the CLI's code if it was among them, else ``code``."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == cli:
            code = os.waitstatus_to_exitcode(status)
            code = 128 - code if code < 0 else code


def start(path: str, arguments: list[str], environment: dict[str, str], servers: str) -> int:
    """Fork and become the CLI, which reads ``servers``, if there are any; returns its pid."""
    here = os.getpid()
    pipe = os.pipe() if servers else None
    pid = os.fork()
    if pid:
        if pipe is not None:
            hand_over(servers.encode(), *pipe)
        return pid
    try:
        if pipe is not None:
            os.set_inheritable(pipe[0], True)
            arguments = [*arguments, "--mcp-config", f"/dev/fd/{pipe[0]}"]
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        if sys.platform == "linux":
            # Should this launcher be killed outright, the CLI goes with it.
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != here:
                os._exit(1)
        os.execve(path, [path, *arguments], environment)
    except OSError as error:
        os.write(2, f"flower: {path}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def hand_over(content: bytes, reader: int, writer: int) -> None:
    """Write into a pipe that the CLI reads when it comes up: longer than until then it can't be full."""
    os.close(reader)
    # A CLI that could not be started reads nothing.
    with contextlib.suppress(BrokenPipeError), os.fdopen(writer, "wb") as file:
        file.write(content)


def wake_on_signals() -> int:
    """A descriptor that becomes readable, with the number as a byte, on each signal that matters here."""
    reader, writer = nonblocking_pipe()
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return reader


def nonblocking_pipe() -> tuple[int, int]:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    return reader, writer


def watch_process(pid: int) -> list[int]:
    """A descriptor that becomes readable when process ``pid`` ends, in a list; an empty one where none can be had."""
    try:
        if sys.platform == "linux":
            return [os.pidfd_open(pid)]
        queue = select.kqueue()
        ends = select.kevent(pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT)
        queue.control([ends], 0)
        KEPT.append(queue)
        return [queue.fileno()]
    except OSError:
        return []


def descendants() -> list[int]:
    """The pids of every living process below this one; a zombie is dead."""
    children: dict[int, list[int]] = {}
    for pid, parent in processes():
        children.setdefault(parent, []).append(pid)
    below, level = [], [os.getpid()]
    while level:
        level = [pid for parent in level for pid in children.get(parent, ())]
        below += level
    return below


def processes() -> list[tuple[int, int]]:
    """Each living process with its parent."""
    if sys.platform != "linux":
        return processes_by_ps()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # The command's name may hold anything, parentheses too: the fields go on after the last one.
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        if state not in (b"Z", b"X"):
            found.append((int(name), int(parent)))
    return found


def processes_by_ps() -> list[tuple[int, int]]:
    import subprocess

    listing = subprocess.run(["/bin/ps", "-axo", "pid=,ppid=,stat="], stdout=subprocess.PIPE, check=False)
    found = []
    for line in listing.stdout.decode("ascii", "replace").splitlines():
        pid, parent, state = line.split(None, 2)
        # The listing itself was a child of this process, and is gone by now.
        if not state.startswith("Z") and is_alive(int(pid)):
            found.append((int(pid), int(parent)))
    return found


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def hold_lock(path: str) -> None:
    """Lock the session's file until this process ends, and say in it who does.

    What can't be locked must not stop the work.
    """
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.truncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())


def release_streams() -> None:
    """The streams are the CLI's: when it closes them, nobody else may keep them open."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def kill(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(option, int(value), 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
