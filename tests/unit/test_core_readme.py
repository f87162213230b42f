"""The page about the core is true: its steps, phases and invariants, and the journaled facts, are those of the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from test_architecture import CORE, ROOT, python_files

from kafka_dr.adoption.handing_back import POSITIONS_GIVEN
from kafka_dr.adoption.un_adopt.stop_flow import FLOW_STOPPED
from kafka_dr.approvals.claim import GROUNDS
from kafka_dr.approvals.journaled import ANSWERS, QUESTIONS
from kafka_dr.failover.planned.copy_first import COPIES_LEFT
from kafka_dr.failover.unplanned.fetch import FETCHED
from kafka_dr.register import Phase
from kafka_dr.register.abandonment import OLD_CLUSTER_PREPARED
from kafka_dr.register.flow_seed import FLOW_SEED
from kafka_dr.register.quarantine import QUARANTINE
from kafka_dr.register.taken_over import BEGINS, COPY, EXISTING, RELEASE_ENDS, TAIL_SEEN
from kafka_dr.rescue.copy_reached import UNVERIFIED
from kafka_dr.runs.admitted_writes import WRITES_ADMITTED
from kafka_dr.runs.inputs import INPUTS
from kafka_dr.runs.request import VERBS, StepName
from kafka_dr.runs.retention_hold import RETENTION_HOLD
from kafka_dr.runs.sealing import SEALED

PAGE = (CORE / "README.md").read_text("utf-8")
FACTS = (ROOT / "include" / "guide" / "inside-facts.md").read_text("utf-8")
INVARIANTS = [f"I{number}" for number in range(1, 11)]
#: The rooms whose steps journal facts.
JOURNALING = ("adoption", "failback", "failover", "group_offsets", "runs")


def rows(page: str, *heads: str) -> list[list[str]]:
    """Return the rows of the table with these headings, each as its cells."""
    lines = page.splitlines()
    begin = lines.index(f"| {' | '.join(heads)} |") + 2
    end = next(number for number in range(begin, len(lines)) if not lines[number].startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[begin:end]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def invariants(page: str) -> dict[str, str]:
    """Return what a page says of each invariant."""
    return dict(re.findall(r"^- \*\*(I\d+)\*\* (.*)$", page, re.MULTILINE))


def journaled() -> Iterator[str]:
    """Yield the name of every fact that a run journals for itself."""
    for path in (path for room in JOURNALING for path in python_files(f"include/kafka_dr/{room}")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "write_fact":
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    yield str(first.value)
    yield from (GROUNDS, INPUTS, FLOW_SEED, QUARANTINE, OLD_CLUSTER_PREPARED, SEALED)
    yield from (FETCHED, UNVERIFIED, RETENTION_HOLD, COPIES_LEFT, WRITES_ADMITTED)
    yield from (COPY, EXISTING, TAIL_SEEN, BEGINS, FLOW_STOPPED, RELEASE_ENDS, POSITIONS_GIVEN)


def test_the_steps_of_each_verb_are_in_their_order() -> None:
    listed = {verb: names(steps) for verb, steps in re.findall(r"^- \*\*(\w+)\*\*: (.*)$", PAGE, re.MULTILINE)}
    assert listed == {verb: [step.name.value for step in rules.steps] for verb, rules in VERBS.items()}


def test_the_phases_and_the_journaled_facts_are_those_of_the_code() -> None:
    assert [names(row[0])[0] for row in rows(PAGE, "phase", "meaning", "next")] == [phase.value for phase in Phase]
    facts = rows(FACTS, "step", "facts that it journals")
    steps = {names(row[0])[0] for row in facts}
    assert steps <= {step.value for step in StepName}
    said = {name for row in facts for name in names(row[1])}
    written = {*journaled(), *QUESTIONS.values(), *ANSWERS.values()}
    assert said - steps <= {*written, "dr_health", "dr_adopt"}
    assert written <= said


def test_every_invariant_is_there_and_has_a_test() -> None:
    """``tests/test_pages.py`` looks whether the named tests exist."""
    assert list(invariants(PAGE)) == INVARIANTS
    assert [name for name, said in invariants(PAGE).items() if not re.search(r"`[\w/]+\.py::\w+`", said)] == []


def test_the_pages_with_all_tests_of_the_invariants_say_the_same_of_each() -> None:
    folder = ROOT / "include" / "guide"
    pages = [folder / "inside-invariants.md", folder / "inside-invariants-of-runs.md"]
    whole = {name: said for page in pages for name, said in invariants(page.read_text("utf-8")).items()}
    assert list(whole) == INVARIANTS
    short = {name: re.split(r" `|, and a mistake", said)[0].rstrip(".") for name, said in invariants(PAGE).items()}
    assert {name: said for name, said in short.items() if not whole[name].startswith(said)} == {}
