"""``flowerctl show [WS]``: all that is known of one workspace."""

from collections.abc import Iterator

from flower_protocol.workspaces import WorkspaceStatus
from flowerctl import figures
from flowerctl.hints import OK, Failed
from flowerctl.language import Texts
from flowerctl.operate.context import Context
from flowerctl.sanitize import clean_line


def show(context: Context, name: str | None) -> int:
    known = context.status().workspaces
    place = context.place(name)
    found = next(
        (each for each in known if (each.workspace, each.run_dir) == (place.workspace, place.run_dir)), None
    )
    if found is None:
        raise Failed(context.texts("which_none", name=clean_line(place.workspace)))
    if context.json:
        context.object(found)
        return OK
    from flowerctl.width import columns, pad

    facts = [(context.texts(f"fact_{name}"), text) for name, text in _facts(found, context.texts)]
    widest = max(columns(label) for label, _ in facts)
    context.say("\n".join(f"{pad(label, widest)}  {text}" for label, text in facts))
    return OK


def _facts(status: WorkspaceStatus, texts: Texts) -> Iterator[tuple[str, str]]:
    yield "workspace", clean_line(status.workspace)
    yield "run_dir", clean_line(status.run_dir)
    yield "state", texts(status.state.value)
    if status.question is not None:
        yield "question", clean_line(status.question.text)
        if status.question.options:
            options = enumerate(status.question.options, start=1)
            yield "options", clean_line("  ".join(f"{number}) {each}" for number, each in options))
        yield "asked", figures.clock(status.question.asked_at)
    if status.error:
        yield "error", clean_line(status.error)
    if status.until:
        yield "until", figures.clock(status.until)
    yield "woke", str(status.woke)
    if status.step:
        yield "step", clean_line(status.step) + (f" {status.index}/{status.total}" if status.total else "")
    if status.round:
        yield "round", str(status.round)
    if status.context:
        window = f" / {figures.window(status.window)}" if status.window else ""
        yield "context", figures.tokens(status.context) + window
    if status.checks:
        yield "checks", str(status.checks)
    yield "cost", figures.total_dollars(status.cost_usd)
    if status.session_id:
        yield "session", clean_line(status.session_id)
    yield "clients", str(status.clients)
    if status.started_at:
        yield "started", figures.clock(status.started_at)
    if status.updated_at:
        yield "updated", figures.clock(status.updated_at)
