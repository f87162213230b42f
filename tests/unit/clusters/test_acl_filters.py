"""Filters match exactly the ACLs that are to be removed, within the limits of a controller."""

from __future__ import annotations

import random
from itertools import product
from operator import attrgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_dr.clusters import acl_filters
from kafka_dr.clusters.acl_filters import MOST_ACLS, MOST_LOOKS, closed_first, exactly, filters_for, requests_of
from kafka_dr.clusters.model import Acl, AclOperation, AclPermission, PatternType, ResourceType

EVERY = [
    Acl(resource, name, pattern, principal, operation, permission, host)
    for resource, name, pattern, principal, operation, permission, host in product(
        (ResourceType.TOPIC, ResourceType.GROUP),
        ("a", "b"),
        PatternType,
        ("User:x", "User:y"),
        (AclOperation.WRITE, AclOperation.READ),
        AclPermission,
        ("*", "10.0.0.1"),
    )
]


@pytest.fixture
def at_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat a few ACLs like many."""
    monkeypatch.setattr(acl_filters, "_FEW_LOOKS", 0)


@given(st.sets(st.sampled_from(EVERY)), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_filters_match_exactly_what_is_to_be_removed(standing: set[Acl], chance: random.Random) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(acl_filters, "_FEW_LOOKS", 0)
        # All ACLs of principals and names, as fences have them, with and without a few that others added.
        key = attrgetter(*chance.choice([("principal",), ("name",), ("principal", "operation")]))
        chosen = {key(acl) for acl in standing if chance.random() < 0.5}
        removed = {acl for acl in standing if key(acl) in chosen and chance.random() < 0.9}

        found = filters_for(removed, standing)

    assert {acl for acl in standing if any(each.matches(acl) for each in found)} == removed
    assert all(sum(each.matches(acl) for acl in standing) == count for each, count in found.items())


@pytest.mark.usefixtures("at_any_size")
def test_one_filter_covers_a_principal_that_has_no_other_acls() -> None:
    mine = [a for a in EVERY if (a.principal, a.permission) == ("User:x", AclPermission.DENY)]

    assert len(filters_for(mine, EVERY)) == 2  # topics, groups
    other = next(a for a in mine if a.resource is ResourceType.TOPIC)
    assert other not in (kept := {*mine} - {other})
    assert not any(each.matches(other) for each in filters_for(kept, EVERY))


def test_each_of_a_few_acls_gets_a_filter_of_its_own() -> None:
    assert filters_for(EVERY[:9], EVERY) == dict.fromkeys(map(exactly, EVERY[:9]), 1)


@pytest.mark.usefixtures("at_any_size")
def test_no_request_exceeds_the_limits_of_a_controller() -> None:
    def deny(principal: int, topic: int) -> Acl:
        return Acl(
            ResourceType.TOPIC, f"t{topic}", PatternType.LITERAL, f"User:{principal}", AclOperation.WRITE,
            AclPermission.DENY,
        )  # fmt: skip

    many = {deny(principal, topic) for principal in range(3) for topic in range(MOST_ACLS + 1)}
    filters = filters_for(many, many)
    batches = list(requests_of(filters, len(many)))

    assert [each for batch in batches for each in batch] == list(filters)
    assert max(sum(filters[each] for each in batch) for batch in batches) <= MOST_ACLS
    assert max(len(batch) * len(many) for batch in batches) <= MOST_LOOKS
    assert sum(filters.values()) == len(many)


@given(st.sets(st.sampled_from(EVERY)))
@settings(deadline=None)
def test_wherever_adding_stops_no_allow_is_there_without_every_deny(wanted: set[Acl]) -> None:
    ordered = closed_first(wanted)
    assert set(ordered) == wanted
    assert len(ordered) == len(wanted)
    permissions = [acl.permission for acl in ordered]
    assert permissions == sorted(permissions, key=lambda each: each is AclPermission.ALLOW)
    denies = [acl.pattern for acl in ordered if acl.permission is AclPermission.DENY]
    assert denies == sorted(denies, key=lambda each: each is not PatternType.PREFIXED)
