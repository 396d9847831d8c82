"""The documents say what the code does: their links, commands, tables and numbers are compared with it."""

import argparse
import ast
import dataclasses
import inspect
import re
import shlex
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import flower
from flower.core import events
from flower.core.events import normalize
from flower.workflow import base
from flower_protocol.runs import RunOptions
from flower_protocol.workspaces import State
from flowerctl.attach import arguments
from flowerctl.language import Texts
from flowerctl.once import arguments as once
from flowerctl.operate import main as operating
from flowerctl.sentences import SENTENCES
from flowerd import main as daemon
from flowerd.options import FLAGS, HONOURED
from flowerd.states import MOVES, Move
from tests.bench.__main__ import MEASURES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INDEX = DOCS / "index.md"
OPERATING = DOCS / "operating.md"
LIBRARY = DOCS / "library.md"
PAGES = [*sorted(DOCS.glob("*.md")), ROOT / "README.md", ROOT / "CHANGELOG.md"]
NOT_YET = "## What this version does not do yet"
NOTHING = "—"  # in a column of defaults: the parameter must be given
TABLES = [
    "Runtime",
    "Runtime.run",
    "StepResult",
    "Workflow",
    "Workflow.run",
    "Step",
    "wake_state",
    "starter_flow",
    "clarify_step",
    "goal_step",
    "with_goal",
    "AgentSpec",
    "coordinator",
    "worker",
    "clarify",
    "judge",
    "oracle",
    "HumanChannel",
    "HumanChannel.ask",
    "HandoffPolicy",
    "CompactPolicy",
    "Workbench",
    "workbench_hooks",
    "Resilience",
    "PrunePolicy",
    "EphemeralPolicy",
    "TrimPolicy",
]

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


# ---------------------------------------------------------------- links and code


@each_page
def test_every_link_leads_to_something_that_is_there(page: Path) -> None:
    for _, target in links(page):
        name, _, anchor = target.partition("#")
        if "://" in target:
            continue
        linked = (page.parent / name).resolve() if name else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), target


@each_page
def test_every_test_that_is_named_is_there(page: Path) -> None:
    for name, target in links(page):
        if name.startswith("`test_"):
            assert re.search(rf"def {name.strip('`')}\(", (page.parent / target).read_text()), name


@each_page
def test_every_block_of_python_compiles(page: Path) -> None:
    for number, code in enumerate(blocks(page, "python")):
        compile(code, f"{page.name}, block {number}", "exec")


def test_each_row_of_what_survives_names_a_test() -> None:
    for cells in rows(DOCS / "what-survives-what.md", "what happens"):
        assert cells[-1].startswith("[`test_"), cells[0]


# ---------------------------------------------------------------- commands


