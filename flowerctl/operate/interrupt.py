"""``flowerctl interrupt [WS]``: breaks a turn off and puts the run on hold."""

from flowerctl.hints import OK
from flowerctl.operate.context import Context
from flowerctl.places import way_back


def interrupt(context: Context, name: str | None) -> int:
    place = context.place(name)
    done = context.client.interrupt(place)
    context.say(context.texts("interrupt_sent", command=way_back(place)), done)
    return OK
