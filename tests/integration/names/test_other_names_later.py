"""A pair whose copies have the names of their originals is released, and adopted again with other names."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.runs.record import StepFailed, StepRecord
from kafka_dr.runs.request import StepName
from lab.api import Lab
from support import outside_view
from support.named_group import NamedGroup, NamedProtection
from support.switched_group import SwitchedGroup

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]
CLUSTERS = ("east", "west")


@pytest.fixture
def protection(lab: Lab, tmp_path: Path) -> Iterator[NamedProtection]:
    made = NamedProtection(lab, tmp_path, changes={"drill": None})
    try:
        yield made
    finally:
        made.delete_flows()


def tried(protection: NamedProtection, run: str) -> StepRecord:
    """Let dr_adopt try, and return what it left in the evidence."""
    with protection.clients() as clients:
        try:
            return adopt(protection.name, clients, run)
        except StepFailed as failure:
            return failure.record


def made_empty(protection: NamedProtection, cluster: str, names: frozenset[str]) -> None:
    """Delete topics of a cluster, and create them again."""
    with protection.cluster(cluster, "admin") as admin:
        layout = {name: len(topic.leaders) for name, topic in admin.topics.describe(names).items()}
        admin.topics.delete(sorted(names))
        deadline = time.monotonic() + 30
        while names & admin.topics.names():
            assert time.monotonic() < deadline
            time.sleep(0.2)
        for name, partitions in layout.items():
            admin.topics.create(name, partitions=partitions, replication_factor=1, config={})


def test_nothing_is_lost_or_there_twice_and_groups_in_the_middle_continue_at_the_exact_record(
    protection: NamedProtection,
) -> None:
    # Each cluster has been active, so each has records that it has written and copies of the other one's.
    before = SwitchedGroup.adopt(protection)
    before.go(StepName.REPORT)
    before.produce(40)
    before.wait_equal()
    assert protection.active == "west"
    readers = [f"{protection.name}-{kind}" for kind in ("slow", "head")]
    protection.release(before.request(verb="un_adopt", hand_back_to="own_flow"))
    held = [record[2] for log in outside_view.contents(protection, "west").values() for record in log]
    assert len(held) >= 340

    protection.changes["initial_active"] = "west"
    protection.name_copies()
    for cluster in ("east", "west"):
        with protection.cluster(cluster, "admin") as admin:
            admin.acls.add(protection.rights_on(cluster))
    refused = tried(protection, "too-early")
    assert refused.outcome == "refused"
    wrong = {check.name: check.detail for check in refused.checks if not check.passes}
    assert "gives its copies other names than the topology says" in wrong["standby_holds_nothing_of_its_own"]
    assert f"{protection.topic} on east hold records" in wrong["old_copies_are_gone"]

    # By hand, as the page says: the flows and the old copies go.
    protection.delete_flows()
    assert {check.name for check in tried(protection, "still").checks if not check.passes} == {"old_copies_are_gone"}
    with protection.cluster("east", "admin") as admin:
        owned = frozenset(filter(protection.group.owns_topic, admin.topics.names()))
    made_empty(protection, "east", owned)
    assert tried(protection, "again").outcome == "done"
    group = NamedGroup(protection)
    group.flows()
    protection.wait_copied(source="west", target="east")

    def values(cluster: str) -> Counter[bytes | None]:
        return Counter(group.values(cluster, *(group.log(n, origin, cluster) for n in range(2) for origin in CLUSTERS)))

    assert values("west") == values("east")
    assert set(values("west").values()) == {1}
    assert values("west").total() == 340

    # In the middle of what was copied before and after the release, there and back.
    for source, target, at in (("west", "east", (17, 33)), ("east", "west", (5, 9))):
        log = [group.log(n, "west", source) for n in range(2)]
        with protection.cluster(source, "admin") as admin:
            ends = admin.topics.log_starts(log)
        offsets = {p: ends[p] + offset for p, offset in zip(log, at, strict=True)}
        offsets |= {group.log(n, "east", source): 0 for n in range(2)}
        for consumer_group in readers:
            protection.commit(source, consumer_group, offsets)
        unread = group.unread(source, offsets)
        group.move(protection.request(f"moved-to-{target}", source=None, target=None))
        assert group.active == target
        found = group.unread(target, outside_view.committed(protection, target)[readers[0]])
        for n, origin in ((n, origin) for n in range(2) for origin in CLUSTERS):
            assert found[group.log(n, origin, target)] == unread[group.log(n, origin, source)], (n, origin)
        group.write(target, (f"{target}-{n}".encode() for n in range(20)))
        group.flows()
        group.wait_copied()
    assert values("west") == values("east")
    assert set(values("west").values()) == {1}
    assert values("west").total() == 380
