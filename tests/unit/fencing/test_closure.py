"""One DENY of every operation instead of listed ones: understood everywhere, and no moment without a DENY."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import pytest

from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.errors import KafkaDrError
from kafka_dr.fencing import plan
from kafka_dr.fencing.authorizer import Authorizer
from kafka_dr.fencing.closure import closing, found_in, held, lacking, of_either_kind
from kafka_dr.fencing.proof import acls_present
from support.manual_clock import ManualClock
from support.pair_in_memory import GROUP, LISTED, PROBE, WHOLE, Pair

ALLOWED = frozenset(
    Acl(kind, "*", PatternType.LITERAL, who, operation, AclPermission.ALLOW)
    for kind in (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
    for who in GROUP.principals
    for operation in AclOperation
)


def able(denies: frozenset[Acl]) -> set[tuple[str, AclOperation, str]]:
    """Return what applications may do to what a standby refuses, by the brokers' rule."""
    authorizer = Authorizer(ALLOWED | denies)
    return {
        (deny.principal, deny.operation, deny.name)
        for deny in LISTED
        if authorizer.allows(deny.principal, deny.operation, deny.resource, deny.name)
    }


def test_what_lists_operations_and_what_denies_all_of_them_are_there_alike() -> None:
    assert not able(LISTED)
    assert not able(WHOLE)
    assert len(WHOLE) < len(LISTED) / 2
    for present in (LISTED, WHOLE, LISTED | WHOLE):
        assert lacking(LISTED, present) == frozenset()
        assert held(LISTED, present) == LISTED
        assert found_in(present | ALLOWED, LISTED) == present
    assert of_either_kind(LISTED) == LISTED | WHOLE


def test_all_for_somebody_else_elsewhere_or_allowed_covers_nothing() -> None:
    one = next(deny for deny in LISTED if deny.resource is ResourceType.TOPIC)
    for other in (
        replace(closing(one), principal="User:other"),
        replace(closing(one), name=f"{one.name}x"),
        replace(closing(one), pattern=PatternType.PREFIXED),
        replace(closing(one), host="10.0.0.1"),
        replace(closing(one), permission=AclPermission.ALLOW),
        replace(closing(one), resource=ResourceType.GROUP),
    ):
        assert lacking([one], [other]) == {one}, other
        assert not found_in([other], [one]), other


def test_a_fence_of_either_kind_is_read_back() -> None:
    for present, outcome in ((WHOLE, "ok"), (WHOLE - {min(WHOLE)}, "failed")):
        found = acls_present("west", LISTED, lambda p=present: p, clock=ManualClock(), deadline_seconds=0)  # type: ignore[misc]
        assert found.outcome == outcome


def test_a_standby_is_closed_in_one_go_and_its_probe_keeps_what_is_denied_to_it() -> None:
    pair = Pair()
    assert pair.changes().close(LISTED) == LISTED
    assert pair.rules.there == WHOLE | PROBE == pair.recorded
    assert pair.changes().missing(*plan.standby_in_order(GROUP)) == frozenset()
    assert pair.changes().close(LISTED) == frozenset()
    pair.opens_west()
    assert pair.rules.there == frozenset() == pair.recorded


def test_at_no_moment_is_an_operation_let_through_while_a_standby_is_closed() -> None:
    for point in range(4):
        pair = Pair()
        pair.rules.hold_up(point, lambda pair=pair: pair.seen.append(pair.rules.there))  # type: ignore[misc]
        pair.changes().close(LISTED)
        assert [able(there) for there in pair.seen] == [set()], point


def test_what_another_owner_denies_is_not_replaced_and_is_named_before_a_cluster_is_opened() -> None:
    pair = Pair()
    others = {min(LISTED), closing(max(LISTED))}
    pair.registers["west"].change_added_acls(
        "orders", "west", lambda found: replace(found, current=found.current - others)
    )
    pair.rules.there |= others
    pair.changes().close(LISTED)
    assert others <= pair.rules.there
    assert pair.changes().foreign(plan.standby(GROUP)) == others
    assert max(LISTED) in pair.rules.there, "what only another owner covers stays"


@pytest.mark.parametrize(
    "meanwhile",
    [
        Pair.rolls_back,
        Pair.opens_west,
        Pair.opens_west_and_comes_home,
        Pair.is_closed_by_another,
        Pair.is_closed_by_another_that_is_rolled_back,
    ],
)
@pytest.mark.parametrize("point", range(4))
@pytest.mark.parametrize("dies", [False, True])
def test_a_process_that_is_held_up_while_it_closes_a_standby_leaves_what_the_group_needs(
    meanwhile: Callable[[Pair], None], point: int, dies: bool
) -> None:
    pair = Pair()

    def happens() -> None:
        meanwhile(pair)
        if dies:
            raise SystemExit

    pair.rules.hold_up(point, happens)
    with suppress(KafkaDrError, SystemExit):
        pair.changes().close(LISTED)
    if dies:
        pair.health_looks()
    if pair.state.active == "east":
        assert able(pair.rules.there) == set()
        assert lacking(plan.standby(GROUP), pair.rules.there) == frozenset()
        pair.opens_west()
    late = pair.rules.there - plan.flow_fence(GROUP)
    assert dies or not late, "an active cluster has no DENY of a standby"
    assert late <= pair.recorded, "what is late can be lifted"


def test_each_state_denies_what_the_one_before_it_denies_and_more_and_a_standby_is_closed() -> None:
    states = list(plan.ResourceState)
    for before, after in pairwise(states):
        denied = plan.DENIED[after]
        assert all(set(operations) <= set(denied[kind]) for kind, operations in plan.DENIED[before].items())
        assert plan.between(before, after), f"{after} is {before}"
    found: dict[ResourceType, set[AclOperation]] = {}
    for deny in LISTED:
        found.setdefault(deny.resource, set()).add(deny.operation)
    assert found == {kind: set(operations) for kind, operations in plan.DENIED[plan.ResourceState.CLOSED].items()}