@each_page
def test_every_command_is_one_that_the_parsers_take(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands(page):
        assert taken(command), f"{command}: {capsys.readouterr().err}"


def test_the_table_of_flags_is_that_of_the_command_line() -> None:
    known = {name: action for action in flower_parser()._actions for name in action.option_strings}
    said = [span.split() for cells in rows(OPERATING, "flag") for span in spans(cells[0])]

    for name, *value in said:
        assert name in known
        takes = known[name].metavar or (known[name].choices and "en")
        if name.startswith("--") and takes:
            assert value == [takes]
    assert {name for name, *_ in said} | flags_not_yet() == set(known)


def test_the_table_of_once_has_every_flag_of_its_own() -> None:
    known = {name: flag for flag in once.OWN for name in flag.names}
    said = [span.split() for cells in rows(OPERATING, "of this call") for span in spans(cells[0])]

    assert all(value in ([], [known[name].takes.get("metavar")]) for name, *value in said)
    assert {known[name].names for name, *_ in said} == {flag.names for flag in once.OWN}


def test_the_table_of_verbs_is_that_of_flowerctl() -> None:
    said = {span.split()[1] for cells in rows(OPERATING, "verb") for span in spans(cells[0])}
    [verbs] = [action for action in operating._parser(Texts())._actions if action.dest == "verb"]

    assert said == set(verbs.choices or ())


def test_what_is_not_there_yet_is_listed_in_full() -> None:
    words, flags = paragraph("Commands."), paragraph("Flags of a run.")

    assert set(spans(words)) == {f"flower {word}" for word in arguments.NOT_YET} | {
        f"flowerctl {word}" for word in operating.NOT_YET
    }
    assert set(spans(flags)) == flags_not_yet()


@pytest.mark.parametrize("page", [page for page in PAGES if page != INDEX], ids=lambda page: page.name)
def test_what_is_not_there_yet_is_spoken_of_in_one_place(page: Path) -> None:
    words = [f"flower {word}" for word in arguments.NOT_YET] + [
        f"flowerctl {word}" for word in operating.NOT_YET
    ]

    for word in [*words, *flags_not_yet()]:
        assert not re.search(rf"{re.escape(word)}(?![\w-])", page.read_text()), word


# ---------------------------------------------------------------- states


def test_the_drawing_of_the_states_is_their_table() -> None:
    [drawing] = blocks(DOCS / "architecture.md", "mermaid")
    inside = drawing[drawing.index("{") : drawing.index("}")]
    active = [state.value for state in State if state.active]
    [start] = re.findall(r"\[\*\] --> (\w+)", inside)

    drawn: dict[str, dict[str, str]] = {state.value: {} for state in State}
    for source, goal, move in re.findall(r"(\w+) --> (\w+) : (\w+)", drawing):
        for state in active if source == "active" else [source]:
            drawn[state][move] = start if goal == "active" else goal

    assert drawn == {
        state.value: {move.name: goal.value for move, goal in moves.items()} for state, moves in MOVES.items()
    }
    assert set(re.findall(r"\w+(?= -->)|(?<=--> )\w+", inside)) == set(active)


def test_the_states_that_nothing_leads_to_yet_are_named() -> None:
    sources = "".join(
        path.read_text() for path in (ROOT / "flowerd").glob("*.py") if path.name != "states.py"
    )
    made = {Move[name] for name in re.findall(r"Move\.([A-Z_]+)", sources)}
    reached = {goal.value for moves in MOVES.values() for move, goal in moves.items() if move in made}
    unreached = {state.value for state in State} - reached

    assert set(spans(paragraph("Waiting."))) & {state.value for state in State} == unreached
    assert {spans(cells[0])[0] for cells in rows(OPERATING, "state")} == reached


# ---------------------------------------------------------------- the library


@pytest.mark.parametrize("name", TABLES)
def test_the_parameters_and_their_defaults_are_those_of_the_code(name: str) -> None:
    said = {spans(cells[0])[0]: default_said(cells[1]) for cells in parameter_tables()[name]}

    assert list(said.items()) == list(defaults_of(name).items())


def test_whatever_a_person_makes_or_calls_has_its_table() -> None:
    assert sorted(parameter_tables()) == sorted(TABLES)


def test_every_public_name_is_spoken_of() -> None:
    said = {word for span in spans(LIBRARY.read_text()) for word in re.findall(r"\w+", span)}
    said |= set(re.findall(r"\w+", "".join(blocks(LIBRARY, "python"))))

    assert set(flower.__all__) - said == set()


def test_the_keys_of_a_context_are_those_that_are_promised() -> None:
    promised = re.findall(r"\b_\w+", base.__doc__ or "")

    assert {spans(cells[0])[0] for cells in rows(LIBRARY, "key")} == set(promised)


def test_the_kinds_of_events_are_those_that_are_promised() -> None:
    promised = [
        name for group in re.findall(r"``([\w\s]+)``", events.__doc__ or "") for name in group.split()
    ]

    assert sorted(spans(cells[0])[0] for cells in rows(LIBRARY, "kind")) == sorted(promised)


def test_every_field_of_a_payload_is_named() -> None:
    said = {spans(cells[0])[0]: set(spans(cells[2])) for cells in rows(LIBRARY, "kind")}
    told = [event for message in messages() for event in normalize(message)]

    for event in told:
        assert event.payload.keys() <= said[event.kind], event
    made_elsewhere = {"step", "interrupt", "notice", "retry", "handoff", "ask", "judge"}
    assert {event.kind for event in told} == said.keys() - made_elsewhere


# ---------------------------------------------------------------- numbers and sentences


def test_every_number_is_that_of_the_code() -> None:
    units = {"": 1, "s": 1, "h": 3600, "MiB": 1024 * 1024}
    for what, value, where in rows(OPERATING, "what", "value"):
        number, _, unit = value.partition(" ")
        assert float(number) * units[unit] == constant(spans(where)[0]), what


def test_every_measured_number_names_what_measures_it() -> None:
    measured = rows(OPERATING, "measured", "ratio")

    assert measured
    for what, ratio, _, measure in measured:
        assert float(ratio) > 0 and spans(measure)[0] in MEASURES, what


def test_the_sentences_are_said_in_both_languages_as_they_stand() -> None:
    said = [(spans(chinese)[0], spans(english)[0]) for chinese, english in rows(OPERATING, "Chinese")]

    assert said
    assert set(said) <= set(SENTENCES.values())


def test_the_quiet_lines_are_in_the_code_as_they_stand() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "flower").rglob("*.py"))
    joined = re.sub(r'"\s*\n\s*f?"', "", sources)
    said = [
        span for cells in rows(DOCS / "continuity.md", "Chinese") for cell in cells for span in spans(cell)
    ]

    assert said
    for line in said:
        for part in line.split("…"):
            assert part in joined, line


