"""What a child was told and never heard, because it ended first: the next one is told it."""

from collections.abc import Container, Mapping


class Unheard:
    """The words to one child after another; each is begun with `begin` and ended with `settle`.

    ``opening``: its first words, None as long as it has been told none. ``index``: what stood before them, for the
    child alone.
    """

    def __init__(self) -> None:
        self.opening: str | None = None
        self.index: str | None = None
        self._lost: list[str] = []

    def begin(self) -> None:
        """Another child: nothing has been said to it."""
        self.opening = self.index = None

    def settle(self, said: Mapping[str, str], heard: Container[str]) -> None:
        """It has ended. ``said``: all that it was told and did not answer, by id; ``heard``: the ids it took in."""
        index = f"{self.index}\n\n" if self.index is not None else ""
        self._lost = [text.removeprefix(index) for uuid, text in said.items() if uuid not in heard]

    def take(self) -> list[str]:
        """All that was lost, to be said again."""
        lost, self._lost = self._lost, []
        return lost

    def remarks(self) -> list[str]:
        """What was lost beside its first words."""
        return [text for text in self._lost if text != self.opening]
