"""What preflight refuses, each for its own reason, said in a sentence. Many things are wrong at once: each is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from confluent_kafka import Consumer

from kafka_dr.audit.result import AuditKind, AuditResult, AuditVerdict, ResultStore
from kafka_dr.checks import authorizers
from kafka_dr.clock import SystemClock
from kafka_dr.clusters import Acl, AclOperation, AclPermission, PatternType, ResourceType
from kafka_dr.fencing import plan
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.outcomes import Check
from kafka_dr.replication.connect import ConnectClient
from kafka_dr.replication.flow import Flow
from kafka_dr.runs.record import StepRecord
from kafka_dr.runs.request import StepName
from support import mirrormaker
from support.configured_group import RawAdmin
from support.protection import Protection
from support.route_file import route_file
from support.switched_group import SwitchedGroup, failed

if TYPE_CHECKING:
    from lab.api import Lab

pytestmark = pytest.mark.kafka


def _write(principal: str, name: str, *, permission: AclPermission = AclPermission.ALLOW) -> Acl:
    return Acl(ResourceType.TOPIC, name, PatternType.PREFIXED, principal, AclOperation.WRITE, permission)


@dataclass
class Troubled:
    """A group with much wrong about it, and what preflight said."""

    protection: Protection
    record: StepRecord | None = None
    checks: dict[str, Check] = field(default_factory=dict)
    foreign: frozenset[Acl] = frozenset()

    def preflight(self) -> None:
        with self.protection.clients() as clients:
            self.record = failed(StepName.PREFLIGHT, self.protection.request("run-troubled"), clients)
        self.checks = {check.name: check for check in self.record.checks}

    def add(self, cluster: str, *acls: Acl) -> None:
        with self.protection.cluster(cluster, "admin") as admin:
            admin.acls.add(acls)

    def remove(self, cluster: str, *acls: Acl) -> None:
        with self.protection.cluster(cluster, "admin") as admin:
            admin.acls.remove(acls)

    def audited(self, kind: AuditKind, verdict: AuditVerdict, sentence: str, *, ago: timedelta) -> None:
        at = datetime.now(UTC) - ago
        result = AuditResult(kind, self.protection.name, "east", "west", 1, verdict, at, sentence)
        ResultStore(self.protection.folder / "evidence").write(result)

    def create(self, cluster: str, topic: str, partitions: int = 1, **config: str) -> None:
        with self.protection.cluster(cluster, "admin") as admin:
            settings = {key.replace("_", "."): value for key, value in config.items()}
            admin.topics.create(topic, partitions=partitions, replication_factor=1, config=settings)

    @contextmanager
    def connect(self) -> Iterator[ConnectClient]:
        url = self.protection.lab.cluster("west").connect_url(self.protection.lab.settings)
        with ConnectClient(HttpEndpoint(url), clock=SystemClock()) as client:
            yield client

    @property
    def connector(self) -> str:
        return Flow(self.protection.name, "east", "west").name

    @property
    def route(self) -> Path:
        return route_file(self.protection.group)


@pytest.fixture(scope="module")
def made(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Troubled]:
    """A group that was adopted as it should be, except for two DENYs that were on its standby before."""
    protection = Protection(lab, tmp_path_factory.mktemp("troubled"))
    troubled = Troubled(protection)
    deny = Acl(
        ResourceType.GROUP,
        f"{protection.name}-",
        PatternType.PREFIXED,
        "User:billing-app",
        AclOperation.READ,
        AclPermission.DENY,
    )
    troubled.foreign = frozenset({deny})
    troubled.add("west", deny)
    SwitchedGroup.adopt(protection)
    yield troubled
    protection.delete_flows()


@pytest.fixture(scope="module")
def first(made: Troubled) -> Iterator[Troubled]:
    """Everything wrong that can be wrong at the same time, and preflight run once."""
    protection, name = made.protection, made.protection.name
    with made.connect() as connect:
        connect.stop(made.connector)
        connect.wait_for(made.connector, "stopped", deadline_seconds=30)
    RawAdmin(dict(protection.lab.client_settings("east", "admin"))).delete(protection.group.canary_topic)
    made.create("east", f"{name}.lonely")
    made.create("east", f"{name}.wide", 3)
    made.create("west", f"{name}.wide", 1)
    made.create("east", f"{name}.tables", cleanup_policy="compact")
    made.create("west", f"{name}.tables", cleanup_policy="delete")
    made.add("east", _write("User:intruder", f"{name}."))
    made.add("east", _write("User:probe", f"{name}.", permission=AclPermission.DENY))
    made.audited(AuditKind.CHECKSUM, AuditVerdict.RED, "3 records are lost", ago=timedelta(hours=3))
    made.audited(AuditKind.LAG, AuditVerdict.RED, "the flow does not move", ago=timedelta(hours=3))
    made.add("west", _write("User:replicator", f"{name}.", permission=AclPermission.DENY))
    fence = min(plan.write_fence(protection.group))
    made.remove("west", fence)
    protection.produce("east", 30)
    protection.commit("east", f"{name}-lost", dict.fromkeys(SwitchedGroup(protection).at(0), 10000))
    protection.commit("east", f"{name}-hidden", dict.fromkeys(SwitchedGroup(protection).at(0), 10))
    hidden = Acl(
        ResourceType.GROUP,
        f"{name}-hidden",
        PatternType.LITERAL,
        "User:dr-operator",
        AclOperation.ALL,
        AclPermission.DENY,
    )
    made.add("east", hidden)
    route = made.route.read_text()
    made.route.write_text(route.replace('"east"', '"west"'))
    group = protection.group
    protection.changes = {
        "super_users": (*group.super_users, "User:orders-app"),
        "thresholds": group.thresholds.model_copy(update={"max_tail_records": 5, "max_lag_seconds": 0.001}),
    }
    member = Consumer(
        {**protection.lab.client_settings("west", "admin"), "group.id": f"{name}-head", "client.id": "early-bird"}
    )
    member.subscribe([protection.topic])
    member.poll(5)
    made.preflight()
    yield made
    member.close()
    protection.changes = {}
    made.route.write_text(route)
    made.add("west", fence)
    made.remove("east", hidden, _write("User:probe", f"{name}.", permission=AclPermission.DENY))


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ("standby_configured", r"topic \{name\}.lonely is on east and missing on west"),
        ("standby_configured", r"\{name\}.wide partitions is 3 on east and 1 on west"),
        ("standby_configured", r"\{name\}.tables cleanup.policy is compact on east and delete .* on west"),
        ("standby_configured", r"User:billing-app could no longer commit for \{name\}-"),
        ("topics_have_leaders", r"the canary topic \{name\}.dr-canary is missing on east"),
        ("writers_declared", r"User:intruder may write on east and is not among the group's principals"),
        ("writers_declared", r"User:orders-app is a super user, which no fence stops: remove it from super.users"),
        ("source_can_be_fenced", r"leaders on east did not answer allowed"),
        ("target_refuses", r"1 of \d+ DENYs are missing on west"),
        ("flow_can_be_fenced", r"leaders on west did not answer allowed"),
        (
            "target_can_be_opened",
            r"west has DENYs that this project did not add and will not lift: .* remove these DENYs",
        ),
        (
            "flow_moves",
            r"dr\.\{name\}\.east-to-west is stopped, expected running: run dr_flows, or look at the connector dr\.",
        ),
        ("checksum_audit", r"is red: 3 records are lost; fix that, then run dr_checksum_audit again"),
        ("lag_audit", r"is red: the flow does not move; fix that, then run dr_lag_audit again"),
        (
            "copied_in_time",
            r"payments-\d offset \d+ is not known to be on west and is .* s old by its timestamp, 0.001 s",
        ),
        ("content_verified", r"at most 30 records are left to verify, 30 of them not copied yet; 5 are allowed"),
        ("positions_translate", r"the offsets of \{name\}-lost cannot be translated"),
        ("offsets_preview", r"offsets of \{name\}-lost cannot be translated"),
        ("offsets_preview", r"\{name\}-hidden: its positions cannot be read, nothing is known of it"),
        ("no_live_members_on_target", r"live members on west \(\{name\}-head: early-bird.*stop these consumers"),
        (
            "route_follows",
            r"the route of .* names west, expected east as in the register: run dr_adopt, or fix the route",
        ),
    ],
)
def test_preflight_names_everything_that_is_wrong(first: Troubled, check: str, sentence: str) -> None:
    _says(first, check, sentence)


def test_a_preflight_that_refuses_asks_for_no_approval(first: Troubled) -> None:
    assert first.record is not None
    assert first.record.outcome == "refused"
    assert "standby_configured" in first.record.detail
    assert "route_follows" in first.record.detail


@pytest.fixture(scope="module")
def second(first: Troubled) -> Iterator[Troubled]:
    """Other things wrong with the same group."""
    protection, name = first.protection, first.protection.name
    everybody = _write("User:*", f"{name}.")
    first.add("east", everybody)
    first.add("west", _write("User:orders-app", f"{name}.lonely", permission=AclPermission.DENY))
    probe_fence = plan.probe_fence(protection.group)
    first.audited(AuditKind.CHECKSUM, AuditVerdict.GREEN, "all equal", ago=timedelta(hours=2))
    first.audited(AuditKind.LAG, AuditVerdict.GREEN, "nothing waits", ago=timedelta(hours=2))
    green = protection.group.audits.model_copy(update={"before_failover": "green"})
    protection.changes["audits"] = green
    del protection.changes["super_users"]
    protection.changes["thresholds"] = protection.group.thresholds.model_copy(update={"max_lag_seconds": 300})
    flow_fence = _write("User:replicator", f"{name}.", permission=AclPermission.DENY)
    first.remove("west", *probe_fence, *first.foreign, flow_fence)
    first.create("west", f"{name}.lonely")
    first.create("east", protection.group.canary_topic)
    with first.connect() as connect:
        connect.delete(first.connector)
        connect.wait_for(first.connector, "absent", deadline_seconds=30)
    route = first.route.read_text()
    first.route.unlink()
    first.preflight()
    yield first
    del protection.changes["audits"]
    first.remove("east", everybody)
    first.add("west", *probe_fence)
    first.route.write_text(route)


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ("writers_declared", r"an ACL on east lets everybody \(User:\*\) write: name the principals instead"),
        ("target_refuses", r"leaders on west did not answer refused"),
        ("target_can_be_opened", r"User:orders-app \(\{name\}.lonely\) may write on east and could not on west"),
        ("flow_moves", r"east-to-west is absent, expected running: run dr_flows"),
        ("checksum_audit", r"is 2 h( \d+ min)? old, at most 45 min are allowed: run dr_checksum_audit again"),
        ("lag_audit", r"is 2 h( \d+ min)? old, at most 15 min are allowed: run dr_lag_audit again"),
        ("route_follows", r"has no route, expected east as in the register: run dr_adopt"),
    ],
)
def test_preflight_names_the_other_ways_to_be_wrong(second: Troubled, check: str, sentence: str) -> None:
    _says(second, check, sentence)


def test_records_that_wait_are_no_reason_to_refuse_while_they_are_young(second: Troubled) -> None:
    found = second.checks["copied_in_time"]

    assert found.outcome == "ok"
    assert re.search(r"is not known to be on west and is .* s old by its timestamp, 5 min are allowed", found.detail)


@pytest.fixture(scope="module")
def third(second: Troubled) -> Troubled:
    """A flow that runs and copies nothing of a topic, and a record on the standby that nobody copied there."""
    protection = second.protection
    with protection.clients() as clients:
        replicator = mirrormaker.connector(clients, protection.flow)
        config = replicator.config()
        replicator.connect.create(second.connector, {**config, "topics": f"{protection.name}.dr-canary"}, stopped=False)
        replicator.wait_running(30)
    protection.produce("west", 1, principal="admin")
    second.preflight()
    return second


def test_a_flow_that_runs_and_copies_nothing_is_stuck(third: Troubled) -> None:
    _says(third, "flow_moves", r"payments.* did not advance although up to \d+ records wait to be copied")


def test_a_record_on_the_standby_that_nobody_copied_there_is_found(third: Troubled) -> None:
    with third.protection.clients() as clients:
        replicator = clients.replicator(third.protection.flow)
        replicator.ensure()
        replicator.wait_running(30)
        third.protection.wait_copied()
    third.preflight()

    _says(third, "content_verified", r"payments-0: .*are not copies of the source|has a record that differs")


@pytest.mark.parametrize(
    ("source", "target", "sentence"),
    [
        ("{standby}", "{active}", "is active on {active}, not on {standby}"),
        ("{active}", "north", "north cannot be the target of {name}: choose {standby}"),
        ("{active}", "{active}", "{active} cannot be the target of {name}: choose {standby}"),
    ],
)
def test_a_run_that_names_the_wrong_cluster_as_active_is_refused(
    group: SwitchedGroup, source: str, target: str, sentence: str
) -> None:
    sides = {"active": group.active, "standby": group.standby}
    request = group.request(source=source.format(**sides), target=target.format(**sides))
    with group.protection.clients() as clients:
        record = failed(StepName.PREFLIGHT, request, clients)

    assert record.outcome == "refused"
    assert sentence.format(**sides, name=group.name) in record.detail
    first = ["run_id_is_new", "approvers", "no_other_run_waits", "active_cluster", "right_clusters"]
    assert [check.name for check in record.checks] == first


def test_a_cluster_with_another_id_is_not_touched(group: SwitchedGroup) -> None:
    with group.protection.clients() as clients:
        clusters = clients.topology.clusters
        west = clusters["west"].model_copy(update={"cluster_id": "AnotherClusterEntirely"})
        clients.topology = clients.topology.model_copy(update={"clusters": {**clusters, "west": west}})
        record = failed(StepName.PREFLIGHT, group.request(), clients)

    assert record.outcome == "refused"
    assert "the topology says AnotherClusterEntirely" in record.detail


def test_a_setting_that_brokers_hide_has_to_be_declared(group: SwitchedGroup) -> None:
    with group.protection.clients() as clients:
        clusters = clients.topology.clusters
        west = clusters["west"].model_copy(update={"allow_everyone_if_no_acl": None})
        clients.topology = clients.topology.model_copy(update={"clusters": {**clusters, "west": west}})
        record = failed(StepName.PREFLIGHT, group.request(), clients)

    assert record.outcome == "unknown"
    assert "of west sets allow.everyone.if.no.acl.found and hides its value: declare" in record.detail
    assert [check.name for check in record.checks if not check.passes] == ["authorizers_as_declared"]


def test_a_cluster_that_does_not_decide_by_acls_is_refused(
    group: SwitchedGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authorizers, "KAFKAS_OWN", {"AclAuthorizer": authorizers.KAFKAS_OWN["AclAuthorizer"]})
    with group.protection.clients() as clients:
        record = failed(StepName.PREFLIGHT, group.request(), clients)

    assert record.outcome == "refused"
    assert [check.name for check in record.checks if not check.passes] == ["authorizers_as_declared"]
    shown = "authorizer.class.name is org.apache.kafka.metadata.authorizer.StandardAuthorizer on broker 1 of"
    assert f"{shown} east" in record.detail
    assert f"{shown} west" in record.detail


def test_tasks_that_connect_is_assigning_again_are_waited_for(group: SwitchedGroup) -> None:
    worker = group.protection.lab.cluster(group.standby).connect_url(group.protection.lab.settings)
    address = f"{worker}/connectors/{group.flow.name}/restart?includeTasks=true"
    httpx.post(address, timeout=30).raise_for_status()

    group.go(StepName.PREFLIGHT)


def test_a_group_that_no_register_knows_is_not_moved(lab: Lab, tmp_path: Path) -> None:
    stranger = Protection(lab, tmp_path)
    with stranger.clients() as clients:
        record = failed(StepName.PREFLIGHT, stranger.request("run-early"), clients)

    assert record.outcome == "refused"
    assert "no register has a record of this group: adopt it with dr_adopt first" in record.detail


def _says(troubled: Troubled, check: str, sentence: str) -> None:
    found = troubled.checks[check]
    assert found.outcome == "failed", found
    expected = sentence.replace(r"\{name\}", troubled.protection.name)
    assert re.search(expected, found.detail), found.detail
