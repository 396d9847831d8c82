"""The endpoint over real sockets: who may ask, what comes back, what goes wrong on purpose, and its end."""

import http.client
import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from flower.rehearsal import Call, Fault, Rehearsal, Scene, Script, Turn

BASH = Call(tool="Bash", input={"command": "true"})


def one_turn(**turn: Any) -> Script:
    return Script(scenes=[Scene(name="job", turns=[Turn(text="the answer", **turn)])])


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def request_body(**more: Any) -> dict[str, Any]:
    return {
        "model": "claude-opus-5-5",
        "max_tokens": 1000,
        "tools": [{"name": "Bash", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "go"}],
        **more,
    }


def connection(rehearsal: Rehearsal, timeout: float = 10) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", urlsplit(rehearsal.url).port or 0, timeout=timeout)


def send(
    rehearsal: Rehearsal,
    body: object = None,
    *,
    method: str = "POST",
    path: str = "/v1/messages?beta=true",
    headers: dict[str, str] | None = None,
) -> Answer:
    payload = body if isinstance(body, bytes) else json.dumps(body or request_body()).encode()
    with closing(connection(rehearsal)) as asking:
        asking.request(method, path, payload, {"x-api-key": rehearsal.key} if headers is None else headers)
        response = asking.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())


def refuses(rehearsal: Rehearsal) -> bool:
    try:
        send(rehearsal)
    except ConnectionRefusedError:
        return True
    return False


def eventually(condition: Callable[[], bool], timeout: float = 10) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


def threads_of(rehearsal: Rehearsal) -> list[threading.Thread]:
    port = str(urlsplit(rehearsal.url).port)
    return [thread for thread in threading.enumerate() if thread.name.startswith(f"rehearsal-{port}-")]


# ---------------------------------------------------------------- who may ask


def test_the_key_is_taken_from_either_header() -> None:
    with Rehearsal(one_turn()) as rehearsal:
        assert send(rehearsal, headers={"x-api-key": rehearsal.key}).status == 200
        assert send(rehearsal, headers={"Authorization": f"Bearer {rehearsal.key}"}).status == 200


@pytest.mark.parametrize("headers", [{}, {"x-api-key": "another"}, {"Authorization": "Bearer another"}])
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/messages"), ("POST", "/v1/messages/count_tokens"), ("GET", "/"), ("GET", "/v1/models")],
)
def test_without_the_key_nothing_is_said(method: str, path: str, headers: dict[str, str]) -> None:
    with Rehearsal(one_turn()) as rehearsal:
        answer = send(rehearsal, method=method, path=path, headers=headers)

    assert answer.status == 401
    assert answer.json["error"] == {"type": "authentication_error", "message": "invalid x-api-key"}
    assert rehearsal.requests == []


def test_each_rehearsal_has_a_key_of_its_own_unless_one_is_given() -> None:
    one, other, given = Rehearsal(one_turn()), Rehearsal(one_turn()), Rehearsal(one_turn(), key="mine")
    for rehearsal in (one, other, given):
        rehearsal.close()

    assert one.key != other.key
    assert given.key == "mine"
    assert one.key not in repr(one)


def test_a_child_gets_all_it_needs_and_no_other_credential() -> None:
    with Rehearsal(one_turn()) as rehearsal:
        env = rehearsal.env()

    assert (env["ANTHROPIC_BASE_URL"], env["ANTHROPIC_API_KEY"]) == (rehearsal.url, rehearsal.key)
    assert env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"
    assert env["ANTHROPIC_AUTH_TOKEN"] == env["CLAUDE_CODE_OAUTH_TOKEN"] == ""
    assert "127.0.0.1" in env["NO_PROXY"]


# ---------------------------------------------------------------- what comes back


def test_a_message_comes_whole_when_no_stream_is_asked_for() -> None:
    with Rehearsal(one_turn(calls=[BASH])) as rehearsal:
        answer = send(rehearsal)

    message = answer.json
    assert answer.headers["content-type"] == "application/json"
    assert (message["role"], message["model"], message["stop_reason"]) == (
        "assistant",
        "claude-opus-5-5",
        "tool_use",
    )
    assert [block["type"] for block in message["content"]] == ["text", "tool_use"]


def test_a_message_comes_as_events_when_a_stream_is_asked_for() -> None:
    with Rehearsal(one_turn()) as rehearsal:
        answer = send(rehearsal, request_body(stream=True))

    lines = answer.body.decode().splitlines()
    said = "".join(
        json.loads(line.removeprefix("data: "))["delta"]["text"] for line in lines if '"text_delta"' in line
    )
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert said == "the answer"
    assert lines[-2] == 'data: {"type": "message_stop"}'


