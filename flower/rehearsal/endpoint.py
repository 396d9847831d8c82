"""The rehearsal itself: an endpoint on loopback that speaks the Messages API and plays a script."""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import Self

from flower.rehearsal.desk import desk_of
from flower.rehearsal.listener import Listener
from flower.rehearsal.play import Play
from flower.rehearsal.record import Request
from flower.rehearsal.script import Script

log = logging.getLogger(__name__)

# `close` is done within two seconds: one at most for the port, one for the threads of its clients.
_CLOSE_SECONDS = 1.0
# How long `online` tries to get its port back from whoever took it meanwhile.
_REBIND_SECONDS = 5.0


class Rehearsal:
    """Plays `script` at `url` to whoever presents `key`, from `start` to `close`.

    `port` 0 takes a free one; `key` None makes a random one. OSError when the port is taken. The endpoint
    remembers nothing of a conversation, so a new one with the same script goes on where an old one ended.
    """

    def __init__(self, script: Script, *, port: int = 0, key: str | None = None) -> None:
        self.key = key or f"rehearsal-{secrets.token_hex(16)}"
        self._play = Play(script, self.key, self._go_offline_for)
        self._lock = threading.Lock()  # guards the three below
        self._listener: Listener | None = Listener(port, desk_of(self._play))
        self._started = False
        self._closed = False
        self._ending = threading.Event()
        self._port = self._listener.port

    def __repr__(self) -> str:
        return f"Rehearsal({self.url})"  # without the key

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def requests(self) -> list[Request]:
        """The requests for a message so far, the oldest first: the last 2,000 of them, or 32 MiB."""
        return self._play.record.requests()

    def start(self) -> Self:
        """Begins to answer; until then connections are refused. A second start changes nothing."""
        with self._lock:
            if self._listener is not None and not self._started:
                self._listener.start()
                self._started = True
        return self

    def close(self) -> None:
        """Ends everything within two seconds: port, connections, threads. A second close changes nothing."""
        self._ending.set()
        with self._lock:
            listener, self._listener, self._closed = self._listener, None, True
        if listener is not None:
            listener.stop()
            listener.join(_CLOSE_SECONDS)

    def env(self) -> dict[str, str]:
        """What a child's environment needs so that it comes here, with this key, and goes nowhere else."""
        return {
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": self.key,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # Empty counts as unset: another credential or cloud must not win over the two above.
            "ANTHROPIC_AUTH_TOKEN": "",
            "ANTHROPIC_CUSTOM_HEADERS": "",
            "CLAUDE_CODE_OAUTH_TOKEN": "",
            "CLAUDE_CODE_USE_BEDROCK": "",
            "CLAUDE_CODE_USE_VERTEX": "",
            "CLAUDE_CODE_USE_FOUNDRY": "",
            # A proxy of the machine can't reach this loopback.
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        }

    def offline(self) -> None:
        """Refuses connections and drops those that live. Offline already, it changes nothing."""
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.stop()

    def online(self) -> None:
        """Listens again on the same port. OSError when another process took it and keeps it for 5 s."""
        deadline = time.monotonic() + _REBIND_SECONDS
        while not self._try_online(last=time.monotonic() > deadline):
            self._ending.wait(0.1)

    def wait_for(self, predicate: Callable[[Request], bool], timeout: float) -> Request:
        """The first recorded request that satisfies `predicate`; waits for it up to `timeout` seconds.

        A request is recorded before it is answered, so one that waits at a hold is found too. TimeoutError
        says what came instead.
        """
        return self._play.record.wait_for(predicate, timeout)

    def release(self, hold: str) -> None:
        """Lets go the replies that wait at `hold`, and those that come to it later."""
        self._play.holds.release(hold)

    def hold(self, hold: str) -> None:
        """Shuts `hold` again, after a release, for the replies that come from now on."""
        self._play.holds.hold(hold)

    def _go_offline_for(self, seconds: float) -> None:
        self.offline()
        threading.Thread(
            target=self._online_after, args=(seconds,), name=f"rehearsal-{self._port}-offline", daemon=True
        ).start()

    def _online_after(self, seconds: float) -> None:
        self._ending.wait(seconds)
        try:
            self.online()
        except OSError:
            log.exception("the rehearsal could not come back on port %d", self._port)

    def _try_online(self, *, last: bool) -> bool:
        with self._lock:
            if self._closed or self._listener is not None:
                return True
            try:
                listener = Listener(self._port, desk_of(self._play))
                listener.start()
            except OSError:
                if last:
                    raise
                return False
            self._listener = listener
            return True
