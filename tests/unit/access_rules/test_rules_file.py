"""The file of wanted rules: written whole, by compare-and-set, with the epoch; what others write in it stays."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_dr.access_rules.rules_file import RulesFile
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.errors import NeedsPerson, Refused, TryAgain
from support.manual_clock import ManualClock

DENY = Acl(ResourceType.TOPIC, "orders.", PatternType.PREFIXED, "User:app", AclOperation.WRITE, AclPermission.DENY)
SECOND = replace(DENY, principal="User:probe")
NONE: frozenset[Acl] = frozenset()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "access" / "east.json"


def of(path: Path, group: str = "orders", apply_line: tuple[str, ...] = ()) -> RulesFile:
    return RulesFile(path, "east", group, ManualClock(), apply_line)


def add(file: RulesFile, *acls: Acl, epoch: int | None = 1, then: Callable[[], object] = lambda: None) -> None:
    def before_each() -> int:
        then()
        assert epoch is not None
        return epoch

    file.change(adding=frozenset(acls), removing=NONE, before_each=before_each if epoch is not None else None)


def document(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text()))


def test_a_file_that_is_not_there_has_no_rules_and_is_made_by_the_first_one(path: Path) -> None:
    file = of(path)
    assert file.read() == NONE
    add(file, DENY, epoch=4)
    assert file.read() == {DENY}
    assert document(path) == {
        "schema_version": 1,
        "cluster": "east",
        "revision": 1,
        "groups": {
            "orders": {
                "epoch": 4,
                "rules": [
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
        },
    }


def test_what_is_written_already_is_not_written_again_and_nobody_is_asked(path: Path) -> None:
    add(of(path), DENY)
    before = path.stat().st_mtime_ns, path.read_bytes()
    add(of(path), DENY, then=lambda: pytest.fail("nothing has to be permitted"))
    assert (path.stat().st_mtime_ns, path.read_bytes()) == before


def test_two_groups_share_a_file_and_each_changes_its_own_part(path: Path) -> None:
    add(of(path), DENY, epoch=3)
    add(of(path, "carts"), SECOND, epoch=9)
    of(path).change(adding=NONE, removing=frozenset({DENY, SECOND}), before_each=lambda: 4)
    assert [of(path).read(), of(path, "carts").read()] == [set(), {SECOND}]
    assert {name: part["epoch"] for name, part in document(path)["groups"].items()} == {"orders": 4, "carts": 9}
    assert document(path)["revision"] == 3


def test_what_a_person_writes_between_the_read_and_the_write_stays_and_so_does_what_is_written_here(path: Path) -> None:
    add(of(path), DENY)
    edits = ["once", "and again"]

    def person_saves() -> None:
        if edits:
            found = document(path)
            found.setdefault("notes", []).append(edits.pop(0))
            path.write_text(json.dumps(found))

    add(of(path), SECOND, then=person_saves)
    assert document(path)["notes"] == ["once", "and again"]
    assert of(path).read() == {DENY, SECOND}


def test_somebody_who_writes_all_the_time_is_named(path: Path) -> None:
    count = iter(range(100))
    with pytest.raises(TryAgain, match="was changed by others 10 times while it was to be changed"):
        add(of(path), DENY, then=lambda: path.write_text(json.dumps({**document_of(path), "note": next(count)})))


def test_what_a_person_writes_while_the_new_file_reaches_the_disk_stays(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(of(path), DENY)
    left, synced = [1], os.fsync

    def slow(handle: int) -> None:
        synced(handle)
        if left:
            left.pop()
            path.write_text(json.dumps({**document(path), "notes": "of a person"}))

    monkeypatch.setattr(os, "fsync", slow)
    add(of(path), SECOND)
    assert of(path).read() == {DENY, SECOND}
    assert document(path)["notes"] == "of a person"
    assert [each.name for each in path.parent.iterdir() if each.name.startswith(f".{path.name}")] == []


def document_of(path: Path) -> dict[str, Any]:
    return document(path) if path.exists() else {"schema_version": 1, "cluster": "east"}


def test_an_older_epoch_writes_nothing(path: Path) -> None:
    add(of(path), DENY, epoch=5)
    before = path.read_bytes()
    with pytest.raises(Refused, match=r"has the rules of orders of epoch 5, and this process has epoch 4"):
        add(of(path), SECOND, epoch=4)
    assert path.read_bytes() == before
    add(of(path), SECOND, epoch=None)
    assert document(path)["groups"]["orders"]["epoch"] == 5, "a correction keeps the epoch"


def test_without_permission_nothing_is_written(path: Path) -> None:
    def no() -> int:
        raise Refused("the register says otherwise")

    with pytest.raises(Refused, match="the register says otherwise"):
        of(path).change(adding=frozenset({DENY}), removing=NONE, before_each=no)
    assert not path.exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "cannot be understood"),
        ("[]", "expected one JSON object with schema_version 1"),
        ('{"schema_version": 2, "cluster": "east"}', "expected one JSON object with schema_version 1"),
        ('{"schema_version": 1, "cluster": "west"}', "it is of the cluster 'west', and the topology gives it to east"),
        ('{"schema_version": 1, "cluster": "east", "groups": []}', "key orders must be an object with a list"),
        (
            '{"schema_version": 1, "cluster": "east", "groups": {"orders": {"rules": 7}}}',
            "key orders must be an object",
        ),
        ('{"schema_version": 1, "cluster": "east", "groups": {"orders": {"rules": [{}]}}}', "'operations' is missing"),
        ('{"schema_version": 1, "cluster": "east", "groups": {"orders": {"epoch": "x"}}}', "epoch is 'x', expected a"),
        ('{"schema_version": 1, "cluster": "east", "revision": true}', "revision is True, expected a whole number"),
    ],
)
def test_a_file_that_cannot_be_understood_is_left_as_it_is(path: Path, content: str, said: str) -> None:
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(NeedsPerson, match=said):
        add(of(path), DENY)
    assert path.read_text() == content


def test_a_lock_of_another_process_is_waited_for_and_named(path: Path) -> None:
    add(of(path), DENY)
    with Path(f"{path}.lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(TryAgain, match="was locked by another process for 5 s"):
            add(of(path), SECOND)
    assert of(path).read() == {DENY}


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "access").write_text("a file, no folder")
    with pytest.raises(TryAgain, match=r"east\.json cannot be"):
        add(of(tmp_path / "access" / "east.json"), DENY)


def test_the_program_learns_what_it_is_to_apply_and_a_failure_says_why(path: Path) -> None:
    code = (
        "import os, sys; names = ('KAFKA_DR_CLUSTER', 'KAFKA_DR_PROTECTION_GROUP', 'KAFKA_DR_RULES_FILE')\n"
        "print(*(os.environ[name] for name in names), os.getcwd(), file=sys.stderr)\n"
        "sys.exit(os.path.exists('refuse'))"
    )
    file = of(path, apply_line=(sys.executable, "-c", code))
    add(file, DENY)
    file.apply(seconds=20)
    (path.parent / "refuse").touch()
    with pytest.raises(TryAgain, match=f"ended with code 1 and did not apply {path}: east orders {path} {path.parent}"):
        file.apply(seconds=20)


def test_without_a_program_nothing_is_run(path: Path) -> None:
    of(path).apply(seconds=1)
    assert of(path).waits_for() == ""
