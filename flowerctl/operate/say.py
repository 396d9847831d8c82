"""``flowerctl say [WS] WORDS``: a remark, without being attached."""

import uuid

from flower_protocol.control import SayTo
from flowerctl.hints import OK, Failed
from flowerctl.operate.context import Context


def say(context: Context, name: str | None, words: str) -> int:
    if not words.strip():
        raise Failed(context.texts("blank_words"))
    place = context.place(name)
    done = context.client.say(SayTo(place=place, text=words, id=uuid.uuid4().hex))
    context.say(context.texts("said"), done)
    return OK
