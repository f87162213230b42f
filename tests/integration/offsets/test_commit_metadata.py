"""What consumers commit next to their offsets, moved by real failovers."""

from __future__ import annotations

import pytest

from kafka_dr.clusters import TopicPartition
from kafka_dr.failover.unplanned import last_known, translate_without_source
from kafka_dr.group_offsets.last_look import look as look_last
from kafka_dr.group_offsets.offset_preview import look
from kafka_dr.offsets.following import FollowingOffsets
from kafka_dr.offsets.translate.answers import to_commit
from kafka_dr.positions import CommittedOffset, metadata_of
from kafka_dr.rescue.copy_reached import CopyReached
from kafka_dr.runs.request import StepName
from kafka_dr.runs.run import Run
from kafka_dr.verbs.runner import run_step
from support.protection import Protection
from support.switched_group import SwitchedGroup

pytestmark = pytest.mark.kafka

FREE, APART = "bitmap:0110", "bitmap:1"


def committed(protection: Protection, cluster: str) -> dict[int, str]:
    """Return the metadata of each partition of the group's application."""
    with protection.cluster(cluster, "admin") as admin:
        found = admin.groups.offsets([f"{protection.name}-app"])[f"{protection.name}-app"]
    return {p.partition: metadata_of(offset) for p, offset in found.items()}


@pytest.fixture
def group(protection: Protection) -> SwitchedGroup:
    """A group that has read all of one partition, and that another one has a transaction marker after its offset in."""
    switching = SwitchedGroup.adopt(protection, records=0)
    for _ in range(2):
        # Each is a transaction of the flow, so markers are between the copies.
        protection.produce("east", 20)
        switching.wait_equal()
    texts = {
        TopicPartition(protection.topic, 0): CommittedOffset(20, FREE),
        TopicPartition(protection.topic, 1): CommittedOffset(5, APART),
    }
    protection.commit("east", f"{protection.name}-app", texts)
    return switching


def test_it_is_carried_where_it_is_right_and_named_before_where_it_is_not(group: SwitchedGroup) -> None:
    protection, name = group.protection, f"{group.name}-app"
    with protection.clients() as clients:
        seen = look(Run(protection.request("look"), clients))
        (row,) = seen.report["commit_metadata"]
        assert (row["group"], row["carried"], row["left_out"]) == (name, 1, 1)
        assert any(name in said and "other distances" in said for said in seen.watched.sentences), seen.watched
        preflight = run_step(StepName.PREFLIGHT, protection.request("there"), clients)
        (check,) = (check for check in preflight.checks if check.name == "offsets_preview")
        assert check.outcome == "warning"
        assert "its commit metadata is left out in 1 partition" in check.detail
        measured = {row["group"]: row for row in preflight.facts["measurements"]["groups"]}
        assert "other distances" in measured[name]["metadata_left_out"]

        request = protection.request("there")
        protection.approve(request, clients)
        clients.following_offsets = FollowingOffsets()
        run_step(StepName.CLAIM, request, clients)
        ahead = {cluster: known.read.end for (cluster, _, p), known in clients.following_offsets._known.items()}
        assert ahead == {"east": 20, "west": 22}, "nothing is read twice while applications wait"
        for step in (StepName.FENCE_SOURCE, StepName.DRAIN, StepName.STOP_FLOW):
            run_step(step, request, clients)
        cut_over = run_step(StepName.CUT_OVER_GROUPS, request, clients)
        assert FREE not in str(cut_over.facts), "what applications keep there is no part of the evidence"

    assert committed(protection, "west") == {0: FREE, 1: ""}, "what follows in partition 1 is further apart there"
    assert committed(protection, "east") == {0: FREE, 1: APART}
    group.roll_back(request)
    assert committed(protection, "east") == {0: FREE, 1: APART}


def test_without_the_source_it_is_carried_for_a_group_that_had_read_everything(group: SwitchedGroup) -> None:
    protection, name = group.protection, f"{group.name}-app"
    with protection.cluster("east", "admin") as admin:
        ends = admin.topics.last_stable_offsets(group.at(0, 0))
    one, two = sorted(ends)
    texts = {one: CommittedOffset(ends[one], FREE), two: CommittedOffset(ends[two] - 1, APART)}
    protection.commit("east", name, texts)
    with protection.clients() as clients:
        request = protection.request("away", verb="unplanned_failover", override="a test", acknowledged=True)
        run = Run(request, clients)
        look_last(run, active="east", standby="west", epoch=1)
        found = to_commit(translate_without_source.translate(run, CopyReached(ends), last_known.positions(run)))[name]
    assert {p: metadata_of(offset) for p, offset in found.items()} == {one: FREE, two: ""}
