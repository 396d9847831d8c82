"""A daemon's end of the protocol, played by a test: it says what it is told to, and remembers what it was told."""

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec
from aiohttp import WSMsgType, web

from flower_protocol.codec import decode, decode_from_client, encode
from flower_protocol.control import (
    Accepted,
    Answer,
    Aside,
    At,
    Changed,
    Done,
    Failure,
    Happened,
    Interrupt,
    Resume,
    Say,
    SayTo,
    Seen,
    Stop,
)
from flower_protocol.events import EventRecord
from flower_protocol.handshake import Hello, Snapshot, Welcome
from flower_protocol.runs import RunStarted, StartRun
from flower_protocol.workspaces import DaemonStatus, Question, State, Status, Wake, WorkspaceStatus

T = TypeVar("T")


class PretendDaemon:
    """Serves ``path`` from `open` to `close`; `kill` drops every connection without a word.

    ``objection`` is what it says when asked whether a run could start, ``refusal`` what the next start gets,
    ``accepting`` whether remarks are accepted.
    """

    def __init__(self, path: Path, workspace: Path, *, generation: str = "g1") -> None:
        self.path = path
        self.generation = generation
        self.status = WorkspaceStatus(
            workspace=str(workspace), run_dir=str(workspace / "runs"), state=State.DORMANT
        )
        self.used = False
        self.confirmed = True
        self.context = 0
        self.seen = 0
        self.notices: tuple[str, ...] = ()
        self.events: list[EventRecord] = []
        self.started: list[StartRun] = []
        self.said: list[SayTo] = []
        self.heard: list[Any] = []
        self.objection: Failure | None = None
        self.refusal: Failure | None = None
        self.accepting = True
        self.protocol = 1
        self._answers: dict[str, str] = {}
        self._changed = asyncio.Condition()
        self._sockets: set[web.WebSocketResponse] = set()
        self._runner: web.AppRunner | None = None

    async def open(self) -> Self:
        app = web.Application()
        app.router.add_get("/v1/status", self._get_status)
        app.router.add_get("/v1/wake", self._get_wake)
        app.router.add_post("/v1/check", self._post_check)
        app.router.add_post("/v1/runs", self._post_runs)
        app.router.add_post("/v1/say", self._post_say)
        app.router.add_post("/v1/interrupt", self._post_at)
        app.router.add_post("/v1/stop", self._post_stop)
        app.router.add_get("/v1/attach", self._attach)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.unlink(missing_ok=True)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.UnixSite(self._runner, str(self.path)).start()
        return self

    async def close(self) -> None:
        """Takes leave, as a daemon does that was told to end."""
        for each in list(self._sockets):
            await each.close(code=1001)
        await self._end()

    async def kill(self) -> None:
        """Ends as a killed process does: every connection breaks off."""
        for each in list(self._sockets):
            transport = each._req.transport if each._req is not None else None
            if transport is not None:
                transport.abort()
        await self._end()

    async def _end(self) -> None:
        if self._runner is not None:
            server = self._runner.server
            lines = [each.transport for each in server.connections] if server is not None else []
            await self._runner.cleanup()
            self._runner = None
            for line in lines:
                if line is not None:
                    line.abort()  # a line whose client doesn't read would wait for that before it closes
        await asyncio.sleep(0.01)  # for the transports to notice that they are closed
        self.path.unlink(missing_ok=True)

    # -- what a test makes happen

    async def happen(self, kind: str, text: str = "", /, *, tool: str = "", **payload: Any) -> EventRecord:
        """Adds an event, and sends it to all that are attached."""
        event = EventRecord(
            seq=len(self.events) + 1,
            at=1000.0 + len(self.events),
            kind=kind,
            text=text,
            tool=tool,
            payload=payload,
        )
        async with self._changed:
            self.events.append(event)
            self._changed.notify_all()
        return event

    async def stand(self, **changes: Any) -> None:
        """Changes the status."""
        async with self._changed:
            self.status = msgspec.structs.replace(self.status, **changes)
            self._changed.notify_all()

    async def ask(self, question_id: str, text: str, *options: str) -> None:
        about = {"kind": "question", "id": question_id, "options": list(options), "state": "asked"}
        await self.happen("ask", text, remaining=-1, **about)
        question = Question(id=question_id, text=text, options=options)
        await self.stand(state=State.ASKING, question=question)

    async def end_run(self, outcome: str = "done", **payload: Any) -> None:
        payload = {"outcome": outcome, "cost_usd": 0.5, "step": None, "error": None} | payload
        await self.happen("run_ended", **payload)
        await self.stand(state=State.FAILED if outcome == "failed" else State.DORMANT, question=None)

    # -- the routes

    async def _get_status(self, _: web.Request) -> web.Response:
        daemon = DaemonStatus(pid=1, version="pretend", protocol=1, uptime_s=1.0, rss_bytes=1)
        return _answer(Status(daemon=daemon, workspaces=(self.status,)))

    async def _get_wake(self, request: web.Request) -> web.Response:
        return _answer(
            Wake(
                status=self.status,
                used=self.used,
                confirmed=self.confirmed,
                checks=self.status.checks,
                context=self.context,
                notices=self.notices,
                generation=self.generation,
                last_seq=len(self.events),
                seen=self.seen,
            )
        )

    async def _post_check(self, request: web.Request) -> web.Response:
        decode(await request.read(), StartRun)
        return _answer(Done()) if self.objection is None else _answer(self.objection, 400)

    async def _post_runs(self, request: web.Request) -> web.Response:
        run = decode(await request.read(), StartRun)
        if self.refusal is not None:
            refusal, self.refusal = self.refusal, None
            return _answer(refusal, 501 if refusal.code == "not-available" else 400)
        self.started.append(run)
        seq = len(self.events)
        await self.stand(state=State.RUNNING, woke=self.status.woke + 1)
        await self.happen("run_started", ask=run.ask, rehearse=run.options.rehearse)
        return _answer(RunStarted(generation=self.generation, seq=seq, woke=self.status.woke))

    async def _post_say(self, request: web.Request) -> web.Response:
        self.said.append(decode(await request.read(), SayTo))
        return _answer(Done())

    async def _post_at(self, request: web.Request) -> web.Response:
        self.heard.append(decode(await request.read(), At))
        return _answer(Done())

    async def _post_stop(self, request: web.Request) -> web.Response:
        self.heard.append("stop")
        await self.end_run("stopped")
        return _answer(Done())

    async def _attach(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        hello = decode_from_client((await socket.receive()).data)
        assert isinstance(hello, Hello), "a client says hello first"
        self.heard.append(hello)
        welcome = Welcome(
            protocol=self.protocol,
            version="pretend",
            generation=self.generation,
            status=self.status,
            capabilities=("answer", "aside"),
        )
        await socket.send_bytes(encode(welcome))
        self._sockets.add(socket)
        told = asyncio.create_task(self._tell(socket, hello), name="tell")
        try:
            await self._listen(socket)
        finally:
            self._sockets.discard(socket)
            told.cancel()
            await asyncio.gather(told, return_exceptions=True)
        return socket

    async def _tell(self, socket: web.WebSocketResponse, hello: Hello) -> None:
        at = hello.cursor
        if hello.generation != self.generation or at is None:
            tail = tuple(self.events[-hello.tail :])
            omitted = len(self.events) - len(tail)
            snapshot = Snapshot(
                generation=self.generation, last_seq=len(self.events), events=tail, omitted=omitted
            )
            await socket.send_bytes(encode(snapshot))
            at = len(self.events)
        status = self.status
        while True:
            if at < len(self.events):
                events = tuple(self.events[at : at + 500])
                at += len(events)
                await socket.send_bytes(encode(Happened(events=events)))
            if status is not self.status:
                status = self.status
                await socket.send_bytes(encode(Changed(status=status)))
            async with self._changed:
                if at == len(self.events) and status is self.status:
                    await self._changed.wait()

    async def _listen(self, socket: web.WebSocketResponse) -> None:
        async for frame in socket:
            if frame.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
                return
            message = decode_from_client(frame.data)
            self.heard.append(message)
            match message:
                case Say() if self.accepting:
                    await socket.send_bytes(encode(Accepted(id=message.id, in_brief=True)))
                    await self.happen("remark", message.text, id=message.id, who="someone")
                case Answer():
                    await socket.send_bytes(encode(await self._answered(message)))
                case Aside():
                    await socket.send_bytes(encode(Accepted(id=message.id)))
                case Interrupt():
                    await self.happen("interrupted", who="someone")
                case Resume():
                    await self.happen("resumed")
                case Stop():
                    await self.end_run("stopped", error="stopped-by-human")
                case Seen():
                    self.seen = message.seq
                case _:
                    pass

    async def _answered(self, answer: Answer) -> Accepted | Failure:
        question = self.status.question
        if question is None or question.id != answer.question_id:
            values = {"answer": self._answers.get(answer.question_id, "")}
            return Failure(code="already-answered", values=values, id=answer.question_id)
        self._answers[question.id] = answer.text
        state = "answered" if answer.text else "declined"
        await self.happen(
            "ask", question.text, kind="question", id=question.id, state=state, answer=answer.text
        )
        await self.stand(state=State.RUNNING, question=None)
        return Accepted(id=question.id)


def _answer(record: msgspec.Struct, status: int = 200) -> web.Response:
    return web.Response(body=encode(record), status=status, content_type="application/json")


async def _settled() -> None:
    """Until nothing is under way any more: a connection that was just being accepted has to be closed as well."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        _, late = await asyncio.wait(others, timeout=2)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
    await asyncio.sleep(0.01)  # for their transports to close


class Pretending:
    """A `PretendDaemon` with a thread and a loop of its own, for tests that wait for a terminal meanwhile."""

    def __init__(self, daemon: PretendDaemon) -> None:
        self.daemon = daemon
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="pretend daemon")

    def __enter__(self) -> Self:
        self._thread.start()
        self.do(self.daemon.open())
        return self

    def __exit__(self, *_: object) -> None:
        self.do(self.daemon.close())
        self.do(_settled())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Has the daemon do something, and waits until it is done."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def heard(self, kind: type[T]) -> list[T]:
        return [each for each in self.daemon.heard if isinstance(each, kind)]
