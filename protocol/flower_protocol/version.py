"""The one integer that says whether a client and a daemon can talk.

It is raised only when an old reader would misunderstand a new writer. A new message or a new field needs no
new number: readers skip what they don't know. What a daemon can do beyond its number stands in
``Welcome.capabilities``.
"""

from typing import Final

PROTOCOL: Final = 1
OLDEST_SPOKEN: Final = 1


def speaks(protocol: int) -> bool:
    """Whether this side can talk to one that names ``protocol``."""
    return OLDEST_SPOKEN <= protocol <= PROTOCOL
