"""The simulation of the authorizer next to the authorizer itself: random ACLs, asked of the brokers."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from kafka_dr.clusters import Acl, AclOperation, AclPermission, ClientSettings, KafkaCluster, PatternType, ResourceType
from kafka_dr.clusters.errors import NotAuthorized
from kafka_dr.fencing.authorizer import EVERYONE, Authorizer
from kafka_dr.positions import TopicPartition
from lab.api import Lab

pytestmark = pytest.mark.kafka
PRINCIPALS = ("orders-app", "billing-app", "probe")
HERE = "127.0.0.1"


@pytest.fixture(scope="module")
def clusters(lab: Lab) -> Iterator[dict[str, KafkaCluster]]:
    with ExitStack() as stack:
        yield {
            principal: stack.enter_context(
                KafkaCluster("east", ClientSettings.from_librdkafka(lab.client_settings("east", principal)))
            )
            for principal in ("admin", *PRINCIPALS)
        }


@pytest.fixture(scope="module")
def topics(clusters: dict[str, KafkaCluster]) -> list[str]:
    mark = f"z{uuid.uuid4().hex[:6]}"
    names = [f"{mark}.a", f"{mark}.ab", f"{mark}x"]
    for name in names:
        clusters["admin"].topics.create(name, partitions=1, replication_factor=1, config={})
    return names


def random_acls(chance: random.Random, topics: list[str]) -> frozenset[Acl]:
    mark = topics[0].removesuffix(".a")
    resources = [
        *((name, PatternType.LITERAL) for name in topics),
        *((prefix, PatternType.PREFIXED) for prefix in (mark, f"{mark}.", f"{mark}.a")),
        ("*", PatternType.LITERAL),
    ]
    acls = set()
    for _ in range(chance.randint(1, 7)):
        name, pattern = chance.choice(resources)
        # Everyone's DENY on every topic would stop the lab's own work.
        everyone = [] if name == "*" else [EVERYONE]
        acls.add(
            Acl(
                ResourceType.TOPIC, name, pattern,
                principal=chance.choice([*(f"User:{principal}" for principal in PRINCIPALS), *everyone]),
                operation=chance.choice([AclOperation.WRITE, AclOperation.WRITE, AclOperation.ALL, AclOperation.READ]),
                permission=chance.choice([AclPermission.ALLOW, AclPermission.ALLOW, AclPermission.DENY]),
                host=chance.choice(["*", "*", HERE, "10.9.9.9"]),
            )
        )  # fmt: skip
    return frozenset(acls)


def answers(clusters: dict[str, KafkaCluster], topics: list[str]) -> dict[tuple[str, str], bool]:
    def ask(principal: str) -> dict[tuple[str, str], bool]:
        found = clusters[principal].write_permission.ask(TopicPartition(name, 0) for name in topics)
        return {(principal, answer.partition.topic): answer.verdict == "allowed" for answer in found}

    with ThreadPoolExecutor(len(PRINCIPALS)) as pool:
        return {pair: may for found in pool.map(ask, PRINCIPALS) for pair, may in found.items()}


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(n, marks=pytest.mark.long) for n in range(8, 60))])
def test_the_simulation_decides_as_the_brokers_do(
    clusters: dict[str, KafkaCluster], topics: list[str], seed: int
) -> None:
    acls = random_acls(random.Random(seed), topics)  # noqa: S311
    admin = clusters["admin"].acls
    admin.add(acls)
    try:
        authorizer = Authorizer(admin.list())
        decided = {
            (principal, name): authorizer.allows(
                f"User:{principal}", AclOperation.WRITE, ResourceType.TOPIC, name, host=HERE
            )
            for principal in PRINCIPALS
            for name in topics
        }
        deadline = time.monotonic() + 60
        while (found := answers(clusters, topics)) != decided and time.monotonic() < deadline:
            time.sleep(0.05)
        assert found == decided, sorted(map(str, acls))
    finally:
        admin.remove(acls)


def test_a_broker_shows_that_its_authorizer_is_set_and_not_to_what(clusters: dict[str, KafkaCluster], lab: Lab) -> None:
    keys = ("allow.everyone.if.no.acl.found", "super.users", "nobody.has.heard.of.it", "authorizer.class.name")
    brokers = clusters["admin"].topics.identity().brokers
    with KafkaCluster("east", ClientSettings.from_librdkafka(lab.client_settings("east", "dr-operator"))) as operator:
        told = operator.broker_settings.read(brokers, keys)

    authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    set_here = {"allow.everyone.if.no.acl.found": None, "super.users": None, "authorizer.class.name": authorizer}
    assert told == dict.fromkeys(brokers, set_here)
    with pytest.raises(NotAuthorized, match="read the settings of broker"):
        clusters["probe"].broker_settings.read(brokers, keys)