def test_every_variable_of_flowers_own_is_read_somewhere() -> None:
    sources = "".join(
        path.read_text()
        for package in ("flower", "flowerctl", "flowerd", "protocol")
        for path in (ROOT / package).rglob("*.py")
    )
    for page in PAGES:
        for name in re.findall(r"\bFLOWER_[A-Z]+", page.read_text()):
            assert f'"{name}"' in sources, name


# ---------------------------------------------------------------- reading Markdown


def prose(page: Path) -> str:
    """The page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def spans(text: str) -> list[str]:
    """What stands in backticks, one or two, without a block's three."""
    return [found[1].strip() for found in re.findall(r"(?<!`)(``?)(?!`)(.+?)(?<!`)\1(?!`)", text)]


def links(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"\[((?:`[^`]*`|[^\]`])+)\]\(([^)\s]+)\)", prose(page))


def anchors(page: Path) -> set[str]:
    """The names by which the headings of a page can be linked to."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def rows(page: Path, *heads: str) -> list[list[str]]:
    """As `rows_in`, of a page that has such a table."""
    found = list(rows_in(prose(page), *heads))
    assert found, f"{page.name} has no table under {heads}"
    return found


def rows_in(text: str, *heads: str) -> Iterator[list[str]]:
    """The rows, as cells, of every table whose first columns are headed so."""
    for table in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        head, _, *body = [
            [cell.strip() for cell in line.strip().strip("|").split(" |")] for line in table.splitlines()
        ]
        if head[: len(heads)] == list(heads):
            yield from ([cell.removeprefix("|").strip() for cell in line] for line in body)


def parameter_tables() -> dict[str, list[list[str]]]:
    """The table of parameters under each heading that is one name."""
    sections = re.split(r"^### ", LIBRARY.read_text(), flags=re.MULTILINE)[1:]
    found = {}
    for section in sections:
        heading, _, body = section.partition("\n")
        table = list(rows_in(body, "parameter"))
        if table:
            found[heading.strip("`")] = table
    return found


def paragraph(name: str) -> str:
    """One of the paragraphs of the list of what is not there yet."""
    listed = INDEX.read_text().partition(NOT_YET)[2]
    return listed.partition(f"**{name}**")[2].partition("\n\n")[0]


# ---------------------------------------------------------------- reading the code


def commands(page: Path) -> list[list[str]]:
    """Every command of ours in the blocks for a shell and in backticks; of what isn't there, and what is said, none."""
    text = page.read_text().partition(NOT_YET)[0] if page == INDEX else page.read_text()
    shell = "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    told = re.sub(r"^```.*?^```$|^\| Chinese .*?\n\n", "", text, flags=re.MULTILINE | re.DOTALL)
    found = []
    for line in [*shell.splitlines(), *spans(told)]:
        last = re.split(r"&&|\|", line)[-1].strip()
        if re.match(r"(flower|flowerctl|flowerd) [-\w\"]", last, re.ASCII) and "…" not in last:
            found.append(shlex.split(last, comments=True))
    return found


