"""Everything else that is said on an attachment, or in a single request."""

import msgspec

from flower_protocol.events import EventRecord
from flower_protocol.handshake import Hello, Snapshot, Welcome
from flower_protocol.workspaces import Place, WorkspaceStatus

# From the client, on an attachment. Single requests say the same, with a place beside it; see below.


class Say(msgspec.Struct, frozen=True, kw_only=True, tag="say"):
    """A remark to the running agent. ``id`` is the client's own (a uuid): said twice, it counts once."""

    text: str
    id: str


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag="answer"):
    """An answer to an open question; an empty text skips it, the number of an option (from 1) means that option."""

    question_id: str
    text: str


class Aside(msgspec.Struct, frozen=True, kw_only=True, tag="aside"):
    """A question about the run, which never hears of it. ``id`` is the client's own: asked twice, it counts once."""

    text: str
    id: str


class Interrupt(msgspec.Struct, frozen=True, kw_only=True, tag="interrupt"):
    """Break off at the next message boundary and wait for what the person says (``Resume`` or ``Stop``)."""


class Resume(msgspec.Struct, frozen=True, kw_only=True, tag="resume"):
    """After an interrupt: go on, with the words if there are any."""

    text: str = ""


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag="stop"):
    """End the run. It never goes on by itself; the next ``flower`` wakes it."""


class Seen(msgspec.Struct, frozen=True, kw_only=True, tag="seen"):
    """The client has shown every event up to ``seq``."""

    seq: int


# From the daemon, on an attachment.


class Happened(msgspec.Struct, frozen=True, kw_only=True, tag="happened"):
    """Events, in order, right after the last one sent."""

    events: tuple[EventRecord, ...]


class Changed(msgspec.Struct, frozen=True, kw_only=True, tag="changed"):
    """The workspace's status changed."""

    status: WorkspaceStatus


class Accepted(msgspec.Struct, frozen=True, kw_only=True, tag="accepted"):
    """A ``Say`` or an ``Answer`` is on disk and survives the daemon's death; an ``Aside`` is being looked into.

    ``id`` is that of the ``Say`` or ``Aside``, or the question's. ``in_brief``: whether the words of the ``Say`` stand
    in the brief as well; None when nothing is known of that.
    """

    id: str
    in_brief: bool | None = None


class Failure(msgspec.Struct, frozen=True, kw_only=True, tag="failure"):
    """A request could not be met: a code of ``errors.CODES``, and the values its sentence names."""

    code: str
    values: dict[str, str] = {}
    id: str = ""


class Unknown(msgspec.Struct, frozen=True, kw_only=True, tag="unknown"):
    """A message of a tag that this side doesn't know: made by the codec, never sent."""

    tag: str


FromClient = Hello | Say | Answer | Aside | Interrupt | Resume | Stop | Seen
FromDaemon = Welcome | Snapshot | Happened | Changed | Accepted | Failure


class SayTo(msgspec.Struct, frozen=True, kw_only=True):
    """``POST /v1/say``."""

    place: Place
    text: str
    id: str


class AnswerTo(msgspec.Struct, frozen=True, kw_only=True):
    """``POST /v1/answer``; without a ``question_id`` it answers the oldest question that is open."""

    place: Place
    text: str
    question_id: str = ""


class At(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a single request that needs a place alone: ``/v1/interrupt``, ``/v1/stop``, …"""

    place: Place


class ResumeAt(msgspec.Struct, frozen=True, kw_only=True):
    """``POST /v1/resume``: what `Resume` says on an attachment."""

    place: Place
    text: str = ""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """A single request was met."""

    ok: bool = True
