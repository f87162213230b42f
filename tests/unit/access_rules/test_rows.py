"""Rows of access rules: what a change does not concern stays as its owner wrote it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_dr.access_rules.rows import changed_rows, row_of_rules, rows_of_rules, rules_of_row
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType

WRITE = Acl(ResourceType.TOPIC, "orders.", PatternType.PREFIXED, "User:app", AclOperation.WRITE, AclPermission.DENY)
READ = replace(WRITE, operation=AclOperation.READ)
OTHER = replace(WRITE, principal="User:other")

acls = st.frozensets(
    st.builds(
        Acl,
        resource=st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
        name=st.sampled_from(["orders.", "payments"]),
        pattern=st.sampled_from(PatternType),
        principal=st.sampled_from(["User:app", "User:other"]),
        operation=st.sampled_from([AclOperation.READ, AclOperation.WRITE, AclOperation.ALTER_CONFIGS]),
        permission=st.sampled_from(AclPermission),
    )
)


def changed(rows: list[dict[str, object]], adding: frozenset[Acl], removing: frozenset[Acl]) -> list[dict[str, object]]:
    found = changed_rows(rows, adding=adding, removing=removing, read=rules_of_row, row_of=row_of_rules)
    return [dict(row) for row in found]


def rules(rows: list[dict[str, object]]) -> frozenset[Acl]:
    return frozenset(acl for row in rows for acl in rules_of_row(row).values())


@given(before=acls, adding=acls, removing=acls)
def test_a_change_adds_and_removes_exactly_what_it_is_asked_for(
    before: frozenset[Acl], adding: frozenset[Acl], removing: frozenset[Acl]
) -> None:
    after = changed([dict(row) for row in rows_of_rules(before)], adding - removing, removing)
    assert rules(after) == (before | adding) - removing
    assert changed(after, adding - removing, removing) == after, "the same change again changes nothing"


def test_rows_of_others_stay_word_for_word_also_where_they_say_the_same() -> None:
    theirs: dict[str, object] = {**row_of_rules([WRITE]), "because": "a person wrote this"}
    after = changed([theirs], frozenset({WRITE, OTHER}), frozenset())
    assert after == [theirs, dict(row_of_rules([OTHER]))]


def test_a_row_that_loses_one_of_its_operations_keeps_everything_else() -> None:
    both: dict[str, object] = {**row_of_rules([READ, WRITE]), "because": "of it"}
    assert changed([both], frozenset(), frozenset({READ})) == [{**both, "operations": ["WRITE"]}]


def test_rules_that_differ_in_their_operation_alone_are_one_row() -> None:
    assert [row["operations"] for row in rows_of_rules([WRITE, READ, OTHER])] == [["READ", "WRITE"], ["WRITE"]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"principal": ""}, "'' is not text"),
        ({"operations": ["WRITES"]}, "WRITES"),
        ({"pattern": "regex"}, "regex"),
        ({"operations": None}, "of another kind than expected"),
    ],
)
def test_a_row_that_is_none_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        rules_of_row({**row_of_rules([WRITE]), **change})


def test_a_row_without_a_name_is_refused() -> None:
    row = {key: value for key, value in row_of_rules([WRITE]).items() if key != "name"}
    with pytest.raises(ValueError, match="'name' is missing"):
        rules_of_row(row)
