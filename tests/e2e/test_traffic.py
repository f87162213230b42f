"""Applications on real brokers: they crash when refused and start again, and the check believes only what is there."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from e2e.conftest import port_base

from kafka_dr.clusters import ClientSettings, GroupNotEmpty, KafkaCluster
from lab.api import Lab
from lab.clusters import EAST, TOPICS, WEST
from lab.invariants.check import check_invariants
from lab.invariants.model import ActivePeriod, FormerLogs, InvariantReport
from lab.invariants.observe import observe
from lab.traffic.control import Traffic
from lab.traffic.fleet import groups
from lab.traffic.rates import Rates

pytestmark = [pytest.mark.kafka, pytest.mark.long]

WAIT_SECONDS = 60.0


def prefixed(resource: ResourceType, name: str, principal: str, operation: AclOperation) -> AclBinding:
    return AclBinding(resource, name, ResourcePatternType.PREFIXED, principal, "*", operation, AclPermissionType.DENY)


PRINCIPALS = ("User:orders-app", "User:billing-app")
FENCE = [prefixed(ResourceType.TOPIC, "orders.", each, AclOperation.WRITE) for each in PRINCIPALS]
FREEZE = [
    prefixed(resource, name, each, AclOperation.READ)
    for each in PRINCIPALS
    for resource, name in (
        (ResourceType.TOPIC, "orders."),
        (ResourceType.GROUP, "orders-"),
        (ResourceType.GROUP, "billing-"),
    )
]


class Scene:
    """A lab with applications on east, and what a test does to them.

    :param logs: where the applications keep their logs
    """

    def __init__(self, lab: Lab, logs: Path) -> None:
        self.lab = lab
        self.began = time.time()
        self.settings = dict(lab.client_settings(EAST.name, "admin"))
        self.admin = AdminClient(self.settings)
        self.route(EAST.name)
        self.traffic = Traffic(lab, logs, rates=Rates(payments_per_second=100.0))

    def route(self, cluster: str) -> None:
        servers = self.lab.cluster(cluster).bootstrap(self.lab.settings)
        self.lab.home.route.parent.mkdir(parents=True, exist_ok=True)
        self.lab.home.route.write_text(json.dumps({"active": cluster, "bootstrap_servers": servers}))

    def deny(self, denies: list[AclBinding]) -> None:
        for done in self.admin.create_acls(denies).values():
            done.result(timeout=60)

    def lift(self, denies: list[AclBinding]) -> None:
        filters = [
            AclBindingFilter(
                each.restype,
                each.name,
                each.resource_pattern_type,
                each.principal,
                "*",
                each.operation,
                each.permission_type,
            )
            for each in denies
        ]
        for done in self.admin.delete_acls(filters).values():
            done.result(timeout=60)

    def work_again(self) -> None:
        """Wait until every application has done something from now on."""
        now, deadline = time.time(), time.monotonic() + WAIT_SECONDS
        while idle := self.traffic.idle(since=now):
            assert time.monotonic() < deadline, f"nothing done by {idle}"
            time.sleep(0.1)

    def verdict(self) -> InvariantReport:
        self.traffic.stop(drain_seconds=1.0)
        settings = {each.name: self.lab.client_settings(each.name, "admin") for each in self.lab.clusters}
        # What was committed before this test was about logs that are no more.
        former = [FormerLogs(each.name, self.began, {}) for each in self.lab.clusters]
        seen = observe(self.traffic.logs, settings, earlier=former)
        return check_invariants(seen, [ActivePeriod(EAST.name, self.began)])


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab without Airflow, shared by the tests of this module."""
    lab = Lab(tmp_path_factory.mktemp("traffic") / "lab", port_base=port_base())
    try:
        lab.up(airflow=False)
        yield lab
    finally:
        lab.down(delete=True)


@pytest.fixture
def scene(running: Lab, tmp_path: Path) -> Iterator[Scene]:
    """Applications that write to topics without a record, as groups without an offset."""
    for cluster in (EAST, WEST):
        settings = dict(running.client_settings(cluster.name, "admin"))
        with KafkaCluster(cluster.name, ClientSettings.from_librdkafka(settings)) as reached:
            with_new_topics(AdminClient(settings), reached)
    scene = Scene(running, tmp_path / "traffic")
    scene.traffic.start(seconds=WAIT_SECONDS)
    try:
        yield scene
    finally:
        scene.traffic.stop()


