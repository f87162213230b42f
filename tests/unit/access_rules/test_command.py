"""A program that keeps access rules: what it is asked, what it may answer, and what is said when it answers nothing."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.access_rules.command import CommandRules
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.errors import NeedsPerson, Refused, TryAgain
from support.manual_clock import ManualClock

DENY = Acl(ResourceType.TOPIC, "orders.", PatternType.PREFIXED, "User:app", AclOperation.WRITE, AclPermission.DENY)
#: Keeps what it is asked for in a file, and writes each document that it gets into another one.
PROGRAM = """
import json, pathlib, sys
folder, late = pathlib.Path(sys.argv[1]), sys.argv[2:] == ["late"]
asked = json.load(sys.stdin)
with (folder / "asked").open("a") as log:
    log.write(json.dumps(asked) + "\\n")
kept = folder / "kept"
rows = json.loads(kept.read_text()) if kept.exists() else []
if asked["action"] == "add" and not late:
    kept.write_text(json.dumps(rows + asked["denies"]))
if asked["action"] == "remove":
    kept.write_text(json.dumps([row for row in rows if row not in asked["denies"]]))
print(json.dumps({"denies": rows} if asked["action"] == "list" else {}))
"""


def rules(code: str, *arguments: str, seconds: float = 20) -> CommandRules:
    return CommandRules("north", "orders", (sys.executable, "-c", code, *arguments), ManualClock(), seconds)


def documents(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "asked").read_text().splitlines()]


def test_it_is_asked_in_one_document_with_the_epoch_that_permits_the_change(tmp_path: Path) -> None:
    kept = rules(PROGRAM, str(tmp_path))
    kept.add([DENY], before_each=lambda: 4)
    assert kept.list() == {DENY}
    kept.remove([DENY])
    assert kept.list() == frozenset()
    first, listed = documents(tmp_path)[:2]
    assert first == {
        "schema_version": 1,
        "action": "add",
        "cluster": "north",
        "group": "orders",
        "epoch": 4,
        "denies": [
            {
                "principal": "User:app",
                "permission": "DENY",
                "resource_type": "topic",
                "name": "orders.",
                "pattern": "prefixed",
                "operations": ["WRITE"],
                "host": "*",
            }
        ],
    }
    assert (listed["action"], listed["epoch"], listed["denies"]) == ("list", None, [])


def test_nothing_is_asked_for_nothing(tmp_path: Path) -> None:
    kept = rules(PROGRAM, str(tmp_path))
    kept.add([])
    kept.remove([])
    assert not (tmp_path / "asked").exists()
    assert not kept.is_direct
    assert kept.leaving(frozenset({DENY})) == kept.coming(frozenset({DENY})) == frozenset()


def test_what_is_not_listed_in_time_is_named(tmp_path: Path) -> None:
    with pytest.raises(TryAgain, match=r"lists 1 DENYs on north, such as DENY WRITE .* after 2 s: see what"):
        rules(PROGRAM, str(tmp_path), "late", seconds=2).add([DENY])


def test_without_permission_it_is_not_even_started(tmp_path: Path) -> None:
    def no() -> int:
        raise Refused("the register says otherwise")

    with pytest.raises(Refused, match="the register says otherwise"):
        rules(PROGRAM, str(tmp_path)).add([DENY], before_each=no)
    assert not (tmp_path / "asked").exists()


def test_it_gives_no_rights(tmp_path: Path) -> None:
    right = replace(DENY, permission=AclPermission.ALLOW)
    with pytest.raises(Refused, match="adds and removes DENYs alone, and ALLOW WRITE"):
        rules(PROGRAM, str(tmp_path)).add([DENY, right])


def test_a_failure_says_what_the_program_said() -> None:
    with pytest.raises(TryAgain, match="was asked to list DENYs on north and ended with code 7: no login"):
        rules("import sys; print('no login', file=sys.stderr); sys.exit(7)").list()


@pytest.mark.parametrize("answer", ["", "[]", "{}", '{"denies": 7}', '{"denies": [{"principal": "User:app"}]}'])
def test_an_answer_that_makes_no_sense_is_a_matter_for_a_person(answer: str) -> None:
    with pytest.raises(NeedsPerson, match="to list cannot be understood"):
        rules(f"print({answer!r})").list()
