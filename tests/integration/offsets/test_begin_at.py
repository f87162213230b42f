"""Consumer groups begin at a time that a person chose in the request of a failover."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.runs.request import ResumeRequest, StepName
from kafka_dr.topology.readers import BeginPositions
from kafka_dr.verbs.resume import resume
from support import outside_view
from support.protection import STEPS_AFTER_APPROVAL, Protection
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka


@pytest.fixture
def group(protection: Protection) -> SwitchedGroup:
    """A group with one consumer group at the head and one far behind."""
    return SwitchedGroup.adopt(protection)


def a_moment(group: SwitchedGroup) -> datetime:
    """Return a time between the records that are there and those that are written next."""
    time.sleep(0.05)
    found = datetime.now(UTC)
    time.sleep(0.05)
    group.produce(40)
    group.wait_equal()
    return found


def first_since(group: SwitchedGroup, cluster: str, moment: datetime) -> dict[TopicPartition, bytes | None]:
    """Return the value of the first payment of each log that is as young as a time, as a plain client sees it."""
    since = moment.timestamp() * 1000
    logs = {p: log for p, log in group.contents(cluster).items() if p.topic == group.protection.topic}
    return {p: next((value for at, _, value, _ in log if at >= since), None) for p, log in logs.items()}


def next_on(group: SwitchedGroup, cluster: str) -> Mapping[str, dict[TopicPartition, bytes | None]]:
    """Return what each consumer group reads next on a cluster."""
    found = outside_view.committed(group.protection, cluster)
    return {name: outside_view.next_values(group.protection, cluster, offsets) for name, offsets in found.items()}


def is_bound_of(records: int, at_most: int) -> bool:
    """Return whether a count of offsets bounds a number of records closely: there are markers of transactions, too."""
    return records <= at_most <= records + 10


@pytest.mark.parametrize("positions", ["all", pytest.param("unknown", marks=pytest.mark.long)])
def test_a_planned_failover_begins_at_a_time_that_the_approver_saw(
    group: SwitchedGroup, positions: BeginPositions
) -> None:
    head, slow = f"{group.name}-head", f"{group.name}-slow"
    moment = a_moment(group)
    unread = next_on(group, "east")
    request = group.request(begin_at=moment, begin_positions=positions)
    with group.protection.clients() as clients:
        records = group.protection.run_until(request, STEPS_AFTER_APPROVAL[-1], clients)
    begins = next_on(group, "west")
    decided = records[0].facts["decision"]
    assert (decided["begin_at"], decided["begin_positions"]) == (moment.isoformat(), positions)
    if positions == "unknown":
        # Every position could be translated, so nobody begins elsewhere.
        assert begins == unread
        return
    assert begins == dict.fromkeys((head, slow), first_since(group, "west", moment))
    moved = next(record for record in records if record.step == StepName.CUT_OVER_GROUPS).facts["groups"]
    assert {row["class"] for row in moved} == {"declared"}
    measured = {row["group"]: row for row in records[0].facts["measurements"]["groups"]}
    # The head had read 300 records of which none is skipped; the other one had read 50 of them.
    assert is_bound_of(0, measured[head]["skipped_at_most"])
    assert is_bound_of(250, measured[slow]["skipped_at_most"])
    assert (measured[head]["redelivered_at_most"], measured[slow]["redelivered_at_most"]) == (0, 0)


def test_a_run_that_died_before_the_offsets_were_set_begins_where_its_requester_chose(group: SwitchedGroup) -> None:
    moment = a_moment(group)
    group.go(StepName.DRAIN, group.request(begin_at=moment, begin_positions="all"))
    with group.protection.clients() as clients:
        resume(ResumeRequest(group.name, "finish", reason="a test", confirmed=True), clients)
    assert set(map(str, next_on(group, "west").values())) == {str(first_since(group, "west", moment))}


def test_a_time_after_the_last_record_begins_at_the_end_and_says_what_is_skipped(group: SwitchedGroup) -> None:
    request = group.request(begin_at=datetime.now(UTC) + timedelta(minutes=1), begin_positions="all")
    with group.protection.clients() as clients:
        records = group.protection.run_until(request, StepName.CLAIM, clients)
    measured = {row["group"]: row["skipped_at_most"] for row in records[0].facts["measurements"]["groups"]}
    assert is_bound_of(0, measured[f"{group.name}-head"])
    assert is_bound_of(250, measured[f"{group.name}-slow"])
