"""MCP servers of a role, with tokens: the servers get them, and no process list, file or command does."""

import asyncio
import hashlib
import os
import secrets
import sys
from pathlib import Path

import psutil
from claude_agent_sdk import create_sdk_mcp_server, tool

from flower import AgentSpec, Runtime
from flower.rehearsal import Call, Rehearsal, Turn
from tests.support.processes import descendants, eventually
from tests.support.runs import bash, environment, play, told

# It tells the fingerprints of what it was given: the words themselves would stand in the transcript.
SERVER = """
import hashlib, json, os, sys, time

def result(request):
    match request["method"]:
        case "initialize":
            version, about = request["params"]["protocolVersion"], {"name": "vault", "version": "1"}
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return {"tools": [{"name": "open", "description": "Opens.", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            open("asked", "w").close()
            while not os.path.exists("looked"):
                time.sleep(0.02)
            got = [hashlib.sha256(os.environ[name].encode()).hexdigest() for name in ("TOKEN", "BY_NAME")]
            return {"content": [{"type": "text", "text": " ".join(got)}]}

for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result(request)}), flush=True)
"""


@tool("note", "Takes a note.", {"text": str})
async def note(arguments: dict[str, str]) -> dict[str, object]:
    return {"content": [{"type": "text", "text": f"noted {arguments['text']}"}]}


def fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def arguments_below_us() -> str:
    found = []
    for pid in descendants(os.getpid()):
        found += psutil.Process(pid).cmdline()
    return "\n".join(found)


def files_with(secret: str, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


async def test_a_token_reaches_its_server_and_nothing_else_in_a_first_and_a_resumed_session(
    tmp_path: Path,
) -> None:
    token, named, work = secrets.token_hex(), secrets.token_hex(), tmp_path / "work"
    (tmp_path / "vault.py").write_text(SERVER)
    spec = AgentSpec(
        "opener",
        "Open the vault.",
        allowed_tools=["Bash", "mcp__vault__open", "mcp__notes__note"],
        permission_mode="acceptEdits",
        mcp_servers={
            "notes": create_sdk_mcp_server("notes", tools=[note]),
            "vault": {
                "command": sys.executable,
                "args": [str(tmp_path / "vault.py")],
                "env": {"TOKEN": f"Bearer ${token}", "BY_NAME": "${OF_THE_PERSON}"},
            },
            "elsewhere": {
                "type": "http",
                "url": f"http://me:{token}@127.0.0.1:9/mcp?key={token}",
                "headers": {"Authorization": f"Bearer {token}"},
            },
        },
    )
    script = play(
        Turn(calls=[Call(tool="mcp__vault__open"), Call(tool="mcp__notes__note", input={"text": "it"})]),
        Turn(calls=[bash("env > environment; test -s environment && echo ran")]),
        Turn(text="open"),
        again=True,
    )
    with Rehearsal(script) as model:
        runtime = Runtime(
            workspace=work, run_dir=tmp_path / "runs", environment=environment(model, OF_THE_PERSON=named)
        )
        session = None
        for times in (1, 2):
            running = asyncio.create_task(runtime.run(spec, "open it", resume=session))
            await eventually((work / "asked").exists, timeout=60)
            seen = arguments_below_us()
            (work / "looked").touch()
            result = await running

            assert result.ok and "vault.py" in seen and "--mcp-config" in seen and token not in seen
            last = told(model.requests[-1])
            for brought in (fingerprint(f"Bearer ${token}"), fingerprint(named), "noted it"):
                assert last.count(brought) == times, last
            assert token not in (work / "environment").read_text()
            assert session in (None, result.session_id)
            session = result.session_id
            for name in ("asked", "looked", "environment"):
                (work / name).unlink()
        runtime.close()
    assert files_with(token, tmp_path) == []
