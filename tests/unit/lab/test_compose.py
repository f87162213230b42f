"""docker-compose.yml cannot be run everywhere, so what it says is compared with the lab's own data."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import jars
from lab.bootstrap import cache_folder
from lab.clusters import clusters_of
from lab.compose import SETTINGS, context, prepare_spark, write_files
from lab.layout import PROJECT, Home
from lab.vantage import LabVantage

FILE = PROJECT / "docker-compose.yml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
CLUSTERS = clusters_of(SETTINGS)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("world"))
    write_files(home)
    return home


def _properties(path: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


def _words(service: dict[str, Any]) -> str:
    return " ".join([*service.get("entrypoint", []), *service.get("command", [])])


def test_kafka_has_the_version_of_the_locked_jars() -> None:
    locked = {jar.version for jar in jars.read_lock(jars.KAFKA) if jar.artifact == "kafka_2.13"}
    images = {service["image"].split(":")[1] for service in SERVICES.values() if "apache/kafka" in service["image"]}
    assert images == locked


def test_every_broker_and_worker_of_the_lab_is_a_service() -> None:
    names = {node.name for cluster in CLUSTERS for node in cluster.nodes(SETTINGS)}
    names |= {cluster.connect_name for cluster in CLUSTERS}
    assert set(SERVICES) == names | {"volume", "files", "provision", "vantage", "airflow"}


def test_a_broker_is_formatted_with_the_id_of_its_cluster() -> None:
    for cluster in CLUSTERS:
        for node in cluster.nodes(SETTINGS):
            assert SERVICES[node.name]["command"] == [node.name, cluster.cluster_id]


def test_every_file_that_a_service_reads_is_written(home: Home) -> None:
    read = {match for service in SERVICES.values() for match in re.findall(r"/world/(\S+\.\w+)", _words(service))}
    read |= {f"kafka/{node.name}/server.properties" for cluster in CLUSTERS for node in cluster.nodes(SETTINGS)}
    read.discard("kafka/$$0/server.properties")
    assert [path for path in sorted(read) if not (home.root / path).is_file()] == []


def test_every_host_that_a_file_names_is_a_service(home: Home) -> None:
    hosts: set[str] = set()
    for path in [*home.root.rglob("*.properties"), home.airflow / "connections.json"]:
        text = path.read_text()
        hosts |= set(re.findall(r"([a-z]+-broker-\d+):\d+", text)) | set(re.findall(r"([a-z]+-connect)\b", text))
        assert "127.0.0.1" not in text
    assert hosts == set(SERVICES) - {"volume", "files", "provision", "vantage", "airflow"}


def test_clients_meet_the_port_on_which_the_broker_listens(home: Home) -> None:
    for cluster in CLUSTERS:
        node = cluster.nodes(SETTINGS)[0]
        broker = _properties(home.broker(node.name) / "server.properties")
        client = _properties(home.client(cluster.name, "probe"))
        assert f"CLIENT://{client['bootstrap.servers']}" in broker["advertised.listeners"]
        assert SERVICES["airflow"]["environment"][f"KAFKA_DR_LAB_{cluster.name.upper()}"] == client["bootstrap.servers"]


def test_the_vantage_asks_what_clients_ask_and_answers_where_the_topology_looks(home: Home) -> None:
    listens = f"0.0.0.0:{SETTINGS.ports.vantage}"
    _, *command = LabVantage(context(home)).command().argv
    said = " ".join(command).replace(str(PROJECT), "/project")
    assert SERVICES["vantage"]["command"] == ["python", *said.split()]
    assert listens in command
    assert SERVICES["airflow"]["environment"]["KAFKA_DR_LAB_VANTAGE"] == SETTINGS.vantage
    assert f"//{SETTINGS.vantage}/" in SERVICES["vantage"]["healthcheck"]["test"][-1]


def test_only_airflow_is_published_and_only_on_the_loopback() -> None:
    port = SETTINGS.ports.airflow
    assert {name: service["ports"] for name, service in SERVICES.items() if "ports" in service} == {
        "airflow": [f"127.0.0.1:{port}:{port}"]
    }


def test_what_a_service_waits_for_exists_and_one_that_must_complete_is_not_restarted() -> None:
    for service in SERVICES.values():
        wanted = service.get("depends_on", {})
        assert set(wanted) <= set(SERVICES)
        for name in wanted:
            completes = isinstance(wanted, dict) and wanted[name]["condition"] == "service_completed_successfully"
            assert completes == ("restart" not in SERVICES[name])


def test_one_service_builds_the_image_and_the_others_neither_build_nor_pull_it() -> None:
    image = {name: service for name, service in SERVICES.items() if service["image"] == "kafka-dr-lab"}
    assert {name for name, service in image.items() if "build" in service} == {"files"}
    assert {name: service["pull_policy"] for name, service in image.items()} == {
        "files": "build",
        "provision": "never",
        "vantage": "never",
        "airflow": "never",
    }


def test_the_build_and_the_downloads_use_the_proxies_and_mirrors_of_the_environment() -> None:
    build = SERVICES["files"]["build"]
    assert {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "PIP_INDEX_URL"} <= set(build["args"])
    declared = set(re.findall(r"^ARG (\w+)$", build["dockerfile_inline"], re.MULTILINE))
    assert declared == {name for name in build["args"] if name.startswith("PIP_")}
    # A name without a value is taken from the environment.
    taken = {name for name, value in SERVICES["files"]["environment"].items() if value is None}
    assert taken == {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "KAFKA_DR_MAVEN_MIRROR"}
    assert SERVICES["airflow"]["environment"].items() <= SERVICES["files"]["environment"].items()


def test_every_service_that_stays_says_whether_it_is_healthy_and_who_waits_for_health_gets_an_answer() -> None:
    stay = {name for name, service in SERVICES.items() if "restart" in service}
    assert {name for name, service in SERVICES.items() if "healthcheck" in service} == stay
    for service in SERVICES.values():
        waits = {name for name, on in service.get("depends_on", {}).items() if on["condition"] == "service_healthy"}
        assert waits <= stay


def test_a_health_check_asks_the_port_on_which_its_service_listens() -> None:
    for cluster in CLUSTERS:
        node = cluster.nodes(SETTINGS)[0]
        assert SERVICES[node.name]["healthcheck"]["test"][-1].endswith(f"/{node.name}/{node.client_port}")
        rest = SERVICES[cluster.connect_name]["healthcheck"]["test"][-1]
        assert rest == f"{cluster.connect_url(SETTINGS)}/connectors"


def test_airflow_finds_a_java_and_the_settings_of_spark(home: Home) -> None:
    environ = SERVICES["airflow"]["environment"]
    wanted = prepare_spark(home, cache=cache_folder(os.environ))
    assert wanted.keys() <= environ.keys()
    for name in ("JAVA_HOME", "SPARK_CONF_DIR"):
        assert environ[name].replace("/world", str(home.root)) == wanted[name]
    said = subprocess.run([f"{wanted['JAVA_HOME']}/bin/java", "-version"], capture_output=True, text=True, check=True)
    assert "version" in said.stderr


def test_no_password_is_in_the_file(home: Home) -> None:
    text = FILE.read_text()
    assert context(home).credentials.kafka("east", "probe") not in text
    assert not re.search(r"(?i)(password|secret)\s*[:=]\s*\S", text.replace("passwords: docker compose", ""))
