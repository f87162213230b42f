"""Consumer groups keep their offsets from east to west and back, also a group that never catches up."""

from __future__ import annotations

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.runs.request import StepName
from kafka_dr.verbs.runner import run_step
from support import outside_view
from support.protection import STEPS_AFTER_APPROVAL, Protection
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize("switches", [2, pytest.param(4, marks=pytest.mark.long)])
def test_every_group_resumes_at_the_same_record_each_time(protection: Protection, switches: int) -> None:
    group = SwitchedGroup.adopt(protection, records=0)
    name = group.name
    first, second = (TopicPartition(protection.topic, number) for number in (0, 1))
    protection.produce("east", 400)
    protection.commit("east", f"{name}-slow", {first: 17, second: 33})
    protection.commit("east", f"{name}-gaps", {second: 150})
    protection.commit("east", f"{name}-start", {first: 0, second: 0})
    # Old offsets on the standby, one of a group that the active cluster does not know: none may be trusted.
    protection.commit("west", f"{name}-slow", {first: 0, second: 1})
    group.wait_equal()
    protection.commit("west", f"{name}-gaps", {first: 150})
    protection.commit("west", f"{name}-slow", {first: 199, second: 199})

    for switch in range(switches):
        source, target = group.active, group.standby
        protection.produce(source, 60 + switch)
        _follow_to_the_end(group, f"{name}-head")
        group.wait_equal()
        before = outside_view.committed(protection, source)
        unread = {g: outside_view.next_values(protection, source, offsets) for g, offsets in before.items()}
        log = outside_view.contents(protection, source)

        request = group.go(StepName.FENCE_SOURCE)
        # A group that appeared after the run began: it moves like the others.
        before[f"{name}-new"] = {first: 21 + switch}
        protection.commit(source, f"{name}-new", before[f"{name}-new"])
        unread[f"{name}-new"] = outside_view.next_values(protection, source, before[f"{name}-new"])
        pairs = _kept_pairs(protection)
        assert pairs, "the preflight keeps what it learned"
        with protection.clients() as clients:
            for step in (StepName.DRAIN, StepName.STOP_FLOW, StepName.CUT_OVER_GROUPS):
                run_step(step, request, clients)
        assert _kept_pairs(protection) == pairs, "a cut-over keeps nothing, because applications wait"
        with protection.clients() as clients:
            again = run_step(StepName.CUT_OVER_GROUPS, request, clients)
            for step in STEPS_AFTER_APPROVAL[STEPS_AFTER_APPROVAL.index(StepName.OPEN_TARGET) :]:
                run_step(step, request, clients)

        after = outside_view.committed(protection, target)
        for consumer_group, expected in unread.items():
            moved = {p: after[consumer_group][p] for p in expected}
            assert outside_view.next_values(protection, target, moved) == expected, consumer_group
        assert f"{name}-never" not in after
        classes = {(row["group"], row["partition"]): row["class"] for row in again.facts["groups"]}
        assert {classes[g, p.partition] for g, offsets in before.items() for p in offsets} == {"exact"}
        proofs = {row["proof"] for row in again.facts["groups"] if row["class"] == "exact"}
        assert proofs == {"right"}, again.facts["groups"]
        if switch == 0:
            assert classes[f"{name}-gaps", 0] == "bounded"
            assert after[f"{name}-gaps"][first] == 0
        copied = outside_view.contents(protection, target)
        assert {p: copied[p][: len(found)] for p, found in log.items()} == log
        group.assert_at_rest(target)

    east, west = (outside_view.contents(protection, cluster) for cluster in ("east", "west"))
    assert east == west
    values = [value for p in (first, second) for _, _, value, _ in east[p]]
    assert len(values) == len(set(values)) == 400 + sum(60 + switch + 20 for switch in range(switches))


def _kept_pairs(protection: Protection) -> dict[str, bytes]:
    """Return the files of offset pairs that translations have kept, by name."""
    folder = protection.folder / "evidence" / "offset_pairs" / protection.name
    return {path.name: path.read_bytes() for path in folder.glob("*.json")}


def _follow_to_the_end(group: SwitchedGroup, consumer_group: str) -> None:
    """Let a group commit the end of every partition on the active cluster."""
    with group.protection.cluster(group.active, "admin") as admin:
        partitions = admin.topics.describe([group.protection.topic])[group.protection.topic].partitions
        admin.groups.set_offsets({consumer_group: admin.topics.last_stable_offsets(partitions)})
