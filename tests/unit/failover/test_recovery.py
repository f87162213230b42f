"""How long a group was without service: from the last proof that it worked, with what the time was spent on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kafka_dr.failover.recovery import ProvenService, Recovery

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


#: A disaster that a person was asked about after 67 s, and that waited for 488 s until somebody approved.
LONG = Recovery(ProvenService(NOON, "the last look at east"), at(67), at(555), at(561), at(565))


def test_a_recovery_counts_from_the_last_proven_service_and_names_what_the_time_was_spent_on() -> None:
    assert (LONG.since_fault, LONG.since_approval) == (565.0, 10.0)
    assert LONG.parts == {"detection": 67.0, "people": 488.0, "switch": 6.0, "applications": 4.0}
    assert sum(LONG.parts.values()) == LONG.since_fault


def test_the_objective_is_compared_with_what_the_topology_says_that_it_counts_from() -> None:
    assert (LONG.seconds("fault"), LONG.seconds("approval")) == (565.0, 10.0)


def test_a_service_that_nobody_saw_leaves_the_recovery_unknown_and_never_good() -> None:
    unseen = Recovery(ProvenService(None, "nobody looked at east"), at(67), at(555), at(561), at(565))
    assert (unseen.since_fault, unseen.seconds("fault"), unseen.since_approval) == (None, None, 10.0)
    assert unseen.parts == {"people": 488.0, "switch": 6.0, "applications": 4.0}
    assert unseen.to_json()["last_service_at"] is None


def test_in_a_planned_failover_nobody_has_to_notice_anything() -> None:
    planned = Recovery(ProvenService(at(2), "east took writes until its fence"), None, NOON, at(6), at(9))
    assert planned.parts == {"switch": 4.0, "applications": 3.0}
    assert (planned.since_fault, planned.since_approval) == (7.0, 9.0)
