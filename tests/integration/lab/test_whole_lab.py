from __future__ import annotations

import os
import time
from pathlib import Path

import httpx
import psutil
import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka.admin import (
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.errors import ClusterAuthorizationFailedError

from kafka_dr.disaster.disaster_rule import vantages_missing
from kafka_dr.disaster.vantage import probe_vantage
from kafka_dr.topology.loading import load
from lab import vantage
from lab.api import Lab
from lab.clusters import TOPICS

pytestmark = pytest.mark.kafka
SECONDS = 60.0


def _pids(lab: Lab) -> dict[str, int | None]:
    return {process.name: process.pid for process in lab.status().processes}


def _refusal(lab: Lab, principal: str, topic: str, *, cluster: str = "east") -> int | None:
    """The error that a producer gets; ``None`` if the record was taken."""
    told: list[KafkaError | None] = []
    producer = Producer({**lab.client_settings(cluster, principal), "message.timeout.ms": 20000, "log_level": 0})
    producer.produce(topic, b"x", partition=0, on_delivery=lambda error, _message: told.append(error))
    producer.flush(SECONDS)
    return told[0].code() if told[0] is not None else None


def test_every_process_runs_and_every_endpoint_answers(whole: Lab) -> None:
    status = whole.status()
    assert status.running
    assert [process.name for process in status.processes] == [
        "east-broker-1",
        "east-connect",
        "vantage",
        "west-broker-1",
        "west-connect",
    ]
    for cluster in status.clusters:
        admin = AdminClient(whole.client_settings(cluster.name, "dr-operator"))
        assert admin.describe_cluster().result(SECONDS).cluster_id == cluster.cluster_id
        assert httpx.get(f"{cluster.connect_url}/connectors").json() == []


def test_up_again_changes_nothing(whole: Lab) -> None:
    before = _pids(whole)
    status = whole.up(airflow=False)
    assert _pids(whole) == before
    assert status.ready_seconds is not None


def test_the_client_files_open_the_door_for_any_client(whole: Lab) -> None:
    for cluster in whole.status().clusters:
        for path in cluster.client_settings.values():
            settings = dict(line.split("=", 1) for line in path.read_text().splitlines())
            AdminClient(settings).list_topics(timeout=SECONDS)
        for path in cluster.java_client_settings.values():
            assert "sasl.jaas.config=" in path.read_text()


def test_both_clusters_have_the_topics_with_the_same_partitions(whole: Lab) -> None:
    for cluster in whole.clusters:
        topics = AdminClient(whole.client_settings(cluster.name, "dr-operator")).list_topics(timeout=SECONDS).topics
        assert {topic.name: len(topics[topic.name].partitions) for topic in TOPICS} == {
            topic.name: topic.partitions for topic in TOPICS
        }


@pytest.mark.parametrize(
    ("principal", "topic", "refusal"),
    [
        ("orders-app", "orders.dr-canary", None),
        ("probe", "orders.dr-canary", None),
        ("audit", "orders.dr-canary", KafkaError.TOPIC_AUTHORIZATION_FAILED),
        ("dr-operator", "orders.dr-canary", KafkaError.TOPIC_AUTHORIZATION_FAILED),
        ("orders-app", "connect-east-configs", KafkaError.TOPIC_AUTHORIZATION_FAILED),
        ("orders-app", "__consumer_offsets", KafkaError.TOPIC_AUTHORIZATION_FAILED),
    ],
)
def test_a_principal_writes_where_the_table_lets_it_and_nowhere_else(
    whole: Lab, principal: str, topic: str, refusal: int | None
) -> None:
    assert _refusal(whole, principal, topic) == refusal


def test_an_application_may_not_see_who_has_which_rights(whole: Lab) -> None:
    settings = whole.client_settings("east", "orders-app")
    # Not by confluent-kafka, which returns an empty list instead of the refusal.
    admin = KafkaAdminClient(
        bootstrap_servers=settings["bootstrap.servers"],
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_plain_username="orders-app",
        sasl_plain_password=settings["sasl.password"],
    )
    everything = ACLFilter(
        principal=None,
        host=None,
        operation=ACLOperation.ANY,
        permission_type=ACLPermissionType.ANY,
        resource_pattern=ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY),
    )
    with pytest.raises(ClusterAuthorizationFailedError):
        admin.describe_acls(everything)
    admin.close()


def test_of_a_killed_cluster_the_vantage_says_that_it_is_down_and_killed_itself_it_says_nothing(whole: Lab) -> None:
    disaster = load(Path(whole.environ["KAFKA_DR_TOPOLOGY"]), whole.environ).group("orders").disaster
    assert vantages_missing(disaster) == ""
    [(name, address)] = disaster.vantages.items()

    def seen() -> dict[str, str]:
        return {each.name: probe_vantage(name, address, each.name, 5.0).outcome for each in whole.clusters}

    assert seen() == {"east": "ok", "west": "ok"}
    whole.kill("east-broker-1")
    try:
        time.sleep(1.5)
        assert seen() == {"east": "failed", "west": "ok"}
        whole.kill(vantage.NAME)
        assert seen() == {"east": "unknown", "west": "unknown"}
    finally:
        whole.up(airflow=False)
    assert seen() == {"east": "ok", "west": "ok"}


def test_what_was_killed_comes_up_again_with_what_it_held(whole: Lab) -> None:
    assert _refusal(whole, "orders-app", "orders.payments") is None
    before = _pids(whole)
    victims = ("east-broker-1", "west-connect")
    for name in victims:
        whole.kill(name)
    assert not whole.status().running
    assert whole.status().in_use

    whole.up(airflow=False)

    after = _pids(whole)
    assert {name for name in before if after[name] != before[name]} == set(victims)
    reader = Consumer({**whole.client_settings("east", "orders-app"), "group.id": "orders-test"})
    low, high = reader.get_watermark_offsets(TopicPartition("orders.payments", 0), timeout=SECONDS)
    reader.close()
    assert high - low >= 1


def test_what_was_paused_runs_again_after_up(whole: Lab) -> None:
    whole.pause("west-broker-1")
    before = _pids(whole)
    whole.up(airflow=False)
    assert _pids(whole) == before
    assert _refusal(whole, "orders-app", "orders.dr-canary", cluster="west") is None


def test_a_restarted_process_answers_again(whole: Lab) -> None:
    before = _pids(whole)["east-connect"]
    whole.restart("east-connect")
    whole.up(airflow=False)
    assert _pids(whole)["east-connect"] != before
    address = next(cluster.connect_url for cluster in whole.status().clusters if cluster.name == "east")
    assert httpx.get(f"{address}/connectors", timeout=SECONDS).status_code == 200


def test_down_leaves_no_process_no_port_and_the_state(whole: Lab) -> None:
    members = [member for name in whole.supervisor.names() for member in whole.supervisor.members(name)]
    assert len(members) >= 4

    whole.down()

    assert [member for member in members if member.is_running() and member.status() != psutil.STATUS_ZOMBIE] == []
    assert whole.status().processes == ()
    ports = range(whole.settings.port_base, whole.settings.port_base + 300)
    listening = {c.laddr.port for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN and c.laddr}
    assert listening.isdisjoint(ports)
    assert (whole.home.broker("east-broker-1") / "data" / "meta.properties").exists()
    homes = {Path(f"/proc/{pid}/cwd") for pid in psutil.pids() if pid != os.getpid()}
    assert [cwd for cwd in homes if _resolves_into(cwd, whole.home.root)] == []


def _resolves_into(link: Path, folder: Path) -> bool:
    try:
        return link.resolve().is_relative_to(folder)
    except OSError:
        return False
