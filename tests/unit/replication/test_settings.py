from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kafka_dr.clock import SystemClock
from kafka_dr.clusters import KafkaCluster
from kafka_dr.http_endpoint import HttpEndpoint
from kafka_dr.replication.connect import ConnectClient
from kafka_dr.replication.copy_settings import CopySettings
from kafka_dr.replication.flow import Flow
from kafka_dr.replication.mirrormaker import Mm2Replicator
from kafka_dr.replication.settings import FIXED, flow_settings, names_copies_for
from kafka_dr.topology.loading import load
from kafka_dr.topology.model import ProtectionGroup, Topology
from support.connect_api import ConnectApi, reached_connect
from support.pattern_group import pattern_group

FLOW = Flow("orders", "east", "west")
BACK = Flow("orders", "west", "east")
NOWHERE = HttpEndpoint("http://127.0.0.1:9")


@pytest.fixture(scope="module")
def topology() -> Topology:
    declared = Path(__file__).parents[3] / "include" / "topology.yaml"
    environ = {
        "KAFKA_DR_LAB_HOME": "/lab",
        "KAFKA_DR_LAB_EAST": "e:1",
        "KAFKA_DR_LAB_WEST": "w:1",
        "KAFKA_DR_LAB_VANTAGE": "127.0.0.1:3",
    }
    return load(declared, environ)


def config_of(topology: Topology, flow: Flow = FLOW, **changes: object) -> dict[str, str]:
    group = topology.group("orders").model_copy(update=changes)
    return replicator_of(topology, flow, group).config()


def replicator_of(
    topology: Topology,
    flow: Flow,
    group: ProtectionGroup,
    copies: Callable[[Mapping[str, str]], CopySettings] = lambda _: CopySettings(),
    connect: ConnectClient | None = None,
) -> Mm2Replicator:
    def nobody() -> KafkaCluster:
        raise AssertionError("no cluster is needed for this")

    return Mm2Replicator(
        flow,
        group=group,
        source=topology.cluster(flow.source),
        target=topology.cluster(flow.target),
        connect=lambda: connect or ConnectClient(NOWHERE, clock=SystemClock()),
        copies=copies,
        written=nobody,
        evidence_root=None,
        clock=SystemClock(),
    )


def test_each_setting_has_a_reason_and_is_there_once(topology: Topology) -> None:
    settings = flow_settings(
        FLOW,
        group=topology.group("orders"),
        source=topology.cluster("east"),
        target=topology.cluster("west"),
        copies=CopySettings(),
    )
    assert all(setting.reason for setting in settings)
    assert len({setting.key for setting in settings}) == len(settings)
    assert set(FIXED) <= set(settings)


def test_secrets_are_references_into_the_file_next_to_the_target(topology: Topology) -> None:
    config = config_of(topology)
    secrets = "/lab/connect/west/secrets.properties"
    assert config["source.cluster.sasl.jaas.config"] == f"${{file:{secrets}:east.sasl.jaas.config}}"
    assert config["target.cluster.sasl.jaas.config"] == f"${{file:{secrets}:west.sasl.jaas.config}}"
    assert not [key for key, value in config.items() if "password" in key or "password" in value]


def test_a_private_authority_and_the_workers_own_certificate_are_files_next_to_the_workers(topology: Topology) -> None:
    reached = topology.cluster("east").replicator.model_copy(
        update={
            "security_protocol": "SASL_SSL",
            "ca_file": "/etc/east-ca.pem",
            "keystore_file": "/etc/east-me.pem",
            "keystore_is_encrypted": True,
        }
    )
    east = topology.cluster("east").model_copy(update={"replicator": reached})
    config = config_of(topology.model_copy(update={"clusters": {**topology.clusters, "east": east}}))

    tls = {key: value for key, value in config.items() if ".cluster.ssl." in key}
    assert tls == {
        "source.cluster.ssl.truststore.type": "PEM",
        "source.cluster.ssl.truststore.location": "/etc/east-ca.pem",
        "source.cluster.ssl.keystore.type": "PEM",
        "source.cluster.ssl.keystore.location": "/etc/east-me.pem",
        "source.cluster.ssl.key.password": "${file:/lab/connect/west/secrets.properties:east.ssl.key.password}",
    }
    assert config["source.cluster.sasl.mechanism"] == "SCRAM-SHA-512"
    assert config["target.cluster.security.protocol"] == "SASL_PLAINTEXT"


def test_mutual_tls_without_a_login_needs_no_other_secret(topology: Topology) -> None:
    reached = topology.cluster("west").replicator.model_copy(
        update={"security_protocol": "SSL", "sasl_mechanism": None, "keystore_file": "/etc/west-me.pem"}
    )
    west = topology.cluster("west").model_copy(update={"replicator": reached})
    config = config_of(topology.model_copy(update={"clusters": {**topology.clusters, "west": west}}))

    assert {
        key: value for key, value in config.items() if key.startswith(("target.cluster.s", "target.cluster.b"))
    } == {
        "target.cluster.bootstrap.servers": "w:1",
        "target.cluster.security.protocol": "SSL",
        "target.cluster.ssl.keystore.type": "PEM",
        "target.cluster.ssl.keystore.location": "/etc/west-me.pem",
    }