def test_one_connection_serves_many_requests() -> None:
    with Rehearsal(one_turn()) as rehearsal, closing(connection(rehearsal)) as asking:
        for stream in (True, False, True):
            body = json.dumps(request_body(stream=stream))
            asking.request("POST", "/v1/messages", body, {"x-api-key": rehearsal.key})
            assert asking.getresponse().read()
        assert len(rehearsal.requests) == 3
        assert len(threads_of(rehearsal)) == 2


def test_tokens_are_counted_roughly() -> None:
    with Rehearsal(one_turn()) as rehearsal:
        answer = send(rehearsal, path="/v1/messages/count_tokens?beta=true")

    assert answer.status == 200
    assert 10 < answer.json["input_tokens"] < 1000
    assert rehearsal.requests == []


def test_probes_are_answered() -> None:
    with Rehearsal(one_turn()) as rehearsal:
        head = send(rehearsal, method="HEAD", path="/")
        models = send(rehearsal, method="GET", path="/v1/models")

        assert (head.status, head.body) == (200, b"")
        assert (models.status, models.json["data"]) == (200, [])
        assert send(rehearsal, method="GET", path="/nothing").status == 404
        assert send(rehearsal, path="/v1/complete").status == 404


@pytest.mark.parametrize(
    "body", [b"no json", b"[]", b'{"model": "m"}', b'{"messages": []}', b'{"model": "m", "messages": "hi"}']
)
def test_a_request_that_makes_no_sense_is_refused_as_the_api_would(body: bytes) -> None:
    with Rehearsal(one_turn()) as rehearsal:
        answer = send(rehearsal, body)

    assert (answer.status, answer.json["type"]) == (400, "error")
    assert answer.json["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    "messages",
    [
        [None],
        ["text"],
        [{"role": "user"}],
        [{"role": "user", "content": None}],
        [{"role": "user", "content": [None, 3, {"type": "text"}, {"type": "tool_result", "content": None}]}],
        [{"role": "assistant", "content": [{"type": "tool_use"}, {"type": "text", "text": None}]}],
        [{"role": "system", "content": [{"type": "text", "text": "<task-notification>"}]}],
    ],
)
def test_messages_of_unknown_shape_are_skipped(messages: list[Any]) -> None:
    with Rehearsal(one_turn()) as rehearsal:
        assert send(rehearsal, request_body(messages=messages)).status == 200


def test_a_turn_takes_its_time() -> None:
    with Rehearsal(one_turn(takes=0.3)) as rehearsal:
        for stream in (True, False):
            begun = time.monotonic()
            send(rehearsal, request_body(stream=stream))
            assert time.monotonic() - begun >= 0.3


# ---------------------------------------------------------------- the record


def test_what_was_asked_can_be_looked_up() -> None:
    with Rehearsal(one_turn()) as rehearsal:
        before = time.time()
        send(rehearsal, request_body(system=[{"type": "text", "text": "be brief"}]))
        send(rehearsal, request_body(tools=[], stream=True))

        first, second = rehearsal.requests

    assert (first.number, first.role, first.scene, first.turn, first.status) == (1, "main", "job", 0, 200)
    assert (first.system, first.prompt, first.tools, first.stream) == ("be brief", "go", ("Bash",), False)
    assert first.messages == [{"role": "user", "content": "go"}]
    assert before <= first.at <= second.at <= time.time()
    assert (second.number, second.role, second.stream) == (2, "side", True)


def test_the_record_forgets_the_oldest_before_it_grows_too_large() -> None:
    large = request_body(messages=[{"role": "user", "content": "x" * 6_000_000}])
    with Rehearsal(one_turn()) as rehearsal:
        for _ in range(8):
            send(rehearsal, large)

        assert [request.number for request in rehearsal.requests] == [4, 5, 6, 7, 8]


def test_waiting_for_a_request_that_does_not_come_says_what_came() -> None:
    with Rehearsal(one_turn()) as rehearsal:
        send(rehearsal)

        with pytest.raises(TimeoutError, match="main/job/0"):
            rehearsal.wait_for(lambda request: request.number == 2, timeout=0.05)


# ---------------------------------------------------------------- holds


def test_a_reply_that_is_held_waits_until_it_is_released() -> None:
    with Rehearsal(one_turn(hold="gate")) as rehearsal, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(send, rehearsal)
        rehearsal.wait_for(lambda request: request.scene == "job", timeout=10)
        assert not asked.done()

        rehearsal.release("gate")

        assert asked.result(10).status == 200
        assert send(rehearsal).status == 200


