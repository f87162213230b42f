"""What the lab writes for brokers, workers, clients and Airflow: no secret outside private files."""

from __future__ import annotations

import configparser
import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from lab import airflow_home, brokers, clients, connect, credentials, rights
from lab.clusters import EAST, WEST
from lab.context import LabContext
from lab.jvm import Jvm
from lab.layout import Home, Settings, chosen_settings


@pytest.fixture
def context(tmp_path: Path) -> LabContext:
    home = Home(tmp_path)
    names = (EAST.name, WEST.name)
    passwords = credentials.obtain(home, clusters=names, principals=rights.PRINCIPALS)
    return LabContext(home=home, settings=Settings(port_base=19000, brokers=2), credentials=passwords)


def _values(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines())


def _passwords(context: LabContext) -> list[str]:
    return list(json.loads(context.home.credentials.read_text()).values())


def _jvm(tmp_path: Path) -> Jvm:
    return Jvm(java_home=tmp_path / "java", jars=tmp_path / "jars")


def test_passwords_are_made_once_and_differ_between_clusters_and_principals(context: LabContext) -> None:
    again = credentials.obtain(context.home, clusters=("east", "west"), principals=rights.PRINCIPALS)
    assert again == context.credentials
    assert len(set(_passwords(context))) == len(_passwords(context))


def test_passwords_are_not_shown_when_something_prints_them(context: LabContext) -> None:
    shown = repr(context)
    assert [password for password in _passwords(context) if password in shown] == []


def test_every_file_with_a_secret_is_readable_by_its_owner_alone(context: LabContext, tmp_path: Path) -> None:
    clients.write_files(context)
    airflow_home.write(context)
    (tmp_path / "kafka" / "east-broker-1").mkdir(parents=True)
    (tmp_path / "kafka" / "east-broker-1" / "formatted").touch()
    brokers.prepare(context, EAST, EAST.nodes(context.settings)[0], jvm=_jvm(tmp_path))
    connect.prepare(context, EAST, jvm=_jvm(tmp_path))

    open_to_others = [
        path
        for path in tmp_path.rglob("*")
        if path.is_file()
        and any(password in path.read_text() for password in _passwords(context))
        and stat.S_IMODE(path.stat().st_mode) != 0o600
    ]

    assert open_to_others == []


def test_no_command_line_holds_a_secret(context: LabContext, tmp_path: Path) -> None:
    (tmp_path / "kafka" / "west-broker-2").mkdir(parents=True)
    (tmp_path / "kafka" / "west-broker-2" / "formatted").touch()
    commands = (
        brokers.prepare(context, WEST, WEST.nodes(context.settings)[1], jvm=_jvm(tmp_path)),
        connect.prepare(context, WEST, jvm=_jvm(tmp_path)),
    )
    words = " ".join(word for command in commands for word in (*command.argv, *command.environ.values()))
    assert [password for password in _passwords(context) if password in words] == []


def test_the_second_of_two_brokers_serves_and_does_not_vote(context: LabContext, tmp_path: Path) -> None:
    first, second = (
        _values(brokers.server_properties(context, EAST, node, data=tmp_path)) for node in EAST.nodes(context.settings)
    )
    assert (first["process.roles"], second["process.roles"]) == ("broker,controller", "broker")
    assert first["controller.quorum.voters"] == second["controller.quorum.voters"] == "1@127.0.0.1:19012"
    assert "CONTROLLER://" not in second["listeners"]


def test_brokers_listen_on_the_loopback_only_and_let_nobody_in_without_rights(
    context: LabContext, tmp_path: Path
) -> None:
    node = EAST.nodes(context.settings)[0]
    values = _values(brokers.server_properties(context, EAST, node, data=tmp_path))
    assert all("://127.0.0.1:" in listener for listener in values["listeners"].split(","))
    assert values["super.users"] == "User:broker;User:admin"
    assert values["allow.everyone.if.no.acl.found"] == "false"
    assert values["auto.create.topics.enable"] == "false"
    assert "PLAINTEXT" not in values["listener.security.protocol.map"].replace("SASL_PLAINTEXT", "")


def test_a_broker_of_a_lab_with_a_proxy_sends_callers_from_outside_to_the_proxy_alone(
    context: LabContext, tmp_path: Path
) -> None:
    node = EAST.nodes(context.settings)[0]
    direct = _values(brokers.server_properties(context, EAST, node, data=tmp_path))
    proxied = replace(context, settings=replace(context.settings, proxied=True))
    values = _values(brokers.server_properties(proxied, EAST, node, data=tmp_path))
    assert f"OUTSIDE://127.0.0.1:{node.outside_port}" in values["listeners"].split(",")
    assert values["advertised.listeners"] == (f"{direct['advertised.listeners']},OUTSIDE://127.0.0.1:{node.proxy_port}")
    for name in ("sasl.enabled.mechanisms", "scram-sha-512.sasl.jaas.config"):
        assert values[f"listener.name.outside.{name}"] == values[f"listener.name.client.{name}"]
    assert "OUTSIDE" not in str(direct)


