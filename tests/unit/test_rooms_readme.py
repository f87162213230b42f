"""The page about the core is true: its rooms, imports, steps, facts and tests are those of the code, and no others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from test_architecture import CORE, FORBIDDEN, OWNERS, ROOT, SPARK_MAY, imported, python_files, room_of

from kafka_dr.adoption.handing_back import POSITIONS_GIVEN
from kafka_dr.adoption.un_adopt.stop_flow import FLOW_STOPPED
from kafka_dr.approvals.claim import GROUNDS
from kafka_dr.approvals.journaled import ANSWERS, QUESTIONS
from kafka_dr.register import Phase
from kafka_dr.register.abandonment import OLD_CLUSTER_PREPARED
from kafka_dr.register.flow_seed import FLOW_SEED
from kafka_dr.register.quarantine import QUARANTINE
from kafka_dr.register.taken_over import BEGINS, COPY, EXISTING, RELEASE_ENDS, TAIL_SEEN
from kafka_dr.runs.inputs import INPUTS
from kafka_dr.runs.request import VERBS, StepName
from kafka_dr.runs.sealing import SEALED

PAGE = (CORE / "README.md").read_text("utf-8")
#: A test on the page, and whether the page says that it is a long one.
TESTS = re.compile(r"`([\w/]+\.py)::(\w+)`( \(long\))?")
#: The rooms whose steps journal facts.
JOURNALING = ("adoption", "failback", "failover", "group_offsets", "runs")


def rows(*heads: str) -> list[list[str]]:
    """Return the rows of the table with these headings, each as its cells."""
    lines = PAGE.splitlines()
    begin = lines.index(f"| {' | '.join(heads)} |") + 2
    end = next(number for number in range(begin, len(lines)) if not lines[number].startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[begin:end]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def rooms() -> dict[str, tuple[set[str], set[str]]]:
    """Return the rooms of the page in its order: what each one imports of the others, and its libraries."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for room, _, imports, libraries in rows("room", "what it owns", "imports", "libraries"):
        found[names(room)[0]] = (set(names(imports)), set(names(libraries)))
    return found


def rooms_of_the_code() -> dict[str, set[str]]:
    """Return what each room imports of the others."""
    found: dict[str, set[str]] = {}
    for path in python_files("include/kafka_dr"):
        others = {name.split(".")[1] for name in imported(path) if name.startswith("kafka_dr.")}
        found.setdefault(room_of(path), set()).update(others - {room_of(path)})
    return {room: others for room, others in found.items() if room not in {"__init__", "__main__"}}


def invariants() -> dict[str, str]:
    """Return what the page says of each invariant."""
    return dict(re.findall(r"^- \*\*(I\d+)\*\* (.*)$", PAGE, re.MULTILINE))


def journaled() -> Iterator[str]:
    """Yield the name of every fact that a run journals for itself."""
    for path in (path for room in JOURNALING for path in python_files(f"include/kafka_dr/{room}")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "write_fact":
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    yield str(first.value)
    yield from (GROUNDS, INPUTS, FLOW_SEED, QUARANTINE, OLD_CLUSTER_PREPARED, SEALED)
    yield from (COPY, EXISTING, TAIL_SEEN, BEGINS, FLOW_STOPPED, RELEASE_ENDS, POSITIONS_GIVEN)


def test_the_rooms_are_those_that_there_are_and_import_what_the_page_says() -> None:
    assert {room: others for room, (others, _) in rooms().items()} == rooms_of_the_code()


def test_a_room_imports_only_rooms_above_it() -> None:
    order = list(rooms())
    wrong = {room: others - set(order[: order.index(room)]) for room, (others, _) in rooms().items()}
    assert {room: below for room, below in wrong.items() if below} == {}


def test_libraries_belong_to_the_rooms_that_the_architecture_gives_them_to() -> None:
    owned = {room: {library for library, owners in OWNERS.items() if room in owners} for room in rooms()}
    assert {room: libraries for room, (_, libraries) in rooms().items()} == owned


def test_folders_import_what_the_architecture_lets_them() -> None:
    listed = {names(row[0])[0]: row for row in rows("folder", "may take from the core", "must not import")}
    assert {folder: set(names(row[2])) for folder, row in listed.items() if row[2]} == FORBIDDEN
    taken = {folder: {f"kafka_dr.{name}" for name in names(row[1])} for folder, row in listed.items() if names(row[1])}
    assert taken == SPARK_MAY


def test_the_steps_of_each_verb_are_in_their_order() -> None:
    listed = {verb: names(steps) for verb, steps in re.findall(r"^- \*\*(\w+)\*\*: (.*)$", PAGE, re.MULTILINE)}
    assert listed == {verb: [step.name.value for step in rules.steps] for verb, rules in VERBS.items()}


def test_the_phases_and_the_journaled_facts_are_those_of_the_code() -> None:
    assert [names(row[0])[0] for row in rows("phase", "meaning", "next")] == [phase.value for phase in Phase]
    facts = rows("step", "facts that it journals")
    steps = {names(row[0])[0] for row in facts}
    assert steps <= {step.value for step in StepName}
    said = {name for row in facts for name in names(row[1])}
    written = {*journaled(), *QUESTIONS.values(), *ANSWERS.values()}
    assert said - steps <= {*written, "dr_health", "dr_adopt"}
    assert written <= said


def test_every_invariant_is_there_and_has_a_test() -> None:
    assert list(invariants()) == [f"I{number}" for number in range(1, 11)]
    assert [name for name, said in invariants().items() if not TESTS.search(said)] == []


@pytest.mark.parametrize("invariant", invariants())
def test_the_tests_that_are_said_to_hold_an_invariant_exist(invariant: str) -> None:
    wrong = []
    for file, name, long in TESTS.findall(invariants()[invariant]):
        path = ROOT / "tests" / file
        tree = ast.parse(path.read_text("utf-8")) if path.is_file() else ast.Module([], [])
        found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
        is_long = any(ast.unparse(each) == "pytest.mark.long" for node in found for each in node.decorator_list)
        if not found or is_long != bool(long):
            wrong.append(f"{file}::{name} {'is long, or not, other than said' if found else 'does not exist'}")
    assert wrong == []
