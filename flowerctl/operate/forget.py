"""``flowerctl forget [WS]``: takes a workspace off the daemon's list. No file of it is touched."""

from flowerctl.hints import OK
from flowerctl.operate.context import Context


def forget(context: Context, name: str | None) -> int:
    place = context.place(name)
    done = context.client.forget(place)
    context.say(context.texts("forgotten", workspace=place.workspace), done)
    return OK
