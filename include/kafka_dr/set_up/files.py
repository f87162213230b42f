"""Every file of a set-up but the topology, made from the topology. None holds a secret: their values are empty."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from kafka_dr.clusters.settings import ClientSettings
from kafka_dr.clusters.tool_access import ADMIN_FILE, ToolAccess
from kafka_dr.connections.sources import PREFIX
from kafka_dr.quoting import code, inline
from kafka_dr.replication.settings import access_settings
from kafka_dr.set_up.airflow_options import SETTINGS
from kafka_dr.set_up.answers import INIT_ROLES, InitAnswers, InitRole
from kafka_dr.set_up.topology_text import questions
from kafka_dr.spark_submit import KAFKA_SOURCE
from kafka_dr.topology.cluster import ReplicatorEndpoint
from kafka_dr.topology.model import Topology

_TEMPLATES = Path(__file__).parent / "templates"
#: Airflow sends this port for an empty field of its form, and refuses what differs from the stored connection.
_NO_PORT = 0
#: Where the certificates of the roles are, on each machine that runs Airflow or the command line.
_CERTIFICATES = "/etc/kafka-dr"


@dataclass(frozen=True, slots=True)
class SetUpFile:
    """A file of the folder.

    :param name: below the folder
    :param private: whether a person is going to fill in secrets
    """

    name: str
    text: str
    private: bool = False


def files_of(
    topology: Topology, topology_text: str, authorities: Mapping[str, str | None], answers: InitAnswers
) -> Iterator[SetUpFile]:
    """Yield the files that a topology needs, without the rights.

    :param topology_text: the same topology as it is written, with its questions
    :param authorities: by cluster, the file with the authorities that were trusted to reach it
    """
    connections = _connections(topology, authorities, answers)
    yield SetUpFile("connections.json", json.dumps(connections, indent=2, ensure_ascii=False) + "\n", private=True)
    written = (f"{PREFIX}{name.upper()}={shlex.quote(json.dumps(each))}\n" for name, each in connections.items())
    yield SetUpFile("connections.env", "".join(written), private=True)
    for name in topology.clusters:
        yield SetUpFile(f"connect/{name}.properties", _worker(topology, name, answers))
        yield SetUpFile(f"connect/{name}-secrets.properties", _secrets(topology), private=True)
    yield SetUpFile("spark/spark-defaults.conf", _template("spark-defaults.conf", source=KAFKA_SOURCE))
    yield SetUpFile("spark/log4j2.properties", _template("log4j2.properties"))
    yield SetUpFile("airflow.env", _airflow(answers))
    yield SetUpFile("fab-roles.sh", _template("fab-roles.sh"))
    yield SetUpFile("CHECK-LIST.md", _check_list(topology, topology_text, answers))


def _connections(
    topology: Topology, authorities: Mapping[str, str | None], answers: InitAnswers
) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, spec in topology.clusters.items():
        for role in INIT_ROLES:
            found[getattr(spec.connections, role)] = {
                "conn_type": "kafka",
                "description": f"Kafka {name} as the {role}",
                "port": _NO_PORT,
                "extra": _kafka(name, role, spec.replicator, authorities.get(name), _principal(topology, role)),
            }
        scheme, _, place = answers.rest.get(name, "").rpartition("://")
        found[spec.connect] = {
            "conn_type": "http",
            "description": f"the REST API of the workers next to {name}",
            "host": f"{scheme}://{place}" if scheme == "https" else place,
            "extra": {"check_response": False},
        }
    signing = topology.evidence.signing_connection
    if signing:
        found[signing] = {"conn_type": "generic", "description": "signs sealed runs", "extra": {"private_key": ""}}
    found["kafka_dr_spark"] = {"conn_type": "spark", "description": "where audits run", "host": "local[*]"}
    found["kafka_dr_airflow_api"] = {
        "conn_type": "http",
        "description": "Airflow's own API, as tasks reach it",
        "host": "http://localhost:8080",
        "login": "kafka-dr-bot",
        "password": "",
    }
    return found


def _principal(topology: Topology, role: InitRole) -> str:
    group = next(iter(topology.protection_groups.values()), None)
    return getattr(group, f"{role}_principal", None) or f"User:dr-{role}"


def _kafka(
    name: str, role: InitRole, reached: ReplicatorEndpoint, ca_file: str | None, principal: str
) -> dict[str, str]:
    """Return librdkafka's keys for one role; the password is empty."""
    extra = {"bootstrap.servers": reached.bootstrap_servers, "security.protocol": reached.security_protocol}
    if reached.security_protocol.startswith("SASL_"):
        login = {"sasl.username": principal.removeprefix("User:"), "sasl.password": ""}
        extra |= {"sasl.mechanism": reached.sasl_mechanism or "", **login}
    if reached.security_protocol.endswith("SSL") and ca_file:
        extra["ssl.ca.location"] = ca_file
    if reached.security_protocol == "SSL":
        file = f"{_CERTIFICATES}/{name}-{role}.pem"
        extra |= {"ssl.certificate.location": file, "ssl.key.location": file, "ssl.key.password": ""}
    return extra


def _worker(topology: Topology, name: str, answers: InitAnswers) -> str:
    spec = topology.cluster(name)
    access = {each.key: each.value for each in access_settings("", name, endpoint=spec, reader=spec)}
    copies = min((group.flow.replication_factor for group in topology.protection_groups.values()), default=3)
    own = {"bootstrap.servers": access.pop("bootstrap.servers"), **access}
    own |= {f"{client}.{key}": value for client in ("admin", "producer", "consumer") for key, value in access.items()}
    return _template(
        "worker.properties",
        cluster=name,
        access="\n".join(f"{key}={value}" for key, value in own.items()),
        worker=spec.connect_group_id,
        offsets=spec.connect_positions_topic,
        status=spec.connect_states_topic,
        copies=copies,
        folder=str(Path(spec.replicator_secrets).parent),
        connection=spec.connect,
        listeners=answers.rest.get(name, "http://localhost:8083"),
    )