def with_new_topics(admin: AdminClient, cluster: KafkaCluster) -> None:
    """Create the topics of the applications again; the offsets that groups committed on the old ones go with these."""
    deadline = time.monotonic() + WAIT_SECONDS
    for deleted in admin.delete_topics([topic.name for topic in TOPICS]).values():
        deleted.result(timeout=60)
    for group in groups():
        while cluster.groups.offsets([group], require_stable=False)[group]:
            assert time.monotonic() < deadline, f"{group} still has offsets on topics that were deleted"
            time.sleep(0.1)
    while True:
        new = [NewTopic(topic.name, num_partitions=topic.partitions, replication_factor=1) for topic in TOPICS]
        errors = [error for each in admin.create_topics(new).values() if (error := each.exception(timeout=60))]
        if not errors:
            return
        assert time.monotonic() < deadline, errors
        time.sleep(0.1)


def test_refused_applications_crash_come_again_and_have_lost_nothing(scene: Scene) -> None:
    before = {name: each.starts for name, each in scene.traffic.status().items()}
    scene.deny(FENCE + FREEZE)
    deadline = time.monotonic() + WAIT_SECONDS
    while not all(scene.traffic.status()[name].starts > starts for name, starts in before.items()):
        assert time.monotonic() < deadline, f"not all were refused and started again: {scene.traffic.status()}"
        time.sleep(0.1)
    scene.lift(FENCE + FREEZE)
    scene.work_again()
    verdict = scene.verdict()
    assert verdict.held, verdict.findings
    assert verdict.figures.acknowledged > 100


def test_killed_applications_know_exactly_what_may_be_there_twice(scene: Scene) -> None:
    for name in ("payments", "billing", "orders-head"):
        os.kill(scene.traffic.pid(name), signal.SIGKILL)
    scene.work_again()
    verdict = scene.verdict()
    assert verdict.held, verdict.findings


def test_applications_end_with_their_supervisor(scene: Scene) -> None:
    pids = [each.pid for each in scene.traffic.status().values() if each.pid]
    assert len(pids) == 6
    scene.lab.supervisor.kill("traffic")
    deadline = time.monotonic() + 60
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):  # noqa: PTH110 - processes, not files
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_record_that_is_deleted_from_the_log_is_lost(scene: Scene) -> None:
    scene.traffic.stop(drain_seconds=2.0)
    dropped = scene.admin.delete_records([TopicPartition("orders.payments", 0, 1)])
    for done in dropped.values():
        done.result(timeout=60)
    verdict = scene.verdict()
    assert [each.invariant for each in verdict.violated] == ["I2"]
    assert verdict.figures.lost == 1


def once_it_is_empty(change: Callable[[], None]) -> None:
    """Change a group when its brokers have noticed that its members ended."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return change()
        except GroupNotEmpty:
            assert time.monotonic() < deadline, "the group still has members that were ended"
        time.sleep(0.1)


def test_a_group_that_is_set_past_records_it_has_not_read_breaks_i3(scene: Scene) -> None:
    group = "orders-slow"
    scene.work_again()
    # It reads a fifth of what is written.
    scene.traffic.stop(drain_seconds=1.0)
    with KafkaCluster(EAST.name, ClientSettings.from_librdkafka(scene.settings)) as east:
        read = east.groups.offsets([group])[group]
        ends = east.topics.high_watermarks(read)
        assert sum(ends.values()) > sum(read.values())
        once_it_is_empty(lambda: east.groups.set_offsets({group: ends}))
    verdict = scene.verdict()
    assert [each.invariant for each in verdict.violated] == ["I3"]
    assert verdict.figures.skipped > 0


def test_writes_on_both_clusters_break_i1_and_are_lost_from_the_active_one(scene: Scene) -> None:
    scene.route(WEST.name)
    os.kill(scene.traffic.pid("payments"), signal.SIGKILL)  # the others know nothing of the new route
    scene.work_again()
    verdict = scene.verdict()
    assert {each.invariant for each in verdict.violated} == {"I1", "I2"}
    # What the application sent again, not knowing that it had arrived, is on the active cluster, too.
    assert verdict.figures.both_sides >= verdict.figures.lost > 0