def test_a_hold_can_be_shut_again() -> None:
    with Rehearsal(one_turn(hold="gate")) as rehearsal, ThreadPoolExecutor(1) as pool:
        rehearsal.release("gate")
        send(rehearsal)
        rehearsal.hold("gate")
        asked = pool.submit(send, rehearsal)
        rehearsal.wait_for(lambda request: request.number == 2, timeout=10)
        assert not asked.done()

        rehearsal.release("gate")
        assert asked.result(10).status == 200


@pytest.mark.parametrize("slow", [{"hold": "gate"}, {"takes": 60.0}])
def test_a_reply_whose_client_has_left_ends(slow: dict[str, Any]) -> None:
    with Rehearsal(one_turn(**slow)) as rehearsal:
        asking = connection(rehearsal)
        asking.request("POST", "/v1/messages", json.dumps(request_body()), {"x-api-key": rehearsal.key})
        rehearsal.wait_for(lambda request: True, timeout=10)
        assert len(threads_of(rehearsal)) == 2

        asking.close()

        eventually(lambda: len(threads_of(rehearsal)) == 1, timeout=5)


# ---------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ],
)
def test_an_error_comes_in_the_words_of_the_api_and_then_the_answer(status: Any, kind: str) -> None:
    with Rehearsal(one_turn(faults=[Fault(status=status)])) as rehearsal:
        error = send(rehearsal, request_body(stream=True))
        answer = send(rehearsal)

    assert (error.status, error.json["type"], error.json["error"]["type"]) == (status, "error", kind)
    assert error.json["error"]["message"]
    assert error.headers["request-id"]
    assert (answer.status, [request.status for request in rehearsal.requests]) == (200, [status, 200])


def test_an_error_may_have_its_own_words_and_headers() -> None:
    fault = Fault(status=429, message="slow down", retry_after="7", headers={"x-limit": "soon"})
    with Rehearsal(one_turn(faults=[fault])) as rehearsal:
        answer = send(rehearsal)

    assert answer.json["error"]["message"] == "slow down"
    assert (answer.headers["retry-after"], answer.headers["x-limit"]) == ("7", "soon")


@pytest.mark.parametrize(
    ("status", "retried"), [(401, "false"), (404, "false"), (429, "true"), (529, "true")]
)
def test_an_error_says_whether_to_try_again_unless_it_comes_from_a_gateway(status: Any, retried: str) -> None:
    gateway = {"X-Should-Retry": ""}
    with Rehearsal(
        one_turn(faults=[Fault(status=status), Fault(status=status, headers=gateway)])
    ) as rehearsal:
        of_the_api, of_a_gateway = send(rehearsal), send(rehearsal)

    assert of_the_api.headers["x-should-retry"] == retried
    assert "x-should-retry" not in of_a_gateway.headers


def test_faults_come_one_after_the_other_each_as_often_as_it_says() -> None:
    faults = [Fault(status=529, times=2), Fault(status=500)]
    with Rehearsal(one_turn(faults=faults)) as rehearsal:
        assert [send(rehearsal).status for _ in range(5)] == [529, 529, 500, 200, 200]


def test_a_fault_for_ever_never_ends() -> None:
    with Rehearsal(one_turn(faults=[Fault(status=401, forever=True)])) as rehearsal:
        assert {send(rehearsal).status for _ in range(5)} == {401}


def test_a_connection_is_dropped_before_anything_is_sent() -> None:
    with Rehearsal(one_turn(faults=[Fault(drop="before")])) as rehearsal:
        with pytest.raises(http.client.RemoteDisconnected):
            send(rehearsal)

        assert send(rehearsal).status == 200
        assert [request.status for request in rehearsal.requests] == [0, 200]


@pytest.mark.parametrize("stream", [True, False])
def test_a_connection_is_dropped_in_the_middle(stream: bool) -> None:
    with Rehearsal(one_turn(faults=[Fault(drop="middle")])) as rehearsal:
        with pytest.raises(http.client.IncompleteRead) as cut:
            send(rehearsal, request_body(stream=stream))

        assert cut.value.partial
        assert b"message_stop" not in cut.value.partial
        assert send(rehearsal, request_body(stream=stream)).status == 200


def test_the_port_goes_away_for_a_while() -> None:
    with Rehearsal(one_turn(faults=[Fault(offline_seconds=0.5)])) as rehearsal:
        begun = time.monotonic()
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            send(rehearsal)
        assert refuses(rehearsal)

        eventually(lambda: not refuses(rehearsal))
        assert time.monotonic() - begun >= 0.5


