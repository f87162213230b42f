"""Access rules as rows of a document: one row names a principal, a resource and several operations on it.

A row that a change does not concern stays exactly as it is, with whatever its owner wrote into it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kafka_dr.causes import cause
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType

Row = Mapping[str, Any]


def changed_rows(
    rows: Sequence[Row],
    *,
    adding: frozenset[Acl],
    removing: frozenset[Acl],
    read: Callable[[Row], Mapping[str, Acl]],
    row_of: Callable[[Sequence[Acl]], Row],
) -> list[Row]:
    """Return rows after a change.

    :param read: returns the rules of a row by the word of their operation; words that it does not know stay
    :param row_of: makes a row of rules that differ in their operation alone
    """
    kept: list[Row] = []
    there: set[Acl] = set()
    for row in rows:
        rules = read(row)
        gone = {word for word, acl in rules.items() if acl in removing}
        there.update(acl for word, acl in rules.items() if word not in gone)
        left = [word for word in row.get("operations", ()) if word not in gone]
        if not gone:
            kept.append(row)
        elif left:
            kept.append({**row, "operations": left})
    return [*kept, *(row_of(same) for same in _by_resource(adding - there))]


def _by_resource(acls: Iterable[Acl]) -> list[list[Acl]]:
    same: dict[tuple[str, ...], list[Acl]] = {}
    for acl in sorted(acls):
        key = (acl.principal, acl.resource, acl.name, acl.pattern, acl.permission, acl.host)
        same.setdefault(key, []).append(acl)
    return [same[key] for key in sorted(same)]


def rules_of_row(row: Row) -> dict[str, Acl]:
    """Read a row of this project's own format.

    :raises ValueError: it is no such row
    """
    try:
        return {
            word: Acl(
                ResourceType(row["resource_type"]),
                _text(row["name"]),
                PatternType(row["pattern"]),
                _text(row["principal"]),
                AclOperation(word),
                AclPermission(row.get("permission", AclPermission.DENY)),
                _text(row.get("host", "*")),
            )
            for word in row["operations"]
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"of a rule, {cause(error)}" if isinstance(error, KeyError) else cause(error)) from error


def row_of_rules(same: Sequence[Acl]) -> Row:
    """Return a row of this project's own format, of rules that differ in their operation alone."""
    acl = same[0]
    return {
        "principal": acl.principal,
        "permission": acl.permission.value,
        "resource_type": acl.resource.value,
        "name": acl.name,
        "pattern": acl.pattern.value,
        "operations": [each.operation.value for each in same],
        "host": acl.host,
    }


def rows_of_rules(acls: Iterable[Acl]) -> list[Row]:
    """Return rows of this project's own format, in a fixed order."""
    return [row_of_rules(same) for same in _by_resource(acls)]


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is not text")
    return value
