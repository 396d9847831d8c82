"""Small transcripts for the tests of this folder, in the shape that the CLI writes."""

from typing import Any

Entry = dict[str, Any]


class Transcript:
    """A transcript in the making: each entry hangs on the one before, unless told otherwise.

    Uuids are given by the test, so that a transcript can be read in its assertions.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._last: str | None = None

    def add(self, uuid: str, kind: str, **fields: Any) -> Entry:
        entry = {"parentUuid": self._last, "type": kind, "uuid": uuid, **fields}
        self.entries.append(entry)
        self._last = entry["uuid"]
        return entry

    def prompt(self, uuid: str, text: str = "please", **fields: Any) -> Entry:
        return self.add(uuid, "user", message={"role": "user", "content": text}, promptSource="sdk", **fields)

    def says(self, uuid: str, *blocks: Entry, message: str | None = None, **fields: Any) -> Entry:
        said = {
            "role": "assistant",
            "model": "claude-opus-5",
            "id": message or f"msg-{uuid}",
            "content": list(blocks),
        }
        return self.add(uuid, "assistant", message=said, **fields)

    def results(self, uuid: str, *blocks: Entry, **fields: Any) -> Entry:
        return self.add(uuid, "user", message={"role": "user", "content": list(blocks)}, **fields)

    def denied(self, uuid: str, call: str, **fields: Any) -> Entry:
        block = result(call, "PreToolUse:Bash hook error: dispatch it", is_error=True)
        return self.results(uuid, block, **{"toolDenialKind": "permission-rule", **fields})

    def api_error(self, uuid: str, text: str = "API Error: 529 overloaded") -> Entry:
        said = {"role": "assistant", "model": "<synthetic>", "content": [words(text)]}
        return self.add(uuid, "assistant", message=said, isApiErrorMessage=True)

    def attachment(self, uuid: str) -> Entry:
        return self.add(uuid, "attachment", attachment={"type": "date", "date": "2026-11-30"})

    def note(self, kind: str = "mode") -> Entry:
        """An entry outside of the chain."""
        self.entries.append({"type": kind, "mode": "normal"})
        return self.entries[-1]


def words(text: str = "fine") -> Entry:
    return {"type": "text", "text": text}


def thinking(text: str = "hm") -> Entry:
    return {"type": "thinking", "thinking": text, "signature": "c2ln"}


def call(identity: str, command: str = "make", name: str = "Bash") -> Entry:
    return {"type": "tool_use", "id": identity, "name": name, "input": {"command": command}}


def result(call_id: str, text: Any = "done", **fields: Any) -> Entry:
    return {"type": "tool_result", "tool_use_id": call_id, "content": text, **fields}


def uuids(entries: list[Entry]) -> list[str]:
    return [entry["uuid"] for entry in entries if "uuid" in entry]


def parents(entries: list[Entry]) -> dict[str, str | None]:
    return {entry["uuid"]: entry["parentUuid"] for entry in entries if "uuid" in entry}


def by_uuid(entries: list[Entry], uuid: str) -> Entry:
    return next(entry for entry in entries if entry.get("uuid") == uuid)


def blocks(entries: list[Entry], kind: str) -> list[Entry]:
    """All blocks of one type, in order."""
    found = []
    for entry in entries:
        message = entry.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        found += [b for b in content if b.get("type") == kind] if isinstance(content, list) else []
    return found
