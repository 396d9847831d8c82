"""``flowerctl stop [WS]``: ends a run. It never goes on by itself; the next ``flower`` wakes it."""

from flowerctl.hints import OK
from flowerctl.operate.context import Context


def stop(context: Context, name: str | None) -> int:
    place = context.place(name)
    done = context.client.stop(place)
    context.say(context.texts("stop_sent", workspace=place.workspace), done)
    return OK
