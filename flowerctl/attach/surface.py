"""What an attachment shows itself on (a terminal, plain lines, JSON for scripts), and what a person types at."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from flower_protocol.events import EventRecord
from flower_protocol.workspaces import Question, WorkspaceStatus
from flowerctl.output import Style

if TYPE_CHECKING:
    from flowerctl.attach.dialogue import Dialogue


class Surface(Protocol):
    """All of it blocks for as long as whoever reads is slow: that is what makes the daemon wait."""

    def show(self, events: Sequence[EventRecord], *, live: bool, own: Collection[int] = ()) -> None:
        """Events, in order, each once. ``own`` are the numbers of those that a person sees already: their words."""

    async def room(self) -> None:
        """Returns when more may be shown: at once, unless there is more than anybody could follow."""

    def tell(self, text: str, style: Style = Style.PLAIN) -> None:
        """Something that flower says itself."""

    def asks(self, question: Question) -> None:
        """The question that is to be answered now, though the event that told of it is not in sight."""

    def stands(self, status: WorkspaceStatus) -> None:
        """How the workspace stands, because it was asked for."""

    def changed(self, status: WorkspaceStatus | None = None) -> None:
        """The prompt may be another one now, and this is how the workspace stands, if that is new."""


class Keyboard(Protocol):
    """Where lines and keys come from."""

    async def converse(self, dialogue: "Dialogue") -> None:
        """Hands over what is typed, until `close`."""

    def close(self) -> None:
        """Ends `converse`, and puts the terminal back."""

    def half_typed(self) -> str:
        """What was typed and not yet sent off with Enter."""