# ---------------------------------------------------------------- offline, online, the end


def test_before_the_start_connections_are_refused() -> None:
    rehearsal = Rehearsal(one_turn())
    try:
        assert refuses(rehearsal)
        assert send(rehearsal.start()).status == 200
    finally:
        rehearsal.close()


def test_offline_refuses_and_online_listens_on_the_same_port_again() -> None:
    with Rehearsal(one_turn()) as rehearsal:
        url = rehearsal.url
        for _ in range(3):
            assert send(rehearsal).status == 200
            rehearsal.offline()
            rehearsal.offline()
            assert refuses(rehearsal)
            rehearsal.online()
            rehearsal.online()
        assert send(rehearsal).status == 200

    assert rehearsal.url == url


@pytest.mark.parametrize("slow", [{"hold": "gate"}, {"takes": 60.0}])
def test_offline_drops_the_connections_that_live(slow: dict[str, Any]) -> None:
    with Rehearsal(one_turn(**slow)) as rehearsal, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(send, rehearsal, request_body(stream=True))
        rehearsal.wait_for(lambda request: True, timeout=10)

        rehearsal.offline()

        with pytest.raises((http.client.HTTPException, ConnectionError)):
            asked.result(5)


def test_a_port_that_another_rehearsal_holds_is_refused() -> None:
    with Rehearsal(one_turn()) as rehearsal, pytest.raises(OSError, match="in use"):
        Rehearsal(one_turn(), port=urlsplit(rehearsal.url).port or 0).start()


def test_close_ends_everything_within_two_seconds() -> None:
    rehearsal = Rehearsal(one_turn(hold="gate")).start()
    idle = connection(rehearsal)
    idle.request("GET", "/", headers={"x-api-key": rehearsal.key})
    idle.getresponse().read()
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(send, rehearsal) for _ in range(4)]
        rehearsal.wait_for(lambda request: request.number == 4, timeout=10)

        begun = time.monotonic()
        rehearsal.close()
        took = time.monotonic() - begun

        for one in asked:
            assert one.exception(5) is not None
    idle.close()
    assert took < 2
    assert threads_of(rehearsal) == []
    assert refuses(rehearsal)


def test_close_ends_a_pause_offline_too() -> None:
    rehearsal = Rehearsal(one_turn(faults=[Fault(offline_seconds=60)])).start()
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        send(rehearsal)

    rehearsal.close()

    eventually(lambda: threads_of(rehearsal) == [], timeout=2)
    assert refuses(rehearsal)


def test_its_threads_have_names_and_never_keep_a_process_alive() -> None:
    with Rehearsal(one_turn(hold="gate")) as rehearsal, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(send, rehearsal)
        rehearsal.wait_for(lambda request: True, timeout=10)

        assert len(threads_of(rehearsal)) == 2
        assert all(thread.daemon for thread in threads_of(rehearsal))
        rehearsal.release("gate")
        assert asked.result(10).status == 200


def test_thirty_rehearsals_live_side_by_side() -> None:
    rehearsals = [Rehearsal(Script(scenes=[], closing=f"number {at}")).start() for at in range(30)]
    try:
        with ThreadPoolExecutor(30) as pool:
            answers = list(pool.map(send, rehearsals))
        assert [answer.json["content"][0]["text"] for answer in answers] == [
            f"number {at}" for at in range(30)
        ]
        assert len({rehearsal.url for rehearsal in rehearsals}) == 30
    finally:
        begun = time.monotonic()
        with ThreadPoolExecutor(30) as pool:
            list(pool.map(Rehearsal.close, rehearsals))
    assert time.monotonic() - begun < 2


def test_many_ask_one_rehearsal_at_once() -> None:
    with Rehearsal(one_turn()) as rehearsal, ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(send, [rehearsal] * 200))

    assert {answer.status for answer in answers} == {200}
    assert [request.number for request in rehearsal.requests] == list(range(1, 201))


def test_a_new_endpoint_goes_on_where_the_old_one_was() -> None:
    turns = [Turn(text="one", calls=[BASH]), Turn(text="two", calls=[BASH]), Turn(text="three")]
    script = Script(scenes=[Scene(name="job", turns=turns)])
    messages: list[Any] = [{"role": "user", "content": "go"}]
    seen = []
    for _ in turns:
        with Rehearsal(script) as rehearsal:
            content = send(rehearsal, request_body(messages=messages)).json["content"]
        seen.append(content[0]["text"])
        results = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": "ok"}
            for block in content
            if block["type"] == "tool_use"
        ]
        messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]

    assert seen == ["one", "two", "three"]
