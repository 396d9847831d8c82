"""The socket: whose folder, whose file, who may connect, and when it may be removed."""

import asyncio
import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flower_protocol.paths import lock_path
from flowerd import listener as listener_module
from flowerd.daemon import Daemon
from flowerd.listener import AlreadyServed, Listener, SocketRefused
from flowerd.settings import Settings
from tests.integration.flowerd.conftest import StartDaemon
from tests.integration.flowerd.talk import Talk
from tests.support.processes import eventually


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener_module, "PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(listener_module, "LOOK_SECONDS", 0.05)


@pytest.fixture
def folder() -> Path:
    return Path(os.environ["XDG_RUNTIME_DIR"]) / "flower"


@pytest.fixture
def opened(folder: Path) -> Iterator[Listener]:
    made = _listener(folder)
    made.open()
    yield made
    made.close()


def _listener(folder: Path, **options: int) -> Listener:
    return Listener(folder / "flowerd.sock", folder.parent / "state" / "flowerd.lock", **options)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_folder_socket_and_locks_are_the_users_alone(daemon: Daemon, settings: Settings) -> None:
    assert _mode(settings.socket.parent) == 0o700
    assert _mode(settings.socket) == 0o600
    assert _mode(lock_path(settings.socket)) == _mode(settings.state / "flowerd.lock") == 0o600


async def test_nothing_listens_on_a_tcp_port(daemon: Daemon) -> None:
    import psutil

    inet = [each for each in psutil.Process().net_connections("inet") if each.status == psutil.CONN_LISTEN]

    assert inet == []


async def test_a_socket_that_nobody_listens_on_is_replaced(
    start_daemon: StartDaemon, settings: Settings, talk: Talk
) -> None:
    settings.socket.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(settings.socket))

    await start_daemon()

    assert (await talk.status()).daemon is not None


async def test_a_stale_lock_file_with_anybodys_pid_stops_nobody(
    start_daemon: StartDaemon, settings: Settings, talk: Talk
) -> None:
    settings.socket.parent.mkdir(mode=0o700)
    lock_path(settings.socket).write_text(f"{os.getppid()} {settings.socket}\n")

    await start_daemon()

    assert (await talk.status()).daemon is not None


async def test_a_second_daemon_sees_that_all_is_well(daemon: Daemon, settings: Settings, talk: Talk) -> None:
    with pytest.raises(AlreadyServed):
        await Daemon(settings).start()

    assert (await talk.status()).daemon is not None


def test_a_second_daemon_of_the_same_user_elsewhere_is_told_where_the_first_is(
    opened: Listener, folder: Path
) -> None:
    elsewhere = Listener(folder.parent / "other" / "flowerd.sock", folder.parent / "state" / "flowerd.lock")

    with pytest.raises(SocketRefused) as refused:
        elsewhere.open()

    assert str(opened.path) in str(refused.value) and str(os.getpid()) in str(refused.value)


def test_whoever_comes_while_the_first_is_ending_waits_for_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener_module, "PATIENCE_SECONDS", 10)
    import threading

    first, second = _listener(folder), _listener(folder)
    first.open()
    first.stop_listening()
    ending = threading.Timer(0.2, first.close)
    ending.start()

    second.open()

    assert listener_module.answers(second.path)
    second.close()
    ending.join()


def test_a_daemon_removes_only_the_socket_that_it_bound(folder: Path) -> None:
    first = _listener(folder)
    first.open()
    first.path.rename(folder / "moved")
    with socket.socket(socket.AF_UNIX) as second:
        second.bind(str(first.path))

        first.close()

        assert first.path.exists()


def test_a_daemon_takes_its_socket_with_it(folder: Path) -> None:
    made = _listener(folder)
    made.open()

    made.close()

    assert not made.path.exists()


async def test_a_socket_that_vanishes_is_made_again(daemon: Daemon, settings: Settings, talk: Talk) -> None:
    settings.socket.rename(settings.socket.with_name("moved"))

    await eventually(settings.socket.exists)

    assert (await talk.status()).daemon is not None


async def test_a_folder_that_vanishes_is_made_again_with_its_lock(
    daemon: Daemon, settings: Settings, talk: Talk
) -> None:
    for path in settings.socket.parent.iterdir():
        path.unlink()
    settings.socket.parent.rmdir()

    await eventually(settings.socket.exists)

    assert (await talk.status()).daemon is not None
    with pytest.raises(AlreadyServed):
        await Daemon(settings).start()


async def test_a_daemon_whose_path_is_anothers_now_ends_when_nothing_runs(
    daemon: Daemon, settings: Settings
) -> None:
    settings.socket.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(settings.socket))

        await asyncio.wait_for(daemon.wait_until_asked(), 5)


def _file(path: Path) -> None:
    path.write_text("precious")


def _folder(path: Path) -> None:
    path.mkdir()


def _link(path: Path) -> None:
    path.symlink_to("/nowhere")


@pytest.mark.parametrize(("make", "word"), [(_file, "a file"), (_folder, "a folder"), (_link, "a link")])
def test_a_path_where_something_else_lies_is_refused_and_left_alone(
    folder: Path, make: Callable[[Path], None], word: str
) -> None:
    folder.mkdir(mode=0o700)
    make(folder / "flowerd.sock")
    before = os.lstat(folder / "flowerd.sock")

    with pytest.raises(SocketRefused, match=word):
        _listener(folder).open()

    assert os.path.samestat(before, os.lstat(folder / "flowerd.sock"))


def test_a_folder_that_is_a_link_is_refused(folder: Path, tmp_path: Path) -> None:
    folder.symlink_to(tmp_path)

    with pytest.raises(SocketRefused, match="a link"):
        _listener(folder).open()


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_folder_that_others_may_write_to_is_refused(folder: Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode)

    with pytest.raises(SocketRefused, match="others may write"):
        _listener(folder).open()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    os.chown(folder, 65534, 65534)

    with pytest.raises(SocketRefused, match="belongs to user 65534"):
        _listener(folder).open()


def test_a_path_over_the_platforms_limit_is_refused_not_cut(folder: Path) -> None:
    with pytest.raises(SocketRefused, match="longer than the 103 bytes"):
        _listener(folder / ("x" * 120)).open()


def test_a_folder_that_can_not_be_made_is_named(folder: Path) -> None:
    folder.write_text("in the way")

    with pytest.raises(SocketRefused, match=str(folder)):
        _listener(folder / "deeper").open()


async def test_another_users_connection_is_closed_before_a_byte_is_served(folder: Path) -> None:
    made = _listener(folder, allowed_uid=os.getuid() + 1)
    made.open()
    served: list[object] = []

    def factory() -> asyncio.Protocol:
        served.append(1)
        return asyncio.Protocol()

    serving = asyncio.create_task(made.serve(factory))
    reader, writer = await asyncio.open_unix_connection(str(made.path))

    assert await asyncio.wait_for(reader.read(), 5) == b""
    assert served == []
    writer.close()
    serving.cancel()
    made.close()


async def test_out_of_descriptors_it_waits_and_then_serves_again(
    daemon: Daemon, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    real, failures = loop.sock_accept, [OSError(24, "Too many open files")]

    async def accept(sock: socket.socket) -> tuple[socket.socket, object]:
        found = await real(sock)
        if failures:
            found[0].close()
            raise failures.pop()
        return found

    monkeypatch.setattr(loop, "sock_accept", accept)
    with socket.socket(socket.AF_UNIX) as probe:  # ends the accept that is under way
        probe.connect(str(settings.socket))
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(settings.socket))

    async with Talk(settings.socket) as talk:
        assert (await talk.status()).daemon is not None
    assert failures == []
