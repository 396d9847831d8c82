"""From an event to the lines a person reads. Pure: the same event and view give the same lines.

The icons are ASCII: ``=`` step, ``~`` thinking and retries, ``>`` dispatch, ``*`` tool call, ``?`` question, ``!``
warning, ``+`` done, answered, received, ``x`` failure, ``#`` handoff and task, ``-`` status, ``<-`` continued, ``.``
skipped, ``|`` what a subagent does. Nothing is longer than the view is wide; what somebody said is wrapped, never
cut; a tool call is one line.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from flower_protocol.events import EventRecord
from flowerctl import figures
from flowerctl.attach.aside import aside
from flowerctl.attach.ask import ask
from flowerctl.attach.handoff import handoff
from flowerctl.attach.held import of_judge, released_by
from flowerctl.attach.judging import judge, unverifiable
from flowerctl.attach.lines import Lines, one_line, said
from flowerctl.attach.view import View, level_of, number
from flowerctl.output import Line, Style
from flowerctl.sanitize import clean_line
from flowerctl.width import columns, cut

_RULE_COLUMNS: Final = 38  # where the rule of a step ends, its name included
_SHORTEST_RULE: Final = 3
_DISPATCHERS: Final = frozenset({"Agent", "Task"})
_BROKEN_OFF: Final = (
    "The user doesn't want to proceed",
    "[Request interrupted by user",
)  # the CLI's own words
_WRAPPER: Final = re.compile(r"</?tool_use_error>")
_PERSONAL_TOOLS: Final = "mcp__human__"  # their questions and words are shown as such


def render(event: EventRecord, view: View) -> Lines:
    """The lines of ``event``, none if it isn't shown. A kind that isn't known is shown by its text."""
    return released(event, view) + tuple(_RENDERERS.get(event.kind, _other)(event, view))


def released(event: EventRecord, view: View) -> Lines:
    """What a judge said before, now that it is known to be no verdict."""
    words = released_by(event, view.held)
    return said("", words, view) if words else ()


def _step(event: EventRecord, view: View) -> Lines:
    index, total = int(number(event.payload.get("index"))), int(number(event.payload.get("total")))
    place = f"  {index}/{total}" if total else ""
    room = min(_RULE_COLUMNS, view.width - len(place))
    head = f"== {cut(clean_line(event.text), room - len('==  ') - _SHORTEST_RULE)} "
    rule = head + "=" * (room - columns(head)) + place
    note = _continued(event, view)
    if not note:
        return (Line(rule, Style.BOLD),)
    if columns(rule + "  " + note) <= view.width:
        return (Line(f"{rule}  {note}", Style.BOLD),)
    return (Line(rule, Style.BOLD), Line(cut("  " + note, view.width), Style.BOLD))


def _continued(event: EventRecord, view: View) -> str:
    if not event.payload.get("resumed"):
        return ""
    woke = int(number(event.payload.get("woke")))
    said_woke = f" · {view.texts('wake_number', woke=woke)}" if woke else ""
    return view.texts("step_resumed") + said_woke


def _text(event: EventRecord, view: View) -> Lines:
    if event.payload.get("subagent"):
        return said("", event.text, view, Style.DIM, gutter="| ") if view.verbose else ()
    if of_judge(event) and not view.verbose:
        return ()  # it comes with what follows it
    return said("", event.text, view) + _level(event, view)


def _level(event: EventRecord, view: View) -> Lines:
    level = level_of(event)
    if not level or figures.tokens(level) == figures.tokens(view.level):
        return ()
    facts = [view.texts("level", context=figures.tokens(level))]
    if view.spent:
        facts.append(view.texts("spent", cost=figures.dollars(view.spent, precise=view.precise)))
    if view.started_at is not None:
        facts.append(figures.duration(view.elapsed(event)))
    return said("-", " · ".join(facts), view, Style.DIM)


def _thinking(event: EventRecord, view: View) -> Lines:
    if not event.payload.get("subagent"):
        return said("~", event.text, view, Style.DIM)
    return said("~", event.text, view, Style.DIM, gutter="| ") if view.verbose else ()


def _prompt(event: EventRecord, view: View) -> Lines:
    return said("-", event.text, view, Style.DIM, gutter=_gutter(event)) if view.verbose else ()


def _tool_call(event: EventRecord, view: View) -> Lines:
    if event.tool.startswith(_PERSONAL_TOOLS):
        return ()
    if event.tool in _DISPATCHERS:
        return one_line(">", _dispatch(event, view), view, Style.BOLD, gutter=_gutter(event))
    return one_line("*", f"{event.tool} {_object(event, view)}", view, Style.TOOL, gutter=_gutter(event))


def _object(event: EventRecord, view: View) -> str:
    given = event.payload.get("input")
    path = given.get("file_path") if isinstance(given, Mapping) else None
    return view.inside(event.text) if path == event.text else event.text


def _dispatch(event: EventRecord, view: View) -> str:
    given = event.payload.get("input")
    known = given if isinstance(given, Mapping) else {}
    role = str(known.get("subagent_type") or "")
    about = str(known.get("description") or event.text)
    return f"{view.texts('dispatch', role=role)} {about}"


def _tool_result(event: EventRecord, view: View) -> Lines:
    if event.payload.get("is_error"):
        if view.broken_off and not view.verbose and event.text.startswith(_BROKEN_OFF):
            return ()  # it was done on purpose, and has been said
        return said("x", _WRAPPER.sub("", event.text) or "?", view, Style.BAD, gutter=_gutter(event))
    return (
        said(" ", event.text, view, Style.DIM, gutter=_gutter(event)) if view.verbose and event.text else ()
    )


def _gutter(event: EventRecord) -> str:
    return "| " if event.payload.get("subagent") else ""


def _result(event: EventRecord, view: View) -> Lines:
    if event.payload.get("is_error"):
        reason = str(event.payload.get("error") or event.text)
        known = view.broken_off or view.waiting or reason.strip() == view.error
        if known and not view.verbose:
            return ()  # that it broke off was asked for, or why has been said
        return said("x", view.texts("turn_failed", reason=reason), view, Style.BAD)
    facts = [
        view.texts("turns", count=int(number(event.payload.get("num_turns")))),
        f"${figures.dollars(number(event.payload.get('cost_usd')), precise=view.precise)}",
        view.texts("elapsed", time=figures.duration(view.elapsed(event))),
    ]
    return said("+", " · ".join(facts), view, Style.GOOD)


def _remark(event: EventRecord, view: View) -> Lines:
    who = clean_line(str(event.payload.get("who") or "")) or view.texts("somebody")
    return said("+", view.texts("remark_of", who=who, text=event.text), view, Style.GOOD)


def _interrupted(event: EventRecord, view: View) -> Lines:
    # Who holds a run is named; an agent by itself just ends.
    name = "held_elsewhere" if event.payload.get("who") else "interrupted_elsewhere"
    return said("!", event.text or view.texts(name), view, Style.WARN)


def _resumed(event: EventRecord, view: View) -> Lines:
    return said("+", event.text or view.texts("resumed"), view, Style.GOOD)


def _run_ended(event: EventRecord, view: View) -> Lines:
    failed = () if ended_well(event) else said("x", failure_of(event, view), view, Style.BAD)
    return failed + unheard(event, view) + ending(event, view)


def unheard(event: EventRecord, view: View) -> Lines:
    """What was said and reached nobody before the run ended: it isn't lost."""
    words = event.payload.get("unheard")
    return tuple(
        line
        for text in (words if isinstance(words, list | tuple) else ())
        for line in said("!", view.texts("unheard", text=text), view, Style.WARN)
    )


