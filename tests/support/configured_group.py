"""A protection group whose configuration a test changes, by a client of the test's own, on either cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka.protocol.admin import IncrementalAlterConfigsRequest

from kafka_dr.adoption.adopt import adopt
from kafka_dr.approvals.journaled import Answer
from kafka_dr.clusters import Acl, AclOperation, AclPermission, ClientSettings, KafkaCluster, PatternType
from kafka_dr.clusters import ResourceType as Resource
from kafka_dr.clusters.protocol_client import ProtocolClient
from kafka_dr.config_sync.plan import Plan
from kafka_dr.runs.clients import Clients
from kafka_dr.runs.record import StepRecord
from kafka_dr.topology.group_keys import ConfigSyncSpec
from kafka_dr.watch.apply_config import apply_config
from kafka_dr.watch.ask_config_approval import ask_config, record_config_answer
from kafka_dr.watch.config_plan import KeptPlan, plan_config
from lab.api import Lab
from lab.rights import APPLICATIONS
from support.protection import Protection

_SECONDS = 15.0
_BROKER = 4  # the protocol's number for a broker among the resources


class ConfiguredGroup(Protection):
    """A group with an application principal of its own, so that nothing else in the lab differs for it."""

    @classmethod
    def adopted(cls, lab: Lab, folder: Path, *, active: str) -> ConfiguredGroup:
        """Create and adopt a group that is active on one of the lab's clusters; its flow is not started."""
        made = cls(lab, folder)
        made.changes = {
            "principals": (made.principal,),
            "initial_active": active,
            "config_sync": ConfigSyncSpec(apply_safe=True, must_match=("retention.ms",)),
        }
        made.create()
        with made.clients() as clients:
            adopt(made.name, clients, "adoption")
        return made

    @property
    def principal(self) -> str:
        return f"User:{self.name}-app"

    @property
    def active(self) -> str:
        return self.group.initial_active

    @property
    def standby(self) -> str:
        return "west" if self.active == "east" else "east"

    def acl(self, operation: AclOperation, name: str = "", **fields: Any) -> Acl:
        """Return an ACL for this group's application: on its topics, unless a field says otherwise."""
        usual: dict[str, Any] = {
            "resource": Resource.TOPIC,
            "pattern": PatternType.PREFIXED,
            "permission": AclPermission.ALLOW,
            "principal": self.principal,
        }
        return Acl(name=name or f"{self.name}.", operation=operation, **{**usual, **fields})

    def _acls(self, cluster: str) -> Iterable[Acl]:
        applications = {f"User:{name}" for name in APPLICATIONS}
        yield from (acl for acl in Protection._acls(self, cluster) if acl.principal not in applications)
        for operation in (AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE):
            yield self.acl(operation)

    def plan(self, clients: Clients, run: str) -> Plan:
        """Plan, and keep it as a task would."""
        planned = plan_config(self.name, clients, run)
        assert isinstance(planned, KeptPlan), planned
        return planned.plan

    def apply_everything(self, clients: Clients, run: str) -> list[StepRecord]:
        """Plan, apply what is safe, have the rest approved by alice and apply it."""
        self.plan(clients, run)
        records = [apply_config(self.name, clients, run, approved=False)]
        if self.answer(clients, run):
            records.append(apply_config(self.name, clients, run, approved=True))
        return records

    def answer(self, clients: Clients, run: str, *, approved: bool = True, late: bool = False) -> bool:
        """Answer the question about what is left, if there is one.

        :param late: whether it is answered when it has expired
        """
        question = ask_config(self.name, clients, run)
        if isinstance(question, str):
            return False
        answer = Answer(approved, "alice", question.expires_at if late else datetime.now(UTC), question.digest)
        record_config_answer(self.name, clients, run, answer)
        return True

    def admin(self, cluster: str) -> RawAdmin:
        """Return a client of the lab's administrator that shares nothing with the project."""
        return RawAdmin(dict(self.lab.client_settings(cluster, "admin")))

    def reached(self, cluster: str) -> KafkaCluster:
        """Return a cluster as the lab's administrator sees it."""
        return self.cluster(cluster, "admin")


def reached_as_admin(lab: Lab, cluster: str) -> KafkaCluster:
    """Return a cluster as the lab's administrator sees it."""
    return KafkaCluster(cluster, ClientSettings.from_librdkafka(lab.client_settings(cluster, "admin")))


class RawAdmin:
    """Kafka's own admin calls, one thing at a time."""

    def __init__(self, settings: dict[str, str]) -> None:
        self._settings = settings
        self._client = AdminClient({**settings, "log_level": 0})

    def create(self, name: str, *, partitions: int = 1, **config: str) -> None:
        wanted = NewTopic(name, partitions, 1, config=_dotted(config))
        self._done(self._client.create_topics([wanted], request_timeout=_SECONDS))

    def delete(self, name: str) -> None:
        self._done(self._client.delete_topics([name], request_timeout=_SECONDS))

    def grow(self, name: str, total: int) -> None:
        self._done(self._client.create_partitions([NewPartitions(name, total)], request_timeout=_SECONDS))

    def configure(self, name: str, **config: str) -> None:
        entries = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
            for key, value in _dotted(config).items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
        self._done(self._client.incremental_alter_configs([resource], request_timeout=_SECONDS))

    def effective(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        futures = self._client.describe_configs(resources, request_timeout=_SECONDS)
        return {r.name: {k: e.value for k, e in f.result(_SECONDS).items()} for r, f in futures.items()}

    def set_broker_default(self, key: str, value: str | None, *, broker: str = "") -> None:
        """Set what topics inherit while the brokers run, on one broker or on all of them; ``None`` ends it."""
        client = ProtocolClient(**ClientSettings.from_librdkafka(self._settings).kafka_python())
        change = (key, 0 if value is not None else 1, value)
        request = IncrementalAlterConfigsRequest(resources=[(_BROKER, broker, [change])], validate_only=False)
        (response,) = client.request(request, int(broker) if broker else None).responses
        client.close()
        assert response.error_code == 0, response

    def shows(self, names: Iterable[str]) -> bool:
        """Return whether the broker shows these topics by now: it has acknowledged them a moment before."""
        return set(names) <= set(self._client.list_topics(timeout=_SECONDS).topics)

    def partitions(self, names: Iterable[str]) -> dict[str, int]:
        seen = self._client.list_topics(timeout=_SECONDS).topics
        return {name: len(seen[name].partitions) for name in names}

    def create_user(self, name: str) -> None:
        how = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        user = UserScramCredentialUpsertion(name, how, b"only for this test")
        self._done(self._client.alter_user_scram_credentials([user], request_timeout=_SECONDS))

    @staticmethod
    def _done(futures: Mapping[Any, Any]) -> None:
        for future in futures.values():
            future.result(_SECONDS)


def _dotted(config: Mapping[str, str]) -> dict[str, str]:
    return {key.replace("_", "."): value for key, value in config.items()}
