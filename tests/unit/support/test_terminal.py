"""The test terminal is a real one, and leaves nothing running."""

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.support.processes import Spawned, alive, descendants, wait_until
from tests.support.terminal import Terminal

OpenTerminal = Callable[..., Terminal]


def test_what_is_typed_reaches_the_command_and_its_exit_code_comes_back(terminal: OpenTerminal) -> None:
    code = "import os, sys; print('tty', os.isatty(0)); print('got', input('> ')); sys.exit(7)"
    shell = terminal([sys.executable, "-c", code])

    assert "tty True" in shell.read_until("> ")
    shell.line("你好")

    assert shell.read_until("got 你好")
    assert shell.wait() == 7


def test_ctrl_c_is_a_signal_to_the_command(terminal: OpenTerminal) -> None:
    code = (
        "import signal\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"  # none is lost before sigwait
        "print('up', flush=True)\n"
        "signal.sigwait([signal.SIGINT])\n"
        "print('stopped')\n"
    )
    shell = terminal([sys.executable, "-c", code])

    shell.read_until("up")
    shell.send("\x03")

    assert shell.read_until("stopped")
    assert shell.wait() == 0


def test_the_window_has_the_size_it_was_given_and_tells_when_it_changes(terminal: OpenTerminal) -> None:
    code = (
        "import os, signal\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\n"  # none is lost before sigwait
        "print(os.get_terminal_size(), flush=True)\n"
        "signal.sigwait([signal.SIGWINCH])\n"
        "print(os.get_terminal_size(), flush=True)\n"
    )
    shell = terminal([sys.executable, "-c", code], columns=70, rows=20)

    assert shell.read_until(r"columns=70, lines=20")
    shell.resize(50, 10)

    assert shell.read_until(r"columns=50, lines=10")


def test_a_wait_in_vain_shows_the_screen(terminal: OpenTerminal) -> None:
    shell = terminal([sys.executable, "-c", "print('something else')"])

    with pytest.raises(AssertionError, match="something else"):
        shell.read_until("never", timeout=5)


def test_closing_ends_the_command_and_its_children() -> None:
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'input()']); print('up'); input()"
    with Terminal([sys.executable, "-c", code]) as shell:
        shell.read_until("up")
        wait_until(lambda: len(descendants(shell.pid)) == 1)
        started = [shell.pid, *descendants(shell.pid)]

    wait_until(lambda: not any(alive(pid) for pid in started))


def test_the_registry_ends_what_ignores_a_gentle_end() -> None:
    spawned = Spawned(patience=0.2)
    code = (
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('up', flush=True)\n"
        "time.sleep(60)"
    )
    process = spawned.start([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()

    spawned.close()

    assert process.returncode == -signal.SIGKILL
