from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
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

from lab.api import Lab
from lab.clusters import CLUSTERS, TOPICS

pytestmark = [pytest.mark.kafka, pytest.mark.airflow]
SECONDS = 60.0


def _eventually(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.1)


def _pids(lab: Lab) -> dict[str, int | None]:
    return {process.name: process.pid for process in lab.status().processes}


def _refusal(lab: Lab, principal: str, topic: str, *, cluster: str = "east") -> int | None:
    """The error that a producer gets; ``None`` if the record was taken."""
    told: list[KafkaError | None] = []
    producer = Producer({**lab.client_settings(cluster, principal), "message.timeout.ms": 20000, "log_level": 0})
    producer.produce(topic, b"x", partition=0, on_delivery=lambda error, _message: told.append(error))
    producer.flush(SECONDS)
    return told[0].code() if told[0] is not None else None


def _airflow(lab: Lab, user: str) -> httpx.Client:
    status = lab.status().airflow
    password = json.loads(status.passwords.read_text())[user]
    token = httpx.post(f"{status.url}/auth/token", json={"username": user, "password": password}, timeout=SECONDS)
    return httpx.Client(
        base_url=status.url, headers={"Authorization": f"Bearer {token.json()['access_token']}"}, timeout=SECONDS
    )


def test_every_process_runs_and_every_endpoint_answers(whole: Lab) -> None:
    status = whole.status()
    assert status.running
    assert [process.name for process in status.processes] == [
        "airflow-api-server",
        "airflow-dag-processor",
        "airflow-scheduler",
        "airflow-triggerer",
        "east-broker-1",
        "east-connect",
        "west-broker-1",
        "west-connect",
    ]
    for cluster in status.clusters:
        admin = AdminClient(whole.client_settings(cluster.name, "dr-operator"))
        assert admin.describe_cluster().result(SECONDS).cluster_id == cluster.cluster_id
        assert httpx.get(f"{cluster.connect_url}/connectors").json() == []


def test_up_again_changes_nothing(whole: Lab) -> None:
    before = _pids(whole)
    status = whole.up()
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
    for cluster in CLUSTERS:
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


def test_no_process_shows_a_secret_on_its_command_line_or_in_its_environment(whole: Lab) -> None:
    secrets = _lines_of_secrets(whole)
    shown = []
    for name in whole.supervisor.names():
        for process in whole.supervisor.members(name):
            visible = " ".join(process.cmdline()) + " ".join(process.environ().values())
            shown += [(name, secret) for secret in secrets if secret in visible]
    assert shown == []


def test_no_log_and_no_status_shows_a_secret(whole: Lab) -> None:
    secrets = _lines_of_secrets(whole)
    places = {"status": json.dumps(whole.status().as_json())}
    places |= {str(path): path.read_text(errors="replace") for path in whole.home.logs.glob("*.log*")}
    assert [place for place, text in places.items() if any(secret in text for secret in secrets)] == []


def _lines_of_secrets(whole: Lab) -> list[str]:
    """Return every secret of a lab; of one with several lines each line."""
    return [line for secret in json.loads(whole.home.credentials.read_text()).values() for line in secret.splitlines()]


def test_the_users_of_airflow_sign_in_and_see_the_connections_without_their_secrets(whole: Lab) -> None:
    with _airflow(whole, "alice") as alice:
        reply = alice.get("/api/v2/connections?limit=100")
    kinds = {each["connection_id"]: each["conn_type"] for each in reply.json()["connections"]}
    assert kinds["kafka_east_operator"] == "kafka"
    assert kinds["connect_west"] == "http"
    assert kinds["kafka_dr_spark"] == "spark"
    assert kinds["kafka_dr_airflow_api"] == "http"
    assert kinds["kafka_dr_signing"] == kinds["kafka_dr_encryption"] == "generic"
    assert len(kinds) == 16
    secrets = _lines_of_secrets(whole)
    assert [secret for secret in secrets if secret in reply.text] == []


def test_a_dag_run_ends_well(whole: Lab) -> None:
    with _airflow(whole, "bob") as bob:
        run = bob.post("/api/v2/dags/hello/dagRuns", json={"logical_date": None}).json()["dag_run_id"]

        def state() -> str:
            return str(bob.get(f"/api/v2/dags/hello/dagRuns/{run}").json()["state"])

        _eventually(lambda: state() in ("success", "failed"))
        assert state() == "success"


def test_what_was_killed_comes_up_again_with_what_it_held(whole: Lab) -> None:
    assert _refusal(whole, "orders-app", "orders.payments") is None
    before = _pids(whole)
    victims = ("east-broker-1", "west-connect", "airflow-scheduler")
    for name in victims:
        whole.kill(name)
    assert not whole.status().running
    assert whole.status().in_use

    whole.up()

    after = _pids(whole)
    assert {name for name in before if after[name] != before[name]} == set(victims)
    reader = Consumer({**whole.client_settings("east", "orders-app"), "group.id": "orders-test"})
    low, high = reader.get_watermark_offsets(TopicPartition("orders.payments", 0), timeout=SECONDS)
    reader.close()
    assert high - low >= 1


def test_what_was_paused_runs_again_after_up(whole: Lab) -> None:
    whole.pause("west-broker-1")
    before = _pids(whole)
    whole.up()
    assert _pids(whole) == before
    assert _refusal(whole, "orders-app", "orders.dr-canary", cluster="west") is None


def test_a_restarted_process_answers_again(whole: Lab) -> None:
    before = _pids(whole)["airflow-api-server"]
    whole.restart("airflow-api-server")
    whole.up()
    assert _pids(whole)["airflow-api-server"] != before
    assert httpx.get(f"{whole.status().airflow.url}/api/v2/version", timeout=SECONDS).status_code == 200


def test_down_leaves_no_process_no_port_and_the_state(whole: Lab) -> None:
    members = [member for name in whole.supervisor.names() for member in whole.supervisor.members(name)]
    assert len(members) > 8

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