def _secrets(topology: Topology) -> str:
    """Return what all workers refer to: the login of the replicator on every cluster."""
    lines = []
    for other, spec in topology.clusters.items():
        if spec.replicator.sasl_mechanism:
            user = _principal(topology, "replicator").removeprefix("User:")
            settings = ClientSettings(
                spec.replicator.bootstrap_servers,
                spec.replicator.security_protocol,
                spec.replicator.sasl_mechanism,
                user,
                password=_EMPTY,
            )
            lines.append(f"{other}.sasl.jaas.config={settings.jaas().replace(_EMPTY, '')}\n")
        if spec.replicator.keystore_is_encrypted:
            lines.append(f"{other}.ssl.key.password=\n")
    return "".join(lines)


#: In the stead of a password, until the text is made.
_EMPTY = "EMPTY-PASSWORD"


def _airflow(answers: InitAnswers) -> str:
    folder = answers.folder.absolute()
    lines = [
        "# For the environment of every process of Airflow. Without the wheel, add: include/ of this project to",
        "# PYTHONPATH, and its dags/ and plugins/ as AIRFLOW__CORE__DAGS_FOLDER and AIRFLOW__CORE__PLUGINS_FOLDER.",
        f"KAFKA_DR_TOPOLOGY={shlex.quote(str(folder / 'topology.yaml'))}",
        "# Where spark-submit finds spark-defaults.conf. If your Spark has one, add its line there and remove this.",
        f"SPARK_CONF_DIR={shlex.quote(str(folder / 'spark'))}",
    ]
    lines += [
        "# Airflow's API server listens on all addresses of its machine, without TLS. Bind it to the one that people",
        "# and tasks use, or to 127.0.0.1 with a proxy for TLS:",
        "# AIRFLOW__API__HOST=127.0.0.1",
    ]
    for each in SETTINGS:
        lines += [f"# {each.expected}. {each.otherwise}", f"{each.variable}={each.good}"]
    return "\n".join(lines) + "\n"


def _check_list(topology: Topology, topology_text: str, answers: InitAnswers) -> str:
    asked = questions(topology_text)
    principals = [code(_principal(topology, role)) for role in INIT_ROLES]
    folder = answers.folder.absolute()
    dry_run = (
        {"protection_group": group, "create_canary_topic": True, "dry_run": True}
        for group in topology.protection_groups
    )
    return _template(
        "CHECK-LIST.md",
        clusters=" and ".join(topology.clusters),
        command=answers.command,
        questions="\n".join(f"- {inline(each)}" for each in asked) or "None is left in `topology.yaml`.",
        principals=", ".join(principals),
        logins="\n".join(_logins(topology)),
        grant="\n    ".join(f"bash rights/kafka-acls/{name}.sh" for name in topology.clusters),
        workers=" or ".join(sorted({str(Path(spec.replicator_secrets).parent) for spec in topology.clusters.values()})),
        tls=", and the PEM files that `topology.yaml` names"
        if any(spec.replicator.security_protocol.endswith("SSL") for spec in topology.clusters.values())
        else "",
        topology=shlex.quote(str(folder / "topology.yaml")),
        connections=shlex.quote(str(folder / "connections.json")),
        spark=shlex.quote(str(folder / "spark")),
        adopt="\n".join(
            f"    airflow dags trigger dr_adopt --conf {shlex.quote(json.dumps(each))}" for each in dry_run
        ),
        by_hand="\n".join(
            f"    python -m kafka_dr plan adopt --group {shlex.quote(group)} --create-canary-topic"
            for group in topology.protection_groups
        ),
    )


def _logins(topology: Topology) -> Iterator[str]:
    """Yield what makes the login of each role on each cluster, as its listener wants it."""
    for name, spec in topology.clusters.items():
        reached, roles = spec.replicator, {_principal(topology, role).removeprefix("User:") for role in INIT_ROLES}
        mechanism = reached.sasl_mechanism or ""
        if mechanism.startswith("SCRAM"):
            configs = ToolAccess(name, spec.route_bootstrap_servers, ADMIN_FILE).tool("kafka-configs.sh")
            for user in sorted(roles):
                password = shlex.quote(f"{mechanism}=[password=PASSWORD]")
                named = f"--entity-type users --entity-name {shlex.quote(user)}"
                yield f"    {configs} --alter {named} --add-config {password}"
        elif mechanism:
            jaas = f"listener.name.LISTENER.{mechanism.lower()}.sasl.jaas.config"
            users = ", ".join(code(f'user_{user}="PASSWORD"') for user in sorted(roles))
            yield f"- {inline(name)}: add {users} to {code(jaas)} of every broker, and restart it"
        elif reached.security_protocol == "SSL":
            rules = code("ssl.principal.mapping.rules")
            wanted = ", ".join(code(user) for user in sorted(roles))
            yield (
                f"- {inline(name)}: let certificates be signed with these subjects: {wanted}. If brokers have {rules}, "
                "name in `topology.yaml` the principals that they make of the subjects"
            )


def _template(name: str, **values: object) -> str:
    text = (_TEMPLATES / name).read_text("utf-8")
    return Template(text).substitute(values) if values else text
