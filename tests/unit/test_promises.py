"""Every promise of the page on continuity has a test, and every test that the table names is there to fail."""

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TABLE: dict[str, Any] = tomllib.loads((ROOT / "tests" / "promises.toml").read_text())
SECTIONS = [
    "The conversation goes on",
    "Beside the handoff",
    "What is on disk",
    "The least code",
    "Looking without touching",
    "The three files",
    "What resume_from means",
    "A step's name",
    "At once, and never in the way",
    "Killed, and rebooted",
    "The judge",
    "Words at a wake",
    "Cut off in the first step",
    "What is said when it goes on",
    "One line at a wake",
    "Outages",
    "The price",
    "Starting afresh",
    "When not to use it",
    "Where to read on",
]
PROMISES = [promise for section in TABLE["section"] for promise in section["promise"]]
NAMED = sorted({name for promise in PROMISES for name in promise["tests"]})


def test_every_section_of_the_page_has_its_promises_in_the_pages_order() -> None:
    assert [section["name"] for section in TABLE["section"]] == SECTIONS


def test_every_promise_is_one_statement_with_at_least_one_test() -> None:
    for promise in PROMISES:
        assert promise.keys() == {"says", "tests"}, promise
        assert promise["says"].strip() and promise["tests"], promise
        assert len(set(promise["tests"])) == len(promise["tests"]), promise


def test_no_promise_is_made_twice() -> None:
    said = Counter(each["says"] for each in PROMISES)

    assert [text for text, times in said.items() if times > 1] == []


def test_every_test_that_is_named_is_there_for_pytest_to_run() -> None:
    assert [problem for name in NAMED if (problem := problem_of(name))] == []


def test_no_test_of_a_module_takes_anothers_name() -> None:
    modules = sorted({name.partition("::")[0] for name in NAMED})
    names = {path: Counter(name for name, _ in functions(path)) for path in modules if (ROOT / path).exists()}

    taken = [(path, name) for path, found in names.items() for name, times in found.items() if times > 1]
    assert taken == []


def problem_of(name: str) -> str | None:
    """Why pytest would not run the test of this name, or not let it fail; None if it would."""
    path, *inside = name.split("::")
    if not (ROOT / path).is_file() or not Path(path).name.startswith("test_"):
        return f"{name}: there is no such module of tests"
    found = [decorators for where, decorators in functions(path) if where == tuple(inside)]
    if not found or not inside[-1].startswith("test_"):
        return f"{name}: there is no such test"
    if any(re.match(r"pytest\.mark\.(skip|xfail)", decorator) for decorator in found[-1]):
        return f"{name}: it is skipped, or may fail"
    return None


@cache
def functions(path: str) -> list[tuple[tuple[str, ...], list[str]]]:
    """Every function of a module and of its classes: its name within the module, and its decorators."""
    found: list[tuple[tuple[str, ...], list[str]]] = []

    def collect(body: list[ast.stmt], within: tuple[str, ...]) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                collect(node.body, (*within, node.name))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                decorators = [ast.unparse(each) for each in node.decorator_list]
                if not any(each.endswith(".setter") for each in decorators):
                    found.append(((*within, node.name), decorators))

    collect(ast.parse((ROOT / path).read_text()).body, ())
    return found
