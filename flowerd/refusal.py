"""A request that can't be met: a code of the protocol's closed list, as an exception on its way to the edge."""

from flower_protocol.control import Failure


class Refused(Exception):
    """Carries the `Failure` that the client gets."""

    def __init__(self, code: str, **values: str) -> None:
        super().__init__(code)
        self.failure = Failure(code=code, values=values)
