"""``flowerctl answer [WS] WORDS``: answers the oldest open question, without being attached."""

from flower_protocol.control import AnswerTo
from flowerctl.hints import OK
from flowerctl.operate.context import Context


def answer(context: Context, name: str | None, words: str) -> int:
    """A number picks an option; blank words skip the question."""
    done = context.client.answer(AnswerTo(place=context.place(name), text=words))
    context.say(context.texts("answered" if words.strip() else "skipped"), done)
    return OK
