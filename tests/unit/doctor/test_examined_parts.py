"""What the doctor judges without a cluster: each right, the clock, certificates and principals, routes, evidence."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kafka_dr.clusters.model import Acl, AclOperation
from kafka_dr.doctor.reached_cluster import judge_clock, missing_rights, unusable_rules_file
from kafka_dr.fencing.authorizer import Authorizer
from kafka_dr.readiness_checks.certificates import principal_of
from kafka_dr.rights import NeededRight, needed_on
from kafka_dr.routing import FileRouter, RouteUnwritable
from kafka_dr.topology.access_rules import AccessRulesSpec
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology
from lab.allowed import allowed_on
from lab.clusters import EAST
from support.secured_connect import Authority
from support.sentences import assert_sentence

NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)
_FILE = Path(__file__).parents[3] / "include" / "topology.yaml"
_ENVIRON = {
    "KAFKA_DR_LAB_EAST": "127.0.0.1:1",
    "KAFKA_DR_LAB_WEST": "127.0.0.1:2",
    "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
    "KAFKA_DR_LAB_HOME": "/nowhere",
}


def topology() -> Topology:
    return load(_FILE, _ENVIRON)


def each_right() -> Iterator[tuple[NeededRight, AclOperation]]:
    declared = topology()
    for right in needed_on("east", declared.cluster("east"), declared.protection_groups.values()):
        yield from ((right, operation) for operation in right.operations)


@pytest.mark.parametrize(("right", "operation"), list(each_right()), ids=lambda each: str(getattr(each, "shown", each)))
def test_each_right_of_each_principal_that_is_taken_away_is_named_with_the_acl_that_gives_it_back(
    right: NeededRight, operation: AclOperation
) -> None:
    declared, granted = topology(), frozenset(allowed_on(EAST, (("west", "east"),)))
    spec, groups = declared.cluster("east"), tuple(declared.protection_groups.values())
    assert missing_rights("east", spec, groups, granted) == []
    name = f"{right.name}~" if right.shown.endswith("*") and right.name != "*" else right.name

    def gives_it(acl: Acl) -> bool:
        return acl.operation in (operation, AclOperation.ALL) or Authorizer([acl], frozenset()).allows(
            right.principal, operation, right.resource, name
        )

    theirs = {acl for acl in granted if (acl.principal, acl.resource) == (right.principal, right.resource)}
    taken = set(filter(gives_it, theirs))
    found = missing_rights("east", spec, groups, granted - taken)
    wanted = next(acl for acl in right.acls if acl.operation is operation)
    named = [each for each in found if wanted in each.missing]
    assert len(named) == 1, found
    assert f"{right.principal} lacks " in named[0].detail
    assert missing_rights("east", spec, groups, granted - taken | {acl for each in found for acl in each.missing}) == []


@pytest.mark.parametrize(
    ("apart", "outcome", "said"),
    [
        (0.0, "ok", "agree on the time"),
        (4.0, "ok", "agree on the time"),
        (-4.0, "ok", "agree on the time"),
        (40.0, "failed", "is 40 s ahead of that of the active controller of east, expected at most 5 s"),
        (-7200.0, "failed", "is 2 h slower than that"),
        (None, "unknown", "does not say what time it is"),
    ],
)
def test_a_clock_that_is_off_is_named_with_its_distance(apart: float | None, outcome: str, said: str) -> None:
    shown = None if apart is None else NOON - timedelta(seconds=apart)
    found = judge_clock("east", NOON, shown, NOON)
    assert (found.outcome, said in found.detail) == (outcome, True), found
    assert_sentence(found.detail)


def test_a_slow_answer_is_no_clock_that_is_off() -> None:
    assert judge_clock("east", NOON, NOON + timedelta(seconds=8), NOON + timedelta(seconds=9)).outcome == "ok"


@pytest.mark.parametrize(
    ("rules", "principal"),
    [
        ("DEFAULT", "User:CN=dr-operator"),
        ("RULE:^CN=(.*?)$/$1/", "User:dr-operator"),
        ("RULE:^OU=(.*?)$/$1/, RULE:^CN=(.*?)$/app-$1/U, DEFAULT", "User:APP-DR-OPERATOR"),
        ("RULE:^OU=(.*?)$/$1/,DEFAULT", "User:CN=dr-operator"),
        ("RULE:(?<!a/$1/, DEFAULT", None),
    ],
)
def test_the_principal_of_a_certificate_follows_the_rules_of_the_brokers(
    tmp_path: Path, rules: str, principal: str | None
) -> None:
    file = Authority.made(tmp_path / "ca").signed("dr-operator")
    assert principal_of(str(file), rules) == principal
    assert principal_of(str(tmp_path / "absent.pem"), rules) is None


def test_a_route_that_could_be_switched_is_tried_out_without_a_trace(tmp_path: Path) -> None:
    FileRouter(tmp_path / "of" / "orders.json").try_out()
    assert list(tmp_path.iterdir()) == []


def test_a_route_on_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    said = r"file/orders\.json cannot be written \(a part of the path is not a folder\)"
    with pytest.raises(RouteUnwritable, match=said):
        FileRouter(tmp_path / "file" / "orders.json").try_out()


def test_a_route_on_a_file_system_that_takes_no_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refused)
    with pytest.raises(RouteUnwritable, match="this process has no right to do that"):
        FileRouter(tmp_path / "orders.json").try_out()


def test_a_rules_file_that_cannot_be_written_or_applied_is_named_before_the_first_fence(tmp_path: Path) -> None:
    program = tmp_path / "apply"
    program.write_text("#!/bin/sh\n", "utf-8")
    kept = AccessRulesSpec(kept_by="file", path=str(tmp_path / "rules.json"), apply=(str(program),))
    assert [str(program) in each for each in unusable_rules_file(kept)] == [True], "it is not executable"
    program.chmod(0o755)
    assert list(unusable_rules_file(kept)) == []
    gone = kept.model_copy(update={"path": str(tmp_path / "missing" / "rules.json")})
    assert [str(tmp_path / "missing") in each for each in unusable_rules_file(gone)] == [True]
    assert list(unusable_rules_file(AccessRulesSpec())) == []
