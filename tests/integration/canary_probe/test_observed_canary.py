"""The canary of a flow that somebody else runs, under MirrorMaker's usual names: one WRITE, on one topic."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import (
    Acl,
    AclOperation,
    AclPermission,
    PatternType,
    Record,
    ResourceType,
    TopicPartition,
)
from kafka_dr.connections.connection import Connection
from kafka_dr.rounds.access_data import AccessData
from kafka_dr.rounds.round import Round, RoundLimits, look_at_groups
from kafka_dr.runs.at_rest import WatchResult
from kafka_dr.storage.deadline_path import with_deadline
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import Topology
from lab import rights
from support.observed_audits import OBSERVER
from support.others_copy import OthersCopy
from support.plain_copier import copying

if TYPE_CHECKING:
    from lab.api import Lab

pytestmark = pytest.mark.kafka

WRITER = rights.BILLING_APP


class Canaries:
    """Looks at the canaries of one copy, by the round that Airflow's task makes."""

    def __init__(self, copy: OthersCopy) -> None:
        self.copy = copy
        self.topic, self.remote = f"canary.{copy.alias}", f"{copy.alias}.canary.{copy.alias}"
        copy.create("east", self.topic)
        copy.create("west", self.remote)
        self._allow("east", OBSERVER, self.topic, AclOperation.READ, AclOperation.DESCRIBE)
        self._allow("west", OBSERVER, self.remote, AclOperation.READ, AclOperation.DESCRIBE)
        self._allow("east", WRITER, self.topic, AclOperation.WRITE)

    def look(self) -> WatchResult:
        topology, group = self._topology(), "theirs"
        access = AccessData.read(topology, [group], self._connection)
        wanted = Round(
            "kafka_dr.rounds.looks:canary",
            topology,
            access,
            with_deadline(self.copy.folder),
            "manual__1",
            RoundLimits(60, 120),
        )
        return look_at_groups(wanted, [group], clock=SystemClock())[group]

    def _topology(self) -> Topology:
        path = self.copy.folder / "canary.yaml"
        declared = self.copy.declared(canary={"topic": self.topic, "connection": "kafka_east_canary"})
        path.write_text(
            yaml.safe_dump({"evidence": {"root": str(self.copy.folder)}, "observed_flows": {"theirs": declared}})
        )
        return load(path, {})

    def _connection(self, conn_id: str) -> Connection:
        _, cluster, role = conn_id.split("_")
        principal = WRITER if role == "canary" else OBSERVER
        return Connection(conn_id, extra=self.copy.lab.client_settings(cluster, principal))

    def _allow(self, cluster: str, principal: str, topic: str, *operations: AclOperation) -> None:
        wanted = [
            Acl(ResourceType.TOPIC, topic, PatternType.LITERAL, f"User:{principal}", each, AclPermission.ALLOW)
            for each in operations
        ]
        with self.copy.cluster(cluster, "admin") as admin:
            admin.acls.add(wanted)


@pytest.fixture
def canaries(lab: Lab, tmp_path: Path) -> Canaries:
    return Canaries(OthersCopy(lab, tmp_path))


def test_numbered_records_show_what_somebody_elses_replicator_does(canaries: Canaries) -> None:
    # The first one is copied twice, as replication at least once does, and the second one never.
    often = {b"1": 2, b"2": 0}

    def copies(record: Record) -> int:
        return often.get(record.value or b"", 1)

    with ExitStack() as stack:
        ends = [stack.enter_context(canaries.copy.cluster(name, "admin")) for name in ("east", "west")]
        stack.enter_context(copying(ends[0], ends[1], [TopicPartition(canaries.topic, 0)], canaries.remote, copies))
        first, second, third = canaries.look(), canaries.look(), canaries.look()

        assert (first.outcome, first.facts["verdict"], first.facts["rpo_seconds"]) == ("ok", "on_time", 0)
        assert (first.facts["sent"], first.facts["arrived"]) == (1, 1)
        assert (second.facts["arrived"], second.facts["verdict"]) == (0, "on_time")
        assert second.facts["rpo_seconds"] > 0
        assert (third.outcome, third.facts["verdict"]) == ("failed", "lost")
        assert third.facts["copied_twice"] == 1
        assert "partition 0: lost, number 2 of theirs/east/0" in third.sentences
        assert "look at the replicator, which somebody else runs" in third.sentences[-1]
        assert ends[0].topics.high_watermarks([TopicPartition(canaries.topic, 0)]) == {
            TopicPartition(canaries.topic, 0): 3
        }
