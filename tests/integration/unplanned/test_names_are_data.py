"""A dead source whose topics and groups have names like secrets: its groups are moved all the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_dr.register import Phase
from kafka_dr.runs.request import StepName
from support import hostile_names, outside_view
from support.disaster import Disaster, adopted, disaster_is_over
from support.protection import Protection

pytestmark = pytest.mark.kafka


@pytest.fixture
def named(protection: Protection) -> Iterator[Disaster]:
    """Return a group whose names look like secrets, and that is about to lose its active cluster."""
    hostile_names.make_topics(protection)
    group = adopted(protection)
    hostile_names.fill(protection, "east")
    group.wait_equal()
    made = Disaster.of(group)
    made.look()
    made.remember()
    yield made
    disaster_is_over(made)


@pytest.mark.long
def test_names_that_look_like_secrets_are_moved_from_a_source_that_is_dead(named: Disaster) -> None:
    protection, request = named.group.protection, named.request()

    with named.hanging(named.broker):
        records = named.go(StepName.REPORT, request)

    assert {step: record.outcome for step, record in records.items()} == dict.fromkeys(records, "done")
    assert named.state().phase is Phase.UNFENCED
    assert outside_view.committed(protection, "west").keys() >= set(hostile_names.groups(protection))
    assert set(named.read_again()) >= set(hostile_names.groups(protection))
    with protection.clients() as clients:
        bundle = clients.evidence.newest_seal(protection.name, request.run)
        assert bundle is not None
        assert clients.evidence.verify(bundle).intact
        journal = clients.register("west").history(protection.name)
    assert hostile_names.names_that_are_keys(protection, request.run, journal=journal) == set()
