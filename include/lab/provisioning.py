"""What the lab puts on its clusters: users, rights and topics, each created if it is missing and never taken away."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from kafka_dr.clusters.acls import binding_of
from lab.allowed import allowed_in, allowed_on
from lab.clients import broker_user, librdkafka
from lab.clusters import Cluster, topics_of
from lab.context import LabContext
from lab.credentials import ADMIN
from lab.errors import LabError
from lab.rights import PRINCIPALS, Right

SECONDS = 15.0


def brokers_answer(context: LabContext, cluster: Cluster) -> bool:
    """Whether all brokers of the cluster are registered and answer on the brokers' listener.

    :raises LabError: they are brokers of another cluster.
    """
    with AdminClient(_quiet(broker_user(context, cluster))) as admin:
        try:
            description = admin.describe_cluster(request_timeout=2).result(timeout=3)
        except (KafkaException, TimeoutError):
            return False
    if description.cluster_id != cluster.cluster_id:
        raise LabError(
            f"the data in {context.home.root / 'kafka'} is of the cluster {description.cluster_id}, "
            f"and {cluster.name} is {cluster.cluster_id}: run `down --delete`, or choose another --home"
        )
    return len(description.nodes) == len(cluster.brokers(context.settings))


def provision(context: LabContext, cluster: Cluster) -> None:
    """Create the users, then their rights and the topics of the protection group.

    :raises LabError: the cluster refuses one of them.
    """
    _create_users(context, cluster, (ADMIN, *PRINCIPALS))
    with AdminClient(_quiet(librdkafka(context, cluster, ADMIN))) as admin:
        settings = context.settings
        bindings = [binding_of(allowed) for allowed in allowed_in(context.home, settings, cluster)]
        topics = [
            NewTopic(topic.name, num_partitions=topic.partitions, replication_factor=min(settings.brokers, 3))
            for topic in topics_of(settings)
        ]
        # A new user's first login may meet a broker that has not seen the user yet; the client tries again by itself.
        rights = admin.create_acls(bindings, request_timeout=SECONDS)
        _await(rights.values(), cluster, "the rights")
        _create_topics(admin, cluster, topics)
        _create_group_coordinator(admin, cluster)


def admit(context: LabContext, cluster: Cluster, rights: Sequence[Right]) -> None:
    """Create more users, and give them their rights.

    :param context: with the passwords of these users
    :param rights: of these users alone
    :raises LabError: the cluster refuses one of them
    """
    _create_users(context, cluster, sorted({right.principal for right in rights}))
    with AdminClient(_quiet(librdkafka(context, cluster, ADMIN))) as admin:
        bindings = [binding_of(allowed) for allowed in allowed_on(cluster, context.settings.flows, rights)]
        _await(admin.create_acls(bindings, request_timeout=SECONDS).values(), cluster, "the rights")


def _create_users(context: LabContext, cluster: Cluster, names: Iterable[str]) -> None:
    with AdminClient(_quiet(broker_user(context, cluster))) as admin:
        how = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        users = [
            UserScramCredentialUpsertion(name, how, context.credentials.kafka(cluster.name, name).encode())
            for name in names
        ]
        _await(admin.alter_user_scram_credentials(users, request_timeout=SECONDS).values(), cluster, "the users")


def _create_topics(admin: AdminClient, cluster: Cluster, topics: list[NewTopic]) -> None:
    """Create topics, as soon as brokers may lead partitions: on a busy machine one that has just started may be fenced
    for a moment, because its first heartbeats came late.
    """
    deadline = time.monotonic() + SECONDS
    while True:
        created = admin.create_topics(topics, request_timeout=SECONDS)
        errors = [future.exception(SECONDS + 1) for future in created.values()]
        codes = {error.args[0].code() for error in errors if isinstance(error, KafkaException)}
        if KafkaError.INVALID_REPLICATION_FACTOR not in codes or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    _await(created.values(), cluster, "the topics", harmless={KafkaError.TOPIC_ALREADY_EXISTS})


def _create_group_coordinator(admin: AdminClient, cluster: Cluster) -> None:
    """Have the topic of group offsets created and loaded now, so that the first group to join does not wait for it."""
    deadline = time.monotonic() + SECONDS
    try:
        while errors := admin.list_consumer_groups(request_timeout=SECONDS).result(timeout=SECONDS).errors:
            if time.monotonic() > deadline:
                raise errors[0]
            time.sleep(0.1)
    except (KafkaException, TimeoutError) as error:
        raise LabError(
            f"{cluster.name} does not list its groups ({error}): see `logs {cluster.name}-broker-1`"
        ) from error


def _await(
    futures: Iterable[Future[Any]], cluster: Cluster, what: str, *, harmless: frozenset[int] | set[int] = frozenset()
) -> None:
    for future in futures:
        try:
            future.result(timeout=SECONDS + 1)
        except KafkaException as error:
            if error.args[0].code() not in harmless:
                raise LabError(
                    f"{cluster.name} did not take {what} ({error}): see `logs {cluster.name}-broker-1`"
                ) from error


def _quiet(settings: Mapping[str, str]) -> dict[str, Any]:
    return {**settings, "log_level": 2, "client.id": "lab", "socket.connection.setup.timeout.ms": 2000}
