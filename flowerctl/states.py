"""Where a workspace stands, in a word or two."""

from flower_protocol.workspaces import State, WorkspaceStatus
from flowerctl.figures import clock
from flowerctl.language import Texts


def state_of(status: WorkspaceStatus, texts: Texts) -> str:
    """The state, and the time until which it lasts where that is known."""
    word = texts(status.state.value)
    if status.state is State.LIMITED and status.until:
        return texts("state_until", state=word, until=clock(status.until))
    return word
