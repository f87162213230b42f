"""A group with a topic whose records get their time from the broker: moved twice, nothing lost, nothing read again."""

from __future__ import annotations

import time

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.clusters.writing import NewRecord
from kafka_dr.runs.request import StepName
from lab import rights
from support import outside_view
from support.configured_group import RawAdmin
from support.protection import STEPS_AFTER_APPROVAL, Protection
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka


@pytest.mark.long
def test_a_group_with_broker_timestamps_is_moved_and_moved_back(protection: Protection) -> None:
    group = SwitchedGroup.adopt(protection, records=0)
    group.timeless, name = True, group.name
    first, second = (TopicPartition(protection.topic, number) for number in (0, 1))
    # The setting was changed later, first on the standby, as it is in real clusters.
    protection.produce("east", 100)
    for cluster in ("west", "east"):
        settings = dict(protection.lab.client_settings(cluster, "admin"))
        group.wait_equal()
        RawAdmin(settings).configure(protection.topic, message_timestamp_type="LogAppendTime")
        protection.produce("east", 60)
    protection.commit("east", f"{name}-slow", {first: 17, second: 33})
    protection.commit("east", f"{name}-middle", {first: 70, second: 100})
    protection.commit("east", f"{name}-timed", {first: 90, second: 95})
    policy = protection.group.groups_policy
    timed = {f"{name}-timed": "timestamp"}
    protection.changes["groups_policy"] = policy.model_copy(update={"start_of": timed, "timestamp_margin_seconds": 0})
    group.wait_equal()

    for _ in range(2):
        source, target = group.active, group.standby
        _produce_with_the_clock_ahead(group, source)
        with protection.cluster(source, "admin") as admin:
            ends = admin.topics.last_stable_offsets([first, second])
            admin.groups.set_offsets({f"{name}-head": ends})
        group.wait_equal()
        log = group.contents(source)
        before = outside_view.committed(protection, source)
        unread = {g: outside_view.next_values(protection, source, offsets) for g, offsets in before.items()}

        with protection.clients() as clients:
            records = protection.run_until(group.request(), STEPS_AFTER_APPROVAL[-1], clients)

        verified = next(check for check in records[0].checks if check.name == "content_verified")
        said = f"{target} replaces the timestamps of {protection.topic} (message.timestamp.type=LogAppendTime)"
        assert verified.outcome == "ok"
        assert verified.detail.count(said) == 1
        moved = next(record for record in records if record.step == StepName.CUT_OVER_GROUPS)
        classes = {(row["group"], row["partition"]): row["class"] for row in moved.facts["groups"]}
        exact = {(g, p.partition) for g, offsets in before.items() for p in offsets if g not in timed}
        assert {classes[each] for each in exact} == {"exact"}, classes
        after = outside_view.committed(protection, target)
        for each, expected in unread.items():
            places = {p: after[each][p] for p in expected}
            if each in timed:
                _assert_not_past(protection, target, places, log, before[each], source)
            else:
                assert outside_view.next_values(protection, target, places) == expected, each
        copied = group.contents(target)
        assert {p: copied[p][: len(found)] for p, found in log.items()} == log
        group.assert_at_rest(target)
        group.wait_equal()
    values = [value for p in (first, second) for _, _, value, _ in group.contents("east")[p]]
    assert len(values) == len(set(values))


def _produce_with_the_clock_ahead(group: SwitchedGroup, cluster: str) -> None:
    """Write as applications whose clock is an hour ahead: on a topic with broker times that cannot be seen."""
    ahead = int((time.time() + 3600) * 1000)
    with group.protection.cluster(cluster, rights.ORDERS_APP) as client:
        client.writing.append(
            NewRecord(TopicPartition(group.protection.topic, n % 2), b"k", f"{cluster}-{ahead}-{n}".encode())
            for n in range(40)
        )


def _assert_not_past(
    protection: Protection,
    target: str,
    places: dict[TopicPartition, int],
    log: dict[TopicPartition, list[outside_view.Content]],
    committed: dict[TopicPartition, int],
    source: str,
) -> None:
    """A group that begins by time may read records again, and never skips an unread one."""
    unread = outside_view.next_values(protection, source, committed)
    begins = outside_view.next_values(protection, target, places)
    for partition, value in unread.items():
        order = [record[2] for record in log[partition]] + [None]
        assert order.index(begins[partition]) <= order.index(value), partition
