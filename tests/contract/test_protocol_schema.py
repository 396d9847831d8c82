"""`schema.json` and `PROTOCOL.md` say what the records say."""

import re

import generate_schema
from flower_protocol.errors import CODES

_DOCUMENT = generate_schema.FILE.with_name("PROTOCOL.md").read_text()


def test_the_schema_file_is_not_stale() -> None:
    written = generate_schema.FILE.read_bytes()

    assert written == generate_schema.render(), "run `python protocol/generate_schema.py`"


def test_the_document_names_every_message_of_an_attachment() -> None:
    types = (*generate_schema.FROM_CLIENT, *generate_schema.FROM_DAEMON)

    missing = [each.__name__ for each in types if f"`{each.__name__.lower()}`" not in _DOCUMENT]

    assert missing == []


def test_the_document_names_every_error_a_request_can_meet() -> None:
    named = set(re.findall(r"`([a-z]+(?:-[a-z]+)+|internal)`", _DOCUMENT))

    assert set(CODES) <= named