def test_a_worker_knows_its_secrets_by_reference_only(context: LabContext) -> None:
    text = connect.worker_properties(context, WEST)
    values = _values(text)
    assert [password for password in _passwords(context) if password in text] == []
    secrets = context.home.connect("west") / "secrets.properties"
    for prefix in ("", "admin.", "producer.", "consumer."):
        assert values[f"{prefix}sasl.jaas.config"] == f"${{file:{secrets}:west.sasl.jaas.config}}"
    assert values["config.providers.file.param.allowed.paths"] == str(context.home.connect("west"))


def test_a_worker_copies_bytes_exactly_once_and_is_backed_by_its_own_cluster(context: LabContext) -> None:
    values = _values(connect.worker_properties(context, WEST))
    converters = {values[f"{part}.converter"] for part in ("key", "value", "header")}
    assert converters == {"org.apache.kafka.connect.converters.ByteArrayConverter"}
    assert values["exactly.once.source.support"] == "enabled"
    assert values["bootstrap.servers"] == WEST.bootstrap(context.settings)
    assert values["group.id"] == "connect-west"


def test_who_logs_in_by_plain_is_known_to_brokers_clients_and_connectors(context: LabContext, tmp_path: Path) -> None:
    plain = replace(context, settings=replace(context.settings, mechanism="PLAIN"))
    broker = _values(brokers.server_properties(plain, WEST, WEST.nodes(plain.settings)[0], data=tmp_path))
    assert broker["listener.name.client.sasl.enabled.mechanisms"] == "PLAIN"
    users = broker["listener.name.client.plain.sasl.jaas.config"]
    for name in (credentials.ADMIN, *rights.PRINCIPALS):
        assert f' user_{name}="{plain.credentials.kafka("west", name)}"' in users
        assert clients.librdkafka(plain, WEST, name)["sasl.mechanism"] == "PLAIN"
    assert _values(connect.worker_properties(plain, WEST))["sasl.mechanism"] == "PLAIN"
    assert _values(connect.secret_properties(plain))["west.sasl.jaas.config"].startswith(
        "org.apache.kafka.common.security.plain.PlainLoginModule required username="
    )


def test_a_lab_keeps_how_principals_log_in(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert chosen_settings(home, port_base=None, brokers=None).mechanism == "SCRAM-SHA-512"
    chosen_settings(home, port_base=None, brokers=None, mechanism="PLAIN").write(home)
    assert chosen_settings(home, port_base=None, brokers=None).mechanism == "PLAIN"
    home.settings.write_text('{"port_base": 19000, "brokers": 1}')
    assert chosen_settings(home, port_base=None, brokers=None).mechanism == "SCRAM-SHA-512"


def test_connectors_find_the_replicators_login_on_both_clusters(context: LabContext) -> None:
    secrets = _values(connect.secret_properties(context))
    assert sorted(secrets) == ["east.sasl.jaas.config", "west.sasl.jaas.config"]
    assert 'username="replicator"' in secrets["east.sasl.jaas.config"]


def test_every_principal_has_client_files_for_both_kinds_of_clients(context: LabContext) -> None:
    clients.write_files(context)
    for cluster in context.clusters:
        for principal in ("admin", *rights.PRINCIPALS):
            path = context.home.client(cluster.name, principal)
            assert _values(path.read_text()) == clients.librdkafka(context, cluster, principal)
            assert f'username="{principal}"' in path.with_suffix(".java.properties").read_text()


def test_airflow_has_a_connection_for_each_cluster_and_role_for_each_worker_and_for_spark(context: LabContext) -> None:
    made = airflow_home.connections(context)
    roles = ("operator", "probe", "audit", "replicator", "drill")
    kafka = {f"kafka_{cluster}_{role}" for cluster in ("east", "west") for role in roles}
    assert set(made) == kafka | {
        "connect_east",
        "connect_west",
        "kafka_dr_spark",
        "kafka_dr_airflow_api",
        "kafka_dr_signing",
        "kafka_dr_encryption",
    }
    assert json.loads(made["kafka_west_operator"]["extra"])["sasl.username"] == "dr-operator"
    assert made["connect_west"]["port"] == 19180


def test_a_connection_without_a_port_has_the_zero_that_the_form_of_airflow_sends_for_it(context: LabContext) -> None:
    made = airflow_home.connections(context)
    assert {name: c["port"] for name, c in made.items() if c["conn_type"] != "http"} == dict.fromkeys(
        (name for name in made if not name.startswith("connect_") and name != "kafka_dr_airflow_api"), 0
    )


def test_no_connection_of_airflow_uses_the_super_user(context: LabContext) -> None:
    users = {
        json.loads(connection["extra"])["sasl.username"]
        for connection in airflow_home.connections(context).values()
        if connection["conn_type"] == "kafka"
    }
    assert users == {"dr-operator", "probe", "audit", "replicator", "dr-drill"}


def test_airflow_reads_its_settings_as_they_are_meant(context: LabContext) -> None:
    airflow_home.write(context)
    config = configparser.ConfigParser()
    config.read(context.home.airflow / "airflow.cfg")
    assert config["core"]["simple_auth_manager_users"] == "admin:admin,alice:op,bob:op,carol:op,dr-notes:user"
    assert config["core"]["execution_api_server_url"] == "http://127.0.0.1:19200/execution/"
    assert config["api"]["host"] == "127.0.0.1"
    assert len(config["api_auth"]["jwt_secret"]) >= 64
    assert json.loads(airflow_home.passwords_file(context.home).read_text())["alice"]