def taken(command: list[str]) -> bool:
    """Whether its parser takes the command."""
    name, *given = command
    parsers: dict[str, Callable[[list[str]], object]] = {
        "flower": flower_takes,
        "flowerctl": operating._parser(Texts()).parse_args,
        "flowerd": daemon._parser("zh").parse_args,
    }
    try:
        parsers[name](given)
    except SystemExit as end:
        return end.code == 0
    return True


def flower_takes(words: list[str]) -> object:
    command, rest = arguments.command_of(words)
    if command == "once":
        return once.parse(rest or ["words"], Texts())  # the name alone is a name, no call
    return arguments.parse(rest, Texts())


def flower_parser() -> argparse.ArgumentParser:
    return arguments._parser(Texts())


def flags_not_yet() -> set[str]:
    return {FLAGS[name] for name in RunOptions.__struct_fields__ if name not in HONOURED} | {"--no-daemon"}


def default_said(cell: str) -> Any:
    return NOTHING if cell == NOTHING else ast.literal_eval(spans(cell)[0])


def defaults_of(name: str) -> dict[str, Any]:
    """The parameters of a public class, function or method, in order, each with its default."""
    thing: Any = flower
    for part in name.split("."):
        thing = getattr(thing, part)
    made = dataclasses.fields(thing) if dataclasses.is_dataclass(thing) else ()
    factories = {
        each.name: each.default_factory for each in made if each.default_factory is not dataclasses.MISSING
    }
    found: dict[str, Any] = {}
    for parameter in inspect.signature(thing).parameters.values():
        if parameter.name in factories:
            found[parameter.name] = factories[parameter.name]()
        elif parameter.name != "self":
            found[parameter.name] = NOTHING if parameter.default is parameter.empty else parameter.default
    return found


def constant(path: str) -> Any:
    """A constant of a module, or the default of a field of one of its classes."""
    *names, last = path.split(".")
    if not names[-1][0].isupper():
        return getattr(import_module(".".join(names)), last)
    owner = getattr(import_module(".".join(names[:-1])), names[-1])
    [field] = [each for each in dataclasses.fields(owner) if each.name == last]
    return field.default


def messages() -> list[Any]:
    """One of the SDK's messages for each thing that an event can be made of."""
    from claude_agent_sdk import types as sdk

    said: list[Any] = [
        sdk.TextBlock("said"),
        sdk.ThinkingBlock("thought", "signature"),
        sdk.ToolUseBlock("id", "Bash", {"command": "ls"}),
    ]
    returned = sdk.ToolResultBlock("id", "out", False)
    common: dict[str, Any] = {"uuid": "u", "session_id": "s"}
    return [
        sdk.AssistantMessage(said, "model", usage={"input_tokens": 1}),
        sdk.AssistantMessage(said, "model", parent_tool_use_id="parent"),
        sdk.AssistantMessage([sdk.TextBlock("API Error")], "<synthetic>", error="unknown"),
        sdk.UserMessage("said"),
        sdk.UserMessage([returned], parent_tool_use_id="parent"),
        sdk.ResultMessage("success", 1, 1, False, 1, "s"),
        sdk.TaskStartedMessage("task_started", {}, task_id="t", description="d", **common),
        sdk.SystemMessage("init", {"session_id": "s"}),
        sdk.SystemMessage("compact_boundary", {}),
        object(),
    ]