def test_the_reverse_flow_reads_what_this_one_writes(topology: Topology) -> None:
    there, back = config_of(topology), config_of(topology, BACK)
    assert there["source.cluster.bootstrap.servers"] == back["target.cluster.bootstrap.servers"] == "e:1"
    assert there["target.cluster.alias"] == back["source.cluster.alias"] == "west"


def test_topics_match_the_group_and_nothing_else(topology: Topology) -> None:
    config = config_of(topology, topics=("pay-ments.v1",), topic_prefixes=("orders.",))
    patterns = config["topics"].split(",")

    def copied(topic: str) -> bool:
        excluded = config["topics.exclude"].split(",")
        return any(re.fullmatch(p, topic) for p in patterns) and not any(re.fullmatch(p, topic) for p in excluded)

    assert copied("orders.payments")
    assert copied("orders.dr-canary")
    assert copied("pay-ments.v1")
    assert not copied("ordersXpayments")
    assert not copied("pay-mentsXv1")
    assert not copied("other.orders.payments")


@pytest.mark.parametrize(
    "topic", ["_kafka_dr.register", "__consumer_offsets", "mm2-offset-syncs.east.internal", "e.checkpoints.internal"]
)
def test_internal_topics_are_excluded_whatever_a_prefix_says(topology: Topology, topic: str) -> None:
    excluded = config_of(topology)["topics.exclude"].split(",")
    assert any(re.fullmatch(pattern, topic) for pattern in excluded)


def test_copies_with_other_names_are_made_by_mirrormakers_own_policy(topology: Topology) -> None:
    renaming = topology.group("orders").flow.model_copy(update={"naming": "default", "separator": "-"})
    group = topology.group("orders").model_copy(update={"flow": renaming})
    config, identity = replicator_of(topology, FLOW, group).config(), config_of(topology)
    changed = {key for key in config.keys() | identity.keys() if config.get(key) != identity.get(key)}
    assert changed == {
        "replication.policy.class",
        "replication.policy.separator",
        "replication.policy.internal.topic.separator.enabled",
    }
    assert config["replication.policy.class"].endswith(".DefaultReplicationPolicy")
    assert config["source.cluster.alias"] == "east", "the copies begin with it"


def test_each_task_writes_with_a_transactional_id_that_can_be_taken_over(topology: Topology) -> None:
    group = topology.group("orders")
    assert replicator_of(topology, FLOW, group).transactional_ids() == (
        "connect-west-dr.orders.east-to-west-0",
        "connect-west-dr.orders.east-to-west-1",
    )


@pytest.mark.parametrize(
    ("config", "keys"),
    [
        ({}, []),
        ({"sync.topic.acls.enabled": None}, ["sync.topic.acls.enabled"]),
        (
            {"sync.topic.configs.enabled": "true", "sync.topic.acls.enabled": None},
            ["sync.topic.configs.enabled", "sync.topic.acls.enabled"],
        ),
    ],
)
def test_a_flow_says_how_it_is_set_up_and_what_differs(
    topology: Topology, config: dict[str, str | None], keys: list[str]
) -> None:
    group = pattern_group(r"eu\.[a-z]+").with_matched(["eu.a", "eu.b"])
    made = replicator_of(topology, FLOW, group).config() | {"topics": r"payments,eu\.b"} | config
    found = {key: value for key, value in made.items() if value is not None}
    with reached_connect(ConnectApi({FLOW.name: found})) as connect:
        flow = replicator_of(topology, FLOW, group, connect=connect)
        setup = flow.setup()
        assert setup is not None
        assert (setup.matched, setup.exactly_once, list(setup.also_changes)) == (frozenset({"eu.b"}), True, keys)
        assert set(flow.differing()) == {"topics", *keys}
        assert replicator_of(topology, BACK, group, connect=connect).setup() is None


@pytest.mark.parametrize("declared", ["identity", "default"])
@pytest.mark.parametrize("policy", ["IdentityReplicationPolicy", "DefaultReplicationPolicy", ""])
@pytest.mark.parametrize("separator", [".", "-"])
def test_a_connector_that_names_its_copies_otherwise_is_seen(
    topology: Topology, declared: str, policy: str, separator: str
) -> None:
    group = topology.group("orders")
    group = group.model_copy(update={"flow": group.flow.model_copy(update={"naming": declared})})
    found = {"replication.policy.class": f"org.apache.kafka.connect.mirror.{policy}"} if policy else {}
    same = {"identity": "IdentityReplicationPolicy", "default": "DefaultReplicationPolicy"}[declared]
    wanted = (policy or "DefaultReplicationPolicy") == same and (declared == "identity" or separator == ".")
    assert names_copies_for(group, found | {"replication.policy.separator": separator}) is wanted
    assert names_copies_for(group, found) is ((policy or "DefaultReplicationPolicy") == same)
