"""Messages to bytes and back: JSON, one message a frame, unknown tags made into a value."""

from typing import Final, TypeVar

import msgspec

from flower_protocol.control import FromClient, FromDaemon, Unknown

MAX_FRAME: Final = 8 * 1024 * 1024  # a frame over this closes its connection; see "Bad input" in the contract

T = TypeVar("T")

_encoder = msgspec.json.Encoder()
_from_client: "msgspec.json.Decoder[FromClient]" = msgspec.json.Decoder(FromClient)
_from_daemon: "msgspec.json.Decoder[FromDaemon]" = msgspec.json.Decoder(FromDaemon)
_CLIENT_TAGS: Final = frozenset({"hello", "say", "answer", "aside", "interrupt", "resume", "stop", "seen"})
_DAEMON_TAGS: Final = frozenset({"welcome", "snapshot", "happened", "changed", "accepted", "failure"})


class BadFrame(ValueError):
    """The bytes are no message of ours; the text says why, in one line."""


class _Tagged(msgspec.Struct):
    type: str


_tagged = msgspec.json.Decoder(_Tagged)


def encode(message: msgspec.Struct) -> bytes:
    """The JSON bytes of a message or record."""
    return _encoder.encode(message)


def decode_from_client(data: bytes | str) -> FromClient | Unknown:
    """What a client sent. Raises `BadFrame`."""
    return _decode(data, _from_client, _CLIENT_TAGS)


def decode_from_daemon(data: bytes | str) -> FromDaemon | Unknown:
    """What a daemon sent. Raises `BadFrame`."""
    return _decode(data, _from_daemon, _DAEMON_TAGS)


def decode(data: bytes | str, kind: type[T]) -> T:
    """The body of a single request or its answer. Raises `BadFrame`."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadFrame(_one_line(error)) from error


def _decode(data: bytes | str, decoder: "msgspec.json.Decoder[T]", tags: frozenset[str]) -> T | Unknown:
    try:
        tag = _tagged.decode(data).type
        # msgspec skips fields it doesn't know but refuses a tag it doesn't know; a newer peer may send one.
        return decoder.decode(data) if tag in tags else Unknown(tag=tag)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFrame(_one_line(error)) from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
