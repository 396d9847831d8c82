"""Writes `schema.json` from the message types: ``python protocol/generate_schema.py`` after changing any.

A test compares the file with what `schema` gives, so a stale one is heard of.
"""

from pathlib import Path
from typing import Any, Final, get_args

import msgspec

from flower_protocol import control, runs, workspaces
from flower_protocol.version import PROTOCOL

FILE: Final = Path(__file__).with_name("schema.json")

# What goes over an attachment, by direction, and the bodies of single requests and of their answers.
FROM_CLIENT: Final[tuple[type, ...]] = get_args(control.FromClient)
FROM_DAEMON: Final[tuple[type, ...]] = get_args(control.FromDaemon)
BODIES: Final[tuple[type, ...]] = (
    workspaces.Status,
    workspaces.Wake,
    runs.StartRun,
    runs.RunStarted,
    runs.RunOnce,
    control.SayTo,
    control.AnswerTo,
    control.At,
    control.ResumeAt,
    control.Done,
)


def schema() -> dict[str, Any]:
    """The JSON Schema of every message and body, each under its name in ``$defs``."""
    types = (*FROM_CLIENT, *FROM_DAEMON, *BODIES)
    _, definitions = msgspec.json.schema_components(types)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What flower and flowerd say to each other",
        "description": f"Protocol {PROTOCOL}; PROTOCOL.md says what it means. Made by generate_schema.py.",
        "$defs": {
            "FromClient": _one_of(FROM_CLIENT),
            "FromDaemon": _one_of(FROM_DAEMON),
            "Body": _one_of(BODIES),
            **dict(sorted(definitions.items())),
        },
    }


def render() -> bytes:
    """The bytes of `schema.json`."""
    return msgspec.json.format(msgspec.json.encode(schema()), indent=2) + b"\n"


def _one_of(types: tuple[type, ...]) -> dict[str, Any]:
    return {"oneOf": [{"$ref": f"#/$defs/{each.__name__}"} for each in types]}


if __name__ == "__main__":
    FILE.write_bytes(render())
