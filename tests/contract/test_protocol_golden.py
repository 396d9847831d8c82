"""Every message has a golden file, which must load for ever and be written the same way."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import generate_schema
from flower_protocol import codec, control, events, handshake, runs, workspaces

GOLDEN = Path(__file__).with_name("golden")

_PLACE = workspaces.Place(workspace="/home/me/项目", run_dir="/home/me/项目/runs")
_QUESTION = workspaces.Question(id="q-1", text="用哪个端口?", options=("8080", "9090"), asked_at=1767260001.5)
_STATUS = workspaces.WorkspaceStatus(
    workspace=_PLACE.workspace,
    run_dir=_PLACE.run_dir,
    state=workspaces.State.ASKING,
    woke=3,
    step="干活",
    index=3,
    total=3,
    round=1,
    session_id="47395075-bec7-466e-80cd-f4d60b360235",
    context=80200,
    window=1000000,
    cost_usd=0.41,
    checks=15,
    clients=1,
    question=_QUESTION,
    keep=True,
    rehearse=True,
    until=1767270000.0,
    started_at=1767260000.0,
    updated_at=1767260001.5,
    error="断网",
)
_EVENT = events.EventRecord(
    seq=7,
    at=1767260000.25,
    kind="tool_call",
    text="ls -la",
    tool="Bash",
    payload={"id": "toolu_1", "n": [1, None]},
)
_OPTIONS = runs.RunOptions(
    new=True,
    rounds=2,
    goal=False,
    judge_can_run=True,
    asks=0,
    timeout_s=60.0,
    isolate=True,
    window=200000,
    handoff=False,
    clarify_only=True,
    trim=False,
    budget_usd=1.5,
    keep=True,
    rehearse=True,
    script="demo",
)

MESSAGES: dict[str, msgspec.Struct] = {
    "hello": handshake.Hello(
        place=_PLACE, version="0.1.0", generation="20260101-093000-5f3c1a", cursor=41, tail=50, who="tty3"
    ),
    "say": control.Say(text="顺便支持代码块高亮", id="6a1f"),
    "answer": control.Answer(question_id="q-1", text="8080"),
    "aside": control.Aside(text="做到哪了", id="6a21"),
    "interrupt": control.Interrupt(),
    "resume": control.Resume(text="别碰 main.py"),
    "stop": control.Stop(),
    "seen": control.Seen(seq=41),
    "welcome": handshake.Welcome(
        protocol=1,
        version="0.1.0",
        generation="20260101-093000-5f3c1a",
        status=_STATUS,
        capabilities=("answer", "aside"),
    ),
    "snapshot": handshake.Snapshot(
        generation="20260101-093000-5f3c1a", last_seq=7, events=(_EVENT,), omitted=3
    ),
    "happened": control.Happened(events=(_EVENT,)),
    "changed": control.Changed(status=_STATUS),
    "accepted": control.Accepted(id="6a1f", in_brief=True),
    "failure": control.Failure(code="not-running", values={"workspace": "/home/me/项目"}, id="6a1f"),
    "status": workspaces.Status(
        daemon=workspaces.DaemonStatus(
            pid=4711, version="0.1.0", protocol=1, uptime_s=3.5, rss_bytes=43212800
        ),
        workspaces=(_STATUS,),
    ),
    "wake": workspaces.Wake(
        status=_STATUS,
        used=True,
        confirmed=True,
        checks=15,
        context=80200,
        notices=("一行提醒",),
        generation="20260101-093000-5f3c1a",
        last_seq=7,
        seen=5,
    ),
    "start_run": runs.StartRun(
        place=_PLACE, ask="写个脚本", options=_OPTIONS, environment={"PATH": "/usr/bin"}, language="en"
    ),
    "run_started": runs.RunStarted(generation="20260101-093000-5f3c1a", seq=6, woke=3, joined=True),
    "run_once": runs.RunOnce(
        place=_PLACE,
        prompt="这个函数做什么",
        instructions="一句话",
        tools=("Read", "Bash"),
        permission_mode="plan",
        budget_usd=0.5,
        resume="47395075-bec7-466e-80cd-f4d60b360235",
        fork=True,
        rehearse=True,
        script="demo",
        language="en",
    ),
    "say_to": control.SayTo(place=_PLACE, text="好了吗", id="6a20"),
    "answer_to": control.AnswerTo(place=_PLACE, text="2", question_id="q2"),
    "at": control.At(place=_PLACE),
    "resume_at": control.ResumeAt(place=_PLACE, text="接着来"),
    "done": control.Done(),
}


def _golden(name: str) -> bytes:
    return (GOLDEN / f"{name}.json").read_bytes()


def _decoded(data: bytes, message: msgspec.Struct) -> msgspec.Struct:
    if isinstance(message, generate_schema.FROM_CLIENT):
        return codec.decode_from_client(data)
    if isinstance(message, generate_schema.FROM_DAEMON):
        return codec.decode_from_daemon(data)
    return codec.decode(data, type(message))


@pytest.mark.parametrize("name", MESSAGES)
def test_a_golden_message_loads_as_what_it_was(name: str) -> None:
    message = MESSAGES[name]

    loaded = _decoded(_golden(name), message)

    assert loaded == message


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_written_as_its_golden_file_says(name: str) -> None:
    written = json.loads(codec.encode(MESSAGES[name]))

    assert written == json.loads(_golden(name))


@pytest.mark.parametrize("name", MESSAGES)
def test_a_reader_skips_a_field_of_a_newer_writer(name: str) -> None:
    newer = json.loads(_golden(name)) | {"of_a_newer_writer": {"deep": [1, 2]}}

    loaded = _decoded(json.dumps(newer).encode(), MESSAGES[name])

    assert loaded == MESSAGES[name]


def test_every_message_and_body_has_a_golden_file_and_no_file_is_left_over() -> None:
    known = {*generate_schema.FROM_CLIENT, *generate_schema.FROM_DAEMON, *generate_schema.BODIES}

    files = {path.stem for path in GOLDEN.glob("*.json")}

    assert {type(message) for message in MESSAGES.values()} == known
    assert files == MESSAGES.keys()


def test_every_field_of_a_golden_message_is_filled_with_something_of_its_own() -> None:
    """A golden file of defaults would not notice that a field lost its name."""
    same = {
        f"{name}.{field.name}"
        for name, message in MESSAGES.items()
        for field in msgspec.structs.fields(type(message))
        if getattr(message, field.name) == field.default
    }

    assert same == {"hello.protocol", "done.ok"}


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b'{"type":1}', b'{"text":"x"}', b"\xff\xfe", b"[" * 5000]
)
def test_what_is_no_message_is_a_bad_frame_of_one_line(data: bytes) -> None:
    with pytest.raises(codec.BadFrame) as caught:
        codec.decode_from_client(data)

    assert "\n" not in str(caught.value)


def test_an_unknown_type_becomes_a_value() -> None:
    unknown: Any = codec.decode_from_daemon(b'{"type":"of-a-newer-daemon","x":1}')

    assert unknown == control.Unknown(tag="of-a-newer-daemon")


def test_a_start_shows_nobody_its_environment() -> None:
    start = runs.StartRun(place=_PLACE, environment={"ANTHROPIC_API_KEY": "sk-made-up"})

    assert "sk-made-up" not in f"{start!r} {start}"
