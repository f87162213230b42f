"""An application that may change its topics and groups, and the answers to what it tries with its own clients."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import kafka.errors
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import TopicPartition as OtherPartition

from kafka_dr.clusters import Acl, AclOperation, AclPermission, ClientSettings, PatternType, ResourceType
from kafka_dr.clusters.protocol_client import ProtocolClient
from lab import rights
from support.configured_group import RawAdmin
from support.protection import Protection

OPERATIONS = (AclOperation.CREATE, AclOperation.DELETE, AclOperation.ALTER, AclOperation.ALTER_CONFIGS)
_SECONDS = 15.0


class ChangingApplication(Protection):
    """A group whose application owns its topics: it also creates, deletes and alters them."""

    @property
    def victim(self) -> str:
        """The topic that the application changes."""
        return f"{self.name}.victim"

    def rights_to_change(self, principal: str = f"User:{rights.ORDERS_APP}") -> frozenset[Acl]:
        """Return the ALLOWs that such an application has in addition to the usual ones."""

        def allowed(kind: ResourceType, name: str, operation: AclOperation) -> Acl:
            return Acl(kind, name, PatternType.PREFIXED, principal, operation, AclPermission.ALLOW)

        on_topics = {allowed(ResourceType.TOPIC, f"{self.name}.", each) for each in OPERATIONS}
        return frozenset(on_topics | {allowed(ResourceType.GROUP, f"{self.name}-", AclOperation.DELETE)})

    def _acls(self, cluster: str) -> Iterable[Acl]:
        yield from super()._acls(cluster)
        yield from self.rights_to_change()

    def _create_on(self, cluster: str) -> None:
        super()._create_on(cluster)
        RawAdmin(dict(self.lab.client_settings(cluster, "admin"))).create(self.victim, partitions=2)

    def told(self, cluster: str, principal: str = rights.ORDERS_APP, *, only: Collection[str] = ()) -> dict[str, str]:
        """Try every change on a cluster, or some, the gentle ones first, and return what each was answered."""
        changes = self._changes(cluster, principal).items()
        return {what: _answer(change) for what, change in changes if not only or what in only}

    def _changes(self, cluster: str, principal: str) -> Mapping[str, Callable[[], object]]:
        settings = dict(self.lab.client_settings(cluster, principal))
        raw, client = RawAdmin(settings), AdminClient({**settings, "log_level": 0})
        return {
            "delete records": lambda: _done(client.delete_records([TopicPartition(self.victim, 0, 1)])),
            "add partitions": lambda: raw.grow(self.victim, 3),
            "shorten retention": lambda: raw.configure(self.victim, retention_ms="1000"),
            "create topic": lambda: raw.create(f"{self.name}.new"),
            "delete offsets": lambda: self._delete_offsets(settings),
            "delete group": lambda: _done(client.delete_consumer_groups([f"{self.name}-victim"])),
            "delete topic": lambda: raw.delete(self.victim),
        }

    def _delete_offsets(self, settings: dict[str, str]) -> None:
        client = ProtocolClient(**ClientSettings.from_librdkafka(settings).kafka_python())
        try:
            answers = client.delete_group_offsets(f"{self.name}-victim", [OtherPartition(self.victim, 1)])
        finally:
            client.close()
        if error := next((each for each in answers.values() if each is not kafka.errors.NoError), None):
            raise error


@contextmanager
def allowed(protection: Protection, cluster: str, *acls: Acl) -> Iterator[None]:
    """Let ACLs be there for a while."""
    with protection.cluster(cluster, "admin") as admin:
        admin.acls.add(acls)
        try:
            yield
        finally:
            admin.acls.remove(acls)


def _answer(change: Callable[[], object]) -> str:
    try:
        change()
    except KafkaException as error:
        return str(error.args[0].name())
    except kafka.errors.BrokerResponseError as error:
        return str(error.message)
    return "done"


def _done(futures: Mapping[Any, Any]) -> None:
    for future in futures.values():
        future.result(_SECONDS)