def ended_well(event: EventRecord) -> bool:
    """Whether the run of this ``run_ended`` came to its own end."""
    return event.payload.get("ok") is True or event.payload.get("outcome") == "done"


def failure_of(event: EventRecord, view: View) -> str:
    """Why the run of this ``run_ended`` ended as it did, in one sentence."""
    reason = clean_line(str(event.payload.get("error") or event.text or event.payload.get("outcome") or ""))
    if event.payload.get("outcome") == "login":
        return view.texts("login_refused", reason=reason)
    if not reason:
        return view.texts("run_failed_unsaid")
    known = _REASONS.get(reason)
    return view.texts(known) if known else view.texts("run_failed", reason=reason)


_REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "stopped": "stopped-by-human",
        "stopped-by-human": "stopped-by-human",
        "interrupted": "killed-by-signal",
        "killed-by-signal": "killed-by-signal",
    }
)


def ending(event: EventRecord, view: View) -> Lines:
    """The last line of a run: what it cost, and where its manifest is."""
    cost = figures.total_dollars(number(event.payload.get("cost_usd")))
    manifest = clean_line(str(event.payload.get("manifest") or view.manifest))
    # Never broken: a path in two halves is no path any more.
    return (Line(view.texts("total", cost=cost, manifest=manifest)),)


def _retry(event: EventRecord, view: View) -> Lines:
    payload = event.payload
    if payload.get("waiting") == "login":
        return ()  # the run ends, and its end says so
    if event.text:
        return said("~", event.text, view, Style.WARN)
    if view.waiting and not view.verbose:
        return ()  # that it waits has been said
    facts = {name: int(number(payload.get(name))) for name in ("attempt", "max_retries", "delay_s", "status")}
    return said("~", view.texts("retry", **facts), view, Style.WARN)


def _notice(event: EventRecord, view: View) -> Lines:
    return said("!", str(event.payload.get(view.texts.language) or event.text), view, Style.WARN)


def _error(event: EventRecord, view: View) -> Lines:
    if view.waiting and not view.verbose:
        return ()  # what it waits for has been said, and this is the same again
    return said("x", event.text, view, Style.BAD) if event.text else ()


def _task(event: EventRecord, view: View) -> Lines:
    if "unverifiable" in event.payload:
        return unverifiable(event, view)
    ended = event.payload.get("kind") == "TaskNotificationMessage"
    return said("#", event.text, view, Style.DIM) if event.text and (ended or view.verbose) else ()


def _behind(icon: str, style: Style = Style.PLAIN) -> Callable[[EventRecord, View], Lines]:
    return lambda event, view: said(icon, event.text, view, style) if event.text else ()


def _verbosely(icon: str) -> Callable[[EventRecord, View], Lines]:
    return lambda event, view: said(icon, event.text, view, Style.DIM) if view.verbose and event.text else ()


_other = _behind("-")
_RENDERERS: Final[Mapping[str, Callable[[EventRecord, View], Lines]]] = MappingProxyType(
    {
        "step": _step,
        "text": _text,
        "thinking": _thinking,
        "prompt": _prompt,
        "tool_call": _tool_call,
        "tool_result": _tool_result,
        "task": _task,
        "system": _verbosely("-"),
        "unknown": _verbosely("-"),
        "reset": _behind("#"),
        "result": _result,
        "error": _error,
        "retry": _retry,
        "judge": judge,
        "handoff": handoff,
        "ask": ask,
        "aside": aside,
        "remark": _remark,
        "interrupted": _interrupted,
        "interrupt": _verbosely("!"),  # the library's own word for it; the daemon's says who it was
        "resumed": _resumed,
        "notice": _notice,
        "run_started": _verbosely("-"),
        "run_ended": _run_ended,
    }
)
